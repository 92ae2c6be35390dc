"""The MCP server with real agents as its clients: they start it themselves, by the configuration a user would write."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.project import SCOPE
from support.agent_camp import Camp, Session, camp
from support.model_server import Reply, Say, UseTool
from support.real_agents import AGENTS, DONE, RealAgent

pytestmark = pytest.mark.agents
FACT: Final = "Releases of {} are cut with make ship on its walrus branch."
NEEDED: Final = ("SPANLORE_STATE_DIR", "SPANLORE_CONFIG_DIR", "SPANLORE_UPSTREAMS", "PATH")


@dataclass(frozen=True, slots=True)
class Asking(RealAgent):
    """An agent whose model calls three of the tools, one after the other."""

    def answer(self, results: int) -> Reply:
        name = "mcp__spanlore__{}" if self.harness == "claude-code" else "{}"
        match results:
            case 0:
                return Reply((UseTool(name.format("remember"), {"text": FACT.format(self.name)}),))
            case 1:
                return Reply((UseTool(name.format("recall"), {"query": f"how are releases of {self.name} cut"}),))
            case 2:
                return Reply((UseTool(name.format("session_info"), {}),))
            case _:
                return Reply((Say(DONE),))


def furnished(agent: RealAgent, environ: Mapping[str, str]) -> Asking:
    """The agent with the server in its own configuration; codex gives servers no more than it is told to."""
    needed = {name: environ[name] for name in NEEDED if name in environ}
    arguments = ["-m", "spanlore", "mcp"]
    if agent.harness == "codex":
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in needed.items())
        # `codex exec` does not wait for servers that are not required.
        config = f"[mcp_servers.spanlore]\ncommand = {json.dumps(sys.executable)}\nrequired = true\n"
        config += f"args = {json.dumps(arguments)}\n"
        files = {**agent.home, ".codex/config.toml": f"{config}env = {{ {pairs} }}\n"}
    else:
        server = {"type": "stdio", "command": sys.executable, "args": arguments, "env": needed}
        files = {**agent.home, ".claude.json": json.dumps({"mcpServers": {"spanlore": server}})}
    known = {name: getattr(agent, name) for name in RealAgent.__dataclass_fields__}
    return replace(Asking(**known), home=files, name=f"{agent.name}-mcp")


@pytest.fixture(scope="module")
def running() -> Iterator[Camp]:
    with camp() as running:
        yield running


@pytest.fixture(params=["claude-code", "codex"], scope="module")
def session(request: pytest.FixtureRequest, running: Camp) -> Session:
    agent = next(agent for agent in AGENTS if agent.name == request.param)
    if why := agent.missing():
        pytest.skip(why)
    return running.session(furnished(agent, running.stage.environment))


def results_of(request: ReceivedRequest) -> list[str]:
    """What the tools answered, as it stands in a request."""
    return [json.dumps(item) for item in found(request.document)]


def found(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from found(item)
    elif isinstance(value, dict):
        if value.get("type") in ("tool_result", "function_call_output", "mcp_tool_call_output"):
            yield value
        else:
            for inner in value.values():
                yield from found(inner)


def test_the_agent_calls_the_tools(session: Session) -> None:
    """Each call is answered by the server; what an agent remembers by itself waits, and is not recalled."""
    assert session.ended.returncode == 0, session.ended.stderr[-2000:]
    remembered, recalled, info = results_of(session.main[-1])

    assert "An agent asked to have this remembered" in remembered
    assert "spanlore confirm m-" in remembered
    assert f"of {session.agent.name} are cut" not in recalled
    assert SCOPE in info


def test_it_is_an_agents_memory_of_this_repository(session: Session, running: Camp) -> None:
    """Kept once, in the scope of the directory the agent works in, by an agent."""
    told = json.loads(running.world.run(lambda: running.stage.spanlore("memories", "--all", "--json").stdout))
    [memory] = [memory for memory in told["memories"] if f"of {session.agent.name} are cut" in memory["text"]]

    assert (memory["scope"], memory["status"], memory["note"]) == (
        SCOPE,
        "candidate",
        "an agent's word; waits for the user's yes",
    )


def test_the_calls_are_recorded_like_any_other(session: Session, running: Camp) -> None:
    """Three tool calls in the store, none of them a failure."""
    rows = running.rows(session, "tool_calls", "tool_name, outcome")

    assert len(rows) == 3
    assert all(row["outcome"] != "failure" for row in rows)
    assert {row["tool_name"].rpartition("__")[2].rpartition(".")[2] for row in rows} == {
        "remember",
        "recall",
        "session_info",
    }

"""Base-URL mode with the real Claude Code: no proxy variable and no CA, and still captured and given its memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spanlore_proxy.demo.drivers import ClaudeCode, find_claude
from spanlore_proxy.demo.project import SCOPE
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from spanlore_proxy.demo.story import Session
from support.model_server import ModelServer, ReceivedRequest, Reply, Say, UseTool
from support.proxied import counted

pytestmark = pytest.mark.agents

MEMORY = "The tests of this project are run with make check-all."
NOWHERE = "http://127.0.0.1:1"
"""Claude Code sends some side calls to its own host whatever its base URL is; they must not leave this machine."""

NONE = ("tunnelled", "passthrough", "lost", "refused", "degraded")


def answer(request: ReceivedRequest) -> Reply:
    """A command that fails, then a sub-agent that runs another, then the end."""
    if not request.has_tools:
        return Reply((Say('{"title": "x"}'),))
    done = len(request.results_since_prompt)
    if request.newest_prompt.startswith("Look around"):
        return Reply((_bash("echo around"),)) if done == 0 else Reply((Say("Nothing here."),))
    if request.mentions("[SYSTEM NOTIFICATION"):
        return Reply((Say("Done."),))
    if done == 0:
        return Reply((_bash("python3 nowhere.py"),))
    if done == 1:
        task = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
        return Reply((UseTool("Agent", task),))
    return Reply((Say("Seen."),))


def _bash(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "Run it"})


@dataclass
class Ran:
    """One prompt, to its end."""

    stage: Stage
    server: ModelServer
    session: Session
    store: StoreView
    stderr: str

    def rows(self, columns: str, table: str) -> list[dict[str, Any]]:
        where = "WHERE session_id = {session:String} ORDER BY start_time LIMIT 1 BY span_id"
        return self.store.rows(f"SELECT {columns} FROM {table} {where}", session=self.session.id)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    binary = find_claude(Path(__file__).parents[2])
    if binary is None:
        pytest.skip("no claude binary: `make test` installs it with npm below .cache/agents; npm is not here")
    driver, session = ClaudeCode(binary), Session("by base URL", 0)
    with ModelServer(answer) as server, Stage(server.url) as stage:
        stage.up()
        stage.spanlore("remember", MEMORY)
        assert wait_until(
            lambda: stage.paths.snapshot_file.exists() and MEMORY in stage.paths.snapshot_file.read_text()
        )
        command = driver.command(session.id, "Do it.", is_first=True)
        changes = driver.environment | {"HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE}
        done = stage.spanlore("run", "--via", "base-url", "--", *command, changes=changes)
        store = StoreView(stage.paths)
        assert store.wait_for_inferences(len(server.main_loop(session.id)))
        yield Ran(stage, server, session, store, done.stderr)


def test_captured_as_ever(ran: Ran) -> None:
    """Session, run, repository, API host, classes, the failure: all as with the proxy variable."""
    columns = "call_class, harness, repository, branch, run_id, provider, is_complete, request_model"
    rows = ran.rows(columns, "inferences")
    tools = {row["command"]: row["outcome"] for row in ran.rows("command, outcome", "tool_calls")}

    assert {(row["harness"], row["repository"], row["branch"]) for row in rows} == {("claude-code", SCOPE, "main")}
    assert all(row["run_id"].startswith("run-") and row["provider"] == "anthropic" for row in rows)
    assert {"main", "subagent"} <= {row["call_class"] for row in rows}
    assert tools["python3 nowhere.py"] == "failure"
    assert tools["echo around"] == "success"


def test_the_memory_is_in_every_main_request(ran: Ran) -> None:
    """The proxy places the block, for the client signs nothing here; sub-agents get none."""
    requests = ran.server.main_loop(ran.session.id)
    with_block = [MEMORY in "".join(request.system_texts) for request in requests]
    classes = [row["call_class"] for row in ran.rows("call_class", "inferences") if row["call_class"] != "title"]

    assert not any("cch=" in request.system_texts[0] for request in requests)
    assert sum(with_block) == classes.count("main")
    assert with_block[0]


def test_the_api_sees_no_sign_of_us(ran: Ran) -> None:
    """Neither prefix nor credentials nor another Host header reach the API."""
    for request in ran.server.requests:
        assert request.path.split("?")[0] == "/v1/messages"
        assert request.header("host") == "api.anthropic.com"
        assert b"/r/run-" not in request.body


def test_nothing_was_refused(ran: Ran) -> None:
    """Every request of the agent to its base URL was one that leads somewhere; no tunnel was dug."""
    runs = [json.loads(path.read_bytes()) for path in ran.stage.paths.runs_dir.glob("run-*.json")]

    assert {name: counted(ran.stage.paths, name) for name in NONE} == dict.fromkeys(NONE, 0)
    assert [run["upstreams"] for run in runs] == [{}]
    assert "spanlore" not in ran.stderr

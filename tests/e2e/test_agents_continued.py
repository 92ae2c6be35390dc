"""Real agents over more than one run: resumed, forked, compacted, with sub-agents. What they were seen to send is in
`test_conversations`, as modelled traffic that needs none of them; here are the programs themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from spanlore.memory.memory import Trigger
from spanlore.memory.operations import Operation, Verb
from spanlore.settings import child_environment
from spanlore.settings.settings import Settings
from spanlore.signature.failure import failure_signature
from spanlore_collector.store.api_client import connect
from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.project import SCOPE
from spanlore_proxy.demo.store_view import wait_until
from support.agent_camp import REMEMBERED, Camp, camp
from support.agent_requests import flow
from support.agent_tours import Lines, Tour, rows, tour
from support.injecting import make_memory
from support.model_server import Answer, Reply, Say, UseTool
from support.real_agents import AGENTS, FAILING, GEMINI_SETTINGS, WORKING, RealAgent

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(
        "SPANLORE_TEST_TOURS" not in child_environment({}), reason="takes minutes: `make test-agents` runs it"
    ),
]
BY_NAME = {agent.name: agent for agent in AGENTS}
LONG = "python3 -c \"print('lorem ipsum dolor ' * 1200)\""
"""A command whose output makes a history too long for a model that was told to be small."""
FIRST, SECOND, THIRD, TASK = "do walrus one", "now walrus two", "and walrus three", "look for the octopus"
SUMMARY = "<state_snapshot>the walrus was seen</state_snapshot>"


@dataclass(frozen=True, slots=True)
class Way:
    """How one agent is told to go on, and how it starts sub-agents."""

    agent: str
    first: tuple[str, ...]
    """Arguments of the first run; `{}` is the prompt."""
    resumed: tuple[str, ...]
    forked: tuple[str, ...] = ()
    """Empty where it knows no forks that name nothing more."""
    is_named: bool = True
    """It tells its session to the API, so that a resumed one is the same."""
    sub: UseTool | None = None
    small: tuple[str, ...] = ()
    """More arguments for a model with little room."""
    small_home: Mapping[str, str] = field(default_factory=dict)
    asks: str = ""
    """What stands in its request for a summary."""
    in_one_run: bool = True
    """It compacts in the middle of a run; else when the next begins."""

    def arguments(self, form: tuple[str, ...], prompt: str, more: tuple[str, ...] = ()) -> tuple[str, ...]:
        rest = [word for word in BY_NAME[self.agent].arguments if word not in ("{prompt}", "-p", "exec", "run")]
        words = [word.replace("{}", prompt) for word in form]
        at = len(words) - (2 if words[-2] == "-p" else 1)
        return (*words[:at], *rest, *more, *words[at:])


def _opencode(name: str, model: str) -> Way:
    provider, _, model = model.partition("/")
    limit = {"limit": {"context": 11000, "input": 11000, "output": 1000}}
    config = {"provider": {provider: {"models": {model: limit}}}, "compaction": {"auto": True}}
    return Way(
        name,
        ("run", "{}"),
        ("run", "--continue", "{}"),
        ("run", "--continue", "--fork", "{}"),
        sub=UseTool("task", {"description": "look", "prompt": TASK, "subagent_type": "general"}),
        small_home={".config/opencode/opencode.json": json.dumps(config)},
        asks="context summarization",
    )


def _pi(name: str, window: int) -> Way:
    compaction = {"enabled": True, "reserveTokens": window - 4000, "keepRecentTokens": 500}
    return Way(
        name,
        ("-p", "{}"),
        ("--continue", "-p", "{}"),
        is_named=name == "pi-openai",
        small_home={".pi/agent/settings.json": json.dumps({"compaction": compaction})},
        asks="context summarization",
        in_one_run=False,
    )


WAYS = (
    Way(
        "codex",
        ("exec", "{}"),
        ("exec", "resume", "--last", "{}"),
        sub=UseTool("spawn_agent", {"message": TASK}),
    ),
    Way(
        "codex-code-mode",
        ("exec", "{}"),
        ("exec", "resume", "--last", "{}"),
        sub=UseTool("spawn_agent", {"task_name": "look", "message": TASK}),
    ),
    Way(
        "codex-http",
        ("exec", "{}"),
        ("exec", "resume", "--last", "{}"),
        sub=UseTool("spawn_agent", {"message": TASK}),
        small=("-c", "model_auto_compact_token_limit=12000"),
        asks="CONTEXT CHECKPOINT COMPACTION",
    ),
    _opencode("opencode-anthropic", "anthropic/claude-sonnet-4-5"),
    _opencode("opencode-openai", "openai/gpt-5.4"),
    Way(
        "gemini-cli",
        ("-p", "{}"),
        ("--resume", "latest", "-p", "{}"),
        is_named=False,
        sub=UseTool("invoke_agent", {"agent_name": "generalist", "prompt": TASK}),
        small_home={".gemini/settings.json": json.dumps({**GEMINI_SETTINGS, "model": {"compressionThreshold": 0.005}})},
        asks="distilling chat history",
        in_one_run=False,
    ),
    Way(
        "qwen-code",
        ("-p", "{}"),
        ("--continue", "-p", "{}"),
        ("--continue", "--fork-session", "-p", "{}"),
        is_named=False,
        sub=UseTool("agent", {"description": "look", "prompt": TASK, "subagent_type": "general-purpose"}),
        small_home={".qwen/settings.json": json.dumps({"context": {"autoCompactThreshold": 0.003}})},
        asks="summarizes a conversation when its context window",
    ),
    _pi("pi-anthropic", 200_000),
    _pi("pi-openai", 400_000),
)


def present(way: Way) -> RealAgent:
    """The agent, or a skip."""
    agent = BY_NAME[way.agent]
    if why := agent.missing():
        pytest.skip(why)
    return agent


@pytest.fixture(scope="module")
def running() -> Iterator[Camp]:
    if all(BY_NAME[way.agent].missing() for way in WAYS):
        pytest.skip("no agent is installed: `make test-agents` does it")
    with camp() as running:
        yield running


@dataclass(frozen=True, slots=True)
class Waiting(Lines):
    """A model that waits for Codex's sub-agents, of which some are named by an id that is told."""

    def __call__(self, request: ReceivedRequest) -> Answer | None:
        answer = Lines.__call__(self, request)
        told = [text for who, text in flow(request) if who == "result" and '"agent_id"' in text]
        is_wait = isinstance(answer, Reply) and any(
            isinstance(one, UseTool) and one.name == "wait_agent" for one in answer.parts
        )
        if told and is_wait:
            return Reply(
                (UseTool("wait_agent", {"targets": [json.loads(told[-1])["agent_id"]], "timeout_ms": 20_000}),)
            )
        return answer


def session_of(found: list[dict[str, Any]]) -> set[str]:
    return {row["session_id"] for row in found}


def prompts(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(int(row["turn_index"]), row["prompt"].strip('"')) for row in found if row["call_class"] == "main"]


TURNS = (
    "session_id, conversation, parent_conversation, parent_span_id, turn_index, prompt, inferences, tool_calls, end, "
    "call_class"
)
CALLS = "session_id, conversation, span_id, tool_name, command, outcome"
INFERENCES = "session_id, conversation, parent_conversation, call_class, compacted, is_complete, injected_bytes"


@pytest.mark.parametrize("way", [way for way in WAYS if not way.agent.endswith("code-mode")], ids=lambda way: way.agent)
def test_a_resumed_session(running: Camp, way: Way) -> None:
    """Each run's prompt is a turn of its own, its tools are told once; a client that names its session has one, another
    a session for each run, the later one pointing to the earlier. A fork points to what it came from. The block stands
    in all of them."""
    agent = present(way)
    assert agent.tool is not None
    lines = Lines(
        {
            "walrus one": (Reply((Say("I try."), agent.tool(FAILING))), Reply((Say("First done."),))),
            "walrus two": (Reply((agent.tool(WORKING),)), Reply((Say("Second done."),))),
            "walrus three": (Reply((Say("Third done."),)),),
        }
    )
    runs = [way.arguments(way.first, FIRST), way.arguments(way.resumed, SECOND)]
    runs += [way.arguments(way.forked, THIRD)] if way.forked else []
    played = tour(running, agent, f"resumed-{way.agent}", runs, lines)
    turns, calls = rows(running, played, "turns", TURNS), rows(running, played, "tool_calls", CALLS)

    assert [ended.returncode for ended in played.ended] == [0] * len(runs), played.ended[-1].stderr[-2000:]
    assert prompts(turns) == [*enumerate((FIRST, SECOND, THIRD))][: len(runs)]
    assert [(int(turn["inferences"]), int(turn["tool_calls"]), turn["end"]) for turn in turns] == [
        (2, 1, "completed"), (2, 1, "completed"), (1, 0, "completed"),
    ][: len(runs)]  # fmt: skip
    assert [call["command"] for call in calls] == [FAILING, WORKING]
    assert (turns[1]["session_id"] == turns[0]["session_id"]) is way.is_named
    assert turns[1]["parent_conversation"] == ("" if way.is_named else turns[0]["conversation"])
    if way.forked:
        assert turns[2]["session_id"] != turns[1]["session_id"]
        assert turns[2]["parent_conversation"] in {turn["conversation"] for turn in turns[:2]}
    assert set(remembered(played)) == {1}
    never_back(played)


@pytest.mark.parametrize("way", [way for way in WAYS if way.sub], ids=lambda way: way.agent)
def test_sub_agents(running: Camp, way: Way) -> None:
    """It hangs under the call that started it, in its parent's session; its prompt is nobody's word, and it gets no
    session block."""
    agent = present(way)
    assert agent.tool is not None and way.sub is not None
    wait = Reply((UseTool("wait_agent", {"timeout_ms": 10_000}),)) if way.agent.startswith("codex") else None
    last = Reply((Say("First done."),))
    lines = Waiting(
        {
            "walrus one": (Reply((Say("I ask."), way.sub)), *((wait, last) if wait else (last,))),
            "octopus": (Reply((agent.tool(WORKING),)), Reply((Say("Octopus found."),))),
        }
    )
    played = tour(running, agent, f"sub-{way.agent}", [way.arguments(way.first, FIRST)], lines)
    turns, calls = rows(running, played, "turns", TURNS), rows(running, played, "tool_calls", CALLS)
    main = next(turn for turn in turns if turn["call_class"] == "main")
    subs = [turn for turn in turns if turn["call_class"] == "subagent"]
    launches = [call for call in calls if call["tool_name"] == way.sub.name]

    assert played.ended[0].returncode == 0, played.ended[0].stderr[-2000:]
    assert prompts(turns)[0] == (0, FIRST) and all(not turn["prompt"] for turn in turns if turn is not main)
    assert [launch["conversation"] for launch in launches] == [main["conversation"]]
    assert subs and {sub["parent_span_id"] for sub in subs} == {launches[0]["span_id"]}
    assert {(sub["session_id"], sub["parent_conversation"]) for sub in subs} == {
        (main["session_id"], main["conversation"])
    }
    found = rows(running, played, "inferences", INFERENCES)
    assert session_of(found) == {main["session_id"]}
    assert all(int(row["injected_bytes"]) == 0 for row in found if row["call_class"] != "main")
    never_back(played)


@pytest.mark.parametrize("way", [way for way in WAYS if way.asks], ids=lambda way: way.agent)
def test_compaction(running: Camp, way: Way) -> None:
    """The call for the summary is told as one; what follows is the same session (in another run of a client that names
    none: one that points to it) and has the block again, nobody typed the summary, and no tool is told twice."""
    agent = replace(present(way), home={**BY_NAME[way.agent].home, **way.small_home})
    assert agent.tool is not None
    lines = Lines(
        {
            "walrus one": (Reply((Say("I look."), agent.tool(LONG))), Reply((Say("First done."),))),
            "walrus two": (Reply((agent.tool(WORKING),)), Reply((Say("Second done."),))),
            "walrus was seen": (Reply((Say("Going on, done."),)),),
        },
        SUMMARY,
        way.asks,
    )
    runs = [way.arguments(way.first, FIRST, way.small), way.arguments(way.resumed, SECOND)]
    played = tour(running, agent, f"compacted-{way.agent}", runs, lines)
    found = rows(running, played, "inferences", INFERENCES)
    turns, calls = rows(running, played, "turns", TURNS), rows(running, played, "tool_calls", CALLS)
    summaries = [row for row in found if row["call_class"] == "compaction"]

    assert [ended.returncode for ended in played.ended] == [0, 0], played.ended[-1].stderr[-2000:]
    assert summaries and session_of(summaries) <= session_of(turns)
    assert prompts(turns) == [(0, FIRST), (1, SECOND)]
    assert sorted(call["command"] for call in calls) == sorted([LONG, WORKING])
    assert any(row["compacted"] for row in found) is (way.in_one_run or way.is_named)
    assert (turns[1]["session_id"] == turns[0]["session_id"]) is way.is_named
    assert turns[1]["parent_conversation"] == ("" if way.is_named else turns[0]["conversation"])
    assert set(remembered(played)) == {1}
    never_back(played)


HINTED = "`cat` of a file that is not there: the walrus moved it to the attic."


@pytest.fixture(scope="module")
def hinting(running: Camp) -> Camp:
    """A memory that answers the failing command, in the proxy's hands."""
    failed = failure_signature("", FAILING, "cat: no-such-file-here: No such file or directory", 3)
    trigger = Trigger((failed.hash,), failed.program, failed.error_class)
    memory = make_memory("cat", scope=SCOPE, text=HINTED, trigger=trigger)
    paths = running.stage.paths

    def remember() -> None:
        _, client = connect(Settings(), paths)
        client.apply([Operation(Verb.ADDED, memory, "known")])
        wait_until(lambda: memory.id in paths.snapshot_file.read_text(), 120)

    running.world.run(remember)
    return running


@pytest.mark.parametrize("name", ["codex", "codex-code-mode", "codex-http"])
def test_codex_gets_a_hint_beside_the_failure(hinting: Camp, name: str) -> None:
    """Over a WebSocket in the one message that brings the failing output, and no later message is touched: the server's
    history holds it, under the answers' ids that the client goes on from. A resumed session, which sends its whole
    history on a new connection, carries the very same text at the very same place."""
    way = next(way for way in WAYS if way.agent == name)
    agent = present(way)
    assert agent.tool is not None
    lines = Lines(
        {
            "walrus one": (
                Reply((Say("I try."), agent.tool(FAILING))),
                Reply((agent.tool(WORKING),)),
                Reply((Say("First done."),)),
            ),
            "walrus two": (Reply((Say("Second done."),)),),
        }
    )
    runs = [way.arguments(way.first, FIRST), way.arguments(way.resumed, SECOND)]
    played = tour(hinting, agent, f"hinted-{name}", runs, lines)
    hinted = [[text for text in results_of(request) if HINTED in text] for request in played.main]

    assert [ended.returncode for ended in played.ended] == [0, 0], played.ended[-1].stderr[-2000:]
    assert [len(texts) for texts in hinted] == [0, 1, 1, 1]
    assert len({texts[0] for texts in hinted[1:]}) == 1 and "No such file" in hinted[1][0]
    if agent.is_socket:
        assert [b"<spanlore-hint" in request.frame for request in played.main] == [False, True, False, True]
        chained = [(request.document or {}).get("previous_response_id") for request in played.main]
        assert all(chained[1:3]) and len(set(chained)) == len(chained)
    found = rows(hinting, played, "inferences", INFERENCES)
    assert all(row["is_complete"] for row in found)
    calls = rows(hinting, played, "tool_calls", CALLS)
    assert [call["outcome"] for call in calls] == ["failure", "success"]
    never_back(played)


def results_of(request: ReceivedRequest) -> list[str]:
    return [text for who, text in flow(request) if who == "result"]


def remembered(played: Tour) -> list[int]:
    """How often the memory stands in each request that offers tools, but for Qwen Code's about its own memory."""
    aside = "Managed memory has TWO directories"
    main = (request for request in played.main if not any(aside in text for _, text in flow(request)[-1:]))
    return [request.decoded.count(REMEMBERED.encode()) for request in main]


def never_back(played: Tour) -> None:
    """What we put in is in no request twice, and nowhere on the agent's disk."""
    kept = [path for folder in (played.home, played.project) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"<spanlore-" in path.read_bytes()]
    assert all(request.decoded.count(REMEMBERED.encode()) <= 1 for request in played.inferences)

"""Every supported agent as the real program, in one short session through `spanlore run`: a command that fails, one
that works, the end. Nothing but loopback can be reached, and the model is a script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanlore.signature.failure import failure_signature
from spanlore_proxy.demo.project import SCOPE
from spanlore_proxy.demo.store_view import wait_until
from support import agents_table
from support.agent_camp import PROMPT, REMEMBERED, Camp, Session, camp
from support.real_agents import AGENTS, DONE, FAILING, WORKING, RealAgent

pytestmark = pytest.mark.agents
SIGNATURE = failure_signature("", FAILING, "cat: no-such-file-here: No such file or directory", 3).hash
"""The same failure has one signature, whichever agent met it: what one learned helps the next."""


@pytest.fixture(scope="module")
def running() -> Iterator[Camp]:
    if all(agent.missing() for agent in AGENTS):
        pytest.skip("no agent is installed: `make test-agents` does it")
    with camp() as running:
        yield running


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name, scope="module")
def agent(request: pytest.FixtureRequest) -> RealAgent:
    agent: RealAgent = request.param
    if why := agent.missing():
        pytest.skip(why)
    return agent


@pytest.fixture
def session(running: Camp, agent: RealAgent) -> Session:
    return running.session(agent)


def test_runs_to_its_end(session: Session) -> None:
    """It exits with 0, after the requests that the script has answers for and none twice."""
    steps = 1 if session.agent.tool is None else 3

    assert session.ended.returncode == 0, session.ended.stderr[-2000:]
    assert len(session.main) == steps
    assert session.agent.last or DONE in session.ended.stdout


def test_each_request_is_captured(running: Camp, session: Session) -> None:
    """Each request to the model is an inference of one session, with its place, dialect and tokens."""
    columns = (
        "session_id, harness, dialect, call_class, repository, branch, status_code, input_tokens, output_tokens, "
        "is_complete, error_type"
    )
    rows = running.rows(session, "inferences", columns)
    main = [row for row in rows if row["call_class"] == "main"]

    assert len(rows) == len(session.inferences)
    assert len(main) == len(session.main)
    assert {row["session_id"] for row in rows} == {main[0]["session_id"]} != {""}
    assert {row["harness"] for row in rows} == {session.agent.harness}
    assert {row["dialect"] for row in main} == {session.agent.dialect.value}
    assert {(row["repository"], row["branch"]) for row in rows} == {(SCOPE, "main")}
    status = 101 if session.agent.is_socket else 200
    assert all((row["status_code"], row["is_complete"], row["error_type"]) == (status, True, "") for row in rows)
    usages = [running.server.usages[request.request_id] for request in session.inferences]
    assert sorted(int(row["input_tokens"]) for row in rows) == sorted(usage.total_tokens for usage in usages)
    assert all(int(row["output_tokens"]) > 0 for row in main)


def test_prompt_is_one_turn(running: Camp, session: Session) -> None:
    """What was asked is the prompt of the one turn, which holds all the steps."""
    columns = "turn_index, prompt, inferences, tool_calls, end"
    wait_until(lambda: bool(running.rows(session, "turns", columns)), 120)
    (turn,) = running.rows(session, "turns", columns)
    tools = 0 if session.agent.tool is None else 3 if session.agent.last else 2

    assert (turn["turn_index"], turn["prompt"].strip('"')) == (0, PROMPT)
    assert (int(turn["inferences"]), int(turn["tool_calls"])) == (len(session.main), tools)
    # Who leaves the last call unanswered is told to have ended once its process has.
    assert turn["end"] == ("idle" if session.agent.last else "completed")


def test_outcomes_are_seen(running: Camp, session: Session) -> None:
    """The failing command is a failure with its exit code, the other one a success; unknown where nobody says so."""
    if session.agent.tool is None:
        pytest.skip(f"{session.agent.name} has no tools")
    columns = "command, outcome, exit_code, program, signature, error_line"
    failed, worked, *left = running.rows(session, "tool_calls", columns)

    assert (failed["command"], worked["command"]) == (FAILING, WORKING)
    assert failed["outcome"] == session.agent.failure
    assert failed["exit_code"] == session.agent.exit_code
    assert failed["program"] == "cat"
    if session.agent.failure == "failure":
        assert worked["outcome"] == "success"
        assert "No such file" in failed["error_line"]
        assert failed["signature"] == SIGNATURE, failed["error_line"]
    assert [(call["command"], call["outcome"]) for call in left] == (
        [(session.agent.last.input.get("command", ""), "unknown")] if session.agent.last else []
    )


def test_memory_arrives(session: Session) -> None:
    """Each request of the main loop holds what is remembered, once; side calls hold nothing of ours."""
    main = {request.request_id for request in session.main}

    for request in session.inferences:
        expected = 1 if request.request_id in main else 0
        assert request.decoded.count(REMEMBERED.encode()) == expected
    sent = [request.frame or request.decoded for request in session.inferences]
    assert session.counters["injected"] == sum(REMEMBERED.encode() in one for one in sent)
    # On a WebSocket the server holds the history: there it is sent once.
    assert session.counters["injected"] == (1 if session.agent.is_socket else len(main))
    assert all(bool(request.frame) is session.agent.is_socket for request in session.inferences)


def test_our_text_never_comes_back(session: Session) -> None:
    """Neither an answer's echo nor anything the agent keeps in its HOME or the project holds our text."""
    kept = [path for folder in (session.home, session.project) for path in folder.rglob("*") if path.is_file()]

    assert not [path for path in kept if b"<spanlore-" in path.read_bytes()]
    assert all(request.decoded.count(b"<spanlore-memory") <= 1 for request in session.inferences)


def test_nothing_is_lost(session: Session) -> None:
    """Nothing was lost, and nothing passed through for a fault of ours."""
    assert session.counters["lost"] == 0
    assert session.counters["passthrough"] == 0


def test_nothing_goes_around_the_proxy(running: Camp, session: Session) -> None:
    """In a network that holds nothing but loopback: whoever goes through the proxy looks up no name."""
    if not running.world.is_isolated:
        pytest.skip("network namespaces need root on Linux: nothing here would see who goes around the proxy")

    assert session.bypassed == []


def test_the_table_says_what_was_seen(running: Camp, session: Session) -> None:
    """proxy/DESIGN.md is right about this agent; `make agents-table` writes what was seen."""
    assert agents_table.written(agents_table.DESIGN.read_text())[session.agent.name] == agents_table.row(
        running, session
    )

"""The main job with the real Claude Code, a fresh HOME, a key that is none, and a scripted upstream on loopback."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanlore_proxy.demo.drivers import ClaudeCode, find_claude
from spanlore_proxy.demo.scenario import TASK, answer
from spanlore_proxy.demo.story import Session
from support.main_job import each_rule, system_blocks
from support.model_server import ReceivedRequest, Reply, Say, UseTool
from support.played import Played, play
from support.proxied import counted

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    binary = find_claude(Path(__file__).parents[2])
    if binary is None:
        pytest.skip("no claude binary: `make test` installs it with npm below .cache/agents; npm is not here")
    with play(ClaudeCode(binary)) as played:
        yield played


@each_rule
def test_main_job(played: Played, rule: Callable[[Played], None]) -> None:
    """The rule that the parameter names and its docstring states."""
    rule(played)


def test_nothing_is_kept_in_its_home(played: Played) -> None:
    """Claude Code's own transcripts hold nothing of what was added to its requests."""
    ids = {session.id for session in played.story.cast}
    kept = [path for path in played.stage.home.rglob("*.jsonl") if path.stem in ids]

    assert len(kept) == len(ids)
    assert not any(b"<spanlore-" in path.read_bytes() for path in kept)


def test_only_the_model_server_was_talked_to(played: Played) -> None:
    """No connection went to any host but the API's, which leads to the scripted server."""
    assert played.server.inferences
    assert counted(played.stage.paths, "tunnelled") == 0


def test_signed_requests_are_left_alone(played: Played) -> None:
    """With a subscription's credential the client itself puts the block in and signs it; the body is not rewritten."""
    session = Session("signed", 0)
    played.say(session, TASK, is_first=True, ANTHROPIC_API_KEY="", CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-none")
    played.captured(session)
    rows = played.spans(session, "span_id, injection_skipped, injected_memory_ids", "inferences")

    assert {row["injection_skipped"] for row in rows} == {"attested"}
    assert all(row["injected_memory_ids"] for row in rows)
    assert all("<spanlore-memory" in block for block in system_blocks(played, session.id))
    assert all("cch=" in request.system_texts[0] for request in played.server.main_loop(session.id))
    assert played.json("explain", rows[0]["span_id"])["identical"] is True


def delegating(request: ReceivedRequest) -> Reply:
    """Two commands at once, then a sub-agent that runs one that fails, then the end."""
    if not request.has_tools:
        return Reply((Say('{"title": "x"}'),))
    done = len(request.results_since_prompt)
    if request.header("x-claude-code-request-class") == "subagent":
        return Reply((_bash("python3 nowhere.py"),)) if done == 0 else Reply((Say("It is not there."),))
    if request.mentions("[SYSTEM NOTIFICATION"):
        return Reply((Say("Done."),))
    if done == 0:
        return Reply((Say("Two at once."), _bash("echo one"), _bash("echo two")))
    if done == 2:
        task = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
        return Reply((UseTool("Agent", task),))
    return Reply((Say("Waiting for it."),))


def _bash(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "Run it"})


def test_parallel_tools_and_sub_agent(played: Played) -> None:
    """Tools of one answer stand side by side; the sub-agent's turn hangs under the call that started it."""
    session = Session("delegating", 0)
    played.meddler.script = delegating
    try:
        played.say(session, "Look into it.", is_first=True)
    finally:
        played.meddler.script = answer
    played.captured(session)
    first, second, *_ = played.json("session", session.id)["turns"][0]["chats"]

    assert [tool["command"] for tool in first["tools"]] == ["echo one", "echo two"]
    (agent,) = second["tools"]
    (turn,) = agent["turns"]
    assert turn["call_class"] == "subagent"
    (failed,) = turn["chats"][0]["tools"]
    assert (failed["command"], failed["outcome"], failed["exit_code"]) == ("python3 nowhere.py", "failure", 2)
    assert not any(b"<spanlore-" in json.dumps(request.document).encode() for request in subagents(played, session))


def subagents(played: Played, session: Session) -> list[ReceivedRequest]:
    """The requests of the session's sub-agents, as forwarded."""
    requests = played.server.main_loop(session.id)
    found = [request for request in requests if request.header("x-claude-code-request-class") == "subagent"]
    assert found
    return found


SAID = ("The okapi branch is the release branch.", "Tests of the okapi need curl.")


def remembering(request: ReceivedRequest) -> Reply:
    """The agent calls `spanlore remember` in its shell, the second time with the marks of its shell taken away."""
    if not request.has_tools:
        return Reply((Say('{"title": "x"}'),))
    plain, bare = (f"spanlore remember '{text}' 2>&1" for text in SAID)
    commands = [plain, f"env -u CLAUDECODE -u CLAUDE_CODE_ENTRYPOINT -u SPANLORE_RUN_AGENT {bare}"]
    done = len(request.results_since_prompt)
    return Reply((_bash(commands[done]),)) if done < len(commands) else Reply((Say("Done."),))


def test_what_it_has_remembered_in_its_shell_waits(played: Played) -> None:
    """Its word is not its user's: kept as a candidate, whom nobody is shown, and the command says so to the model."""
    session = Session("remembering", 0)
    played.meddler.script = remembering
    file = played.stage.paths.config_file
    of_the_stage = file.read_text()
    file.write_text("")  # as it is for a user who has said nothing about it
    try:
        played.say(session, "Note how releases are made.", is_first=True)
    finally:
        played.meddler.script = answer
        file.write_text(of_the_stage)
    played.captured(session)
    kept = [memory for memory in played.json("memories", "--all")["memories"] if "okapi" in memory["text"]]
    results = played.server.main_loop(session.id)[-1].results_since_prompt

    assert [memory["status"] for memory in kept] == ["candidate"] * 2
    assert all("An agent asked to have this remembered" in memory["text"] for memory in kept)
    assert ["called by claude-code" in str(result) for result in results] == [True, True]

"""What has to hold after the story, whichever agent played it: one rule a function, called by the test modules."""

from __future__ import annotations

import itertools
import json

import pytest

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.project import OBVIOUS_COMMAND, RIGHT_COMMAND, SCOPE
from spanlore_proxy.demo.scenario import CORRECTION, TASK
from support.played import Played


def all_checks_hold(played: Played) -> None:
    """Everything the demonstration claims is true."""
    untrue = [check.claim for check in played.findings.checks if not check.is_true]

    assert untrue == []


def failure_is_captured(played: Played) -> None:
    """The failing command is a failure with its exit code, program, signature and error line."""
    columns = "tool_name, outcome, exit_code, program, command, signature, error_line, repository, branch"
    first, *_ = played.spans(played.story.cast.first, columns, "tool_calls")

    assert first["command"] == OBVIOUS_COMMAND
    assert (first["tool_name"], first["outcome"], int(first["exit_code"])) == ("Bash", "failure", 1)
    assert first["signature"]
    assert "ModuleNotFoundError" in first["error_line"]
    assert (first["repository"], first["branch"]) == (SCOPE, "main")


def tokens_and_cost_are_the_providers(played: Played) -> None:
    """Input tokens include the cache's, as the model server counted them, and each call has a price."""
    columns = (
        "input_tokens, cache_read_tokens, cache_write_tokens, provider_request_id, toFloat64(cost_usd) AS cost_usd"
    )
    for session in played.story.cast:
        for row in played.spans(session, columns, "inferences"):
            usage = played.server.usages[row["provider_request_id"]]
            assert int(row["input_tokens"]) == usage.total_tokens
            assert int(row["cache_read_tokens"]) == usage.cache_read_tokens
            assert row["cost_usd"] > 0


def tree_is_turn_chat_tool(played: Played) -> None:
    """`spanlore session` gives the turns, in each the model calls, under each the tools it asked for."""
    view = played.json("session", played.story.cast.first.id)
    turns = view["turns"]

    assert [turn["prompt"] for turn in turns] == [TASK, CORRECTION]
    commands = [[tool["command"] for tool in chat["tools"]] for turn in turns for chat in turn["chats"]]
    assert commands[0] == [OBVIOUS_COMMAND]
    assert [RIGHT_COMMAND] in commands
    assert all(len(turn["tools"]) == 0 for turn in turns)
    assert view["session"]["failures"] >= 1


def memory_cites_the_users_words(played: Played) -> None:
    """What the user said became a memory, with the user's own words as evidence."""
    quotes = [item.quote for memory in played.findings.memories for item in memory.evidence]

    assert any(RIGHT_COMMAND in quote for quote in quotes)


def prompt_cache_is_not_lost(played: Played) -> None:
    """In run 2 each request after the first reads from the cache all that the one before it wrote."""
    usages = [
        played.server.usages[request.request_id] for request in played.server.main_loop(played.story.cast.second.id)
    ]

    for before, after in itertools.pairwise(usages):
        assert after.cache_read_tokens == before.cache_read_tokens + before.cache_write_tokens


def explain_proves_the_insertion(played: Played) -> None:
    """`spanlore explain` shows the block of run 2, and of run 1 that nothing was added."""
    second = played.spans(played.story.cast.second, "span_id", "inferences")[0]["span_id"]
    first = played.spans(played.story.cast.first, "span_id", "inferences")[0]["span_id"]

    assert "<spanlore-memory" in json.dumps(played.json("explain", second)["insertions"])
    assert played.json("explain", first)["identical"] is True


def block_outlives_the_proxy(played: Played) -> None:
    """The proxy is killed in the middle of a session; the agent goes on, and the block keeps its bytes."""
    session = played.story.cast.second
    before = system_blocks(played, session.id)
    killed: list[int] = []

    def kill(request: ReceivedRequest) -> None:
        if not killed and request.session_id == session.id:
            killed.append(played.kill_proxy())
            played.killed += 1

    played.meddler.before = kill
    try:
        said = played.say(session, TASK)
    finally:
        played.meddler.before = None
    after = system_blocks(played, session.id)

    assert killed
    assert "pass" in said
    assert len(after) > len(before) + 1
    assert set(after) == set(before)
    assert len(set(after)) == 1
    history_is_stored_once(played)


def history_is_stored_once(played: Played) -> None:
    """However often it was resent, and by whichever proxy it was seen, each message is stored once and has its turn."""
    repeated = (
        "SELECT count() AS rows, uniqExact(message_index, part_index, direction) AS places FROM message_parts "
        "WHERE session_id = {session:String} AND direction = 'input' AND span_id IN "
        "(SELECT span_id FROM inferences WHERE call_class = 'main')"
    )
    for session in played.story.cast:
        played.captured(session)
        (row,) = played.store.rows(repeated, session=session.id)
        turns = played.spans(session, "turn_index, prompt", "turns")
        assert int(row["rows"]) == int(row["places"]) > 0
        assert [int(turn["turn_index"]) for turn in turns] == list(range(len(turns)))
        assert all(turn["prompt"] for turn in turns)


def system_blocks(played: Played, session_id: str) -> list[str]:
    """The last system block of each request of a session, as forwarded."""
    return [request.system_texts[-1] for request in played.server.main_loop(session_id)]


RULES = (
    all_checks_hold,
    failure_is_captured,
    tokens_and_cost_are_the_providers,
    tree_is_turn_chat_tool,
    memory_cites_the_users_words,
    prompt_cache_is_not_lost,
    explain_proves_the_insertion,
    history_is_stored_once,
    block_outlives_the_proxy,
)
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)

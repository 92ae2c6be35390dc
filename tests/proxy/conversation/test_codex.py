"""What Codex's requests say about themselves."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore_proxy.conversation.codex import Facts, read_facts
from spanlore_proxy.wire.openai_responses import parse_request

TURN = {"session_id": "s", "thread_id": "t", "turn_id": "u", "request_kind": "turn", "workspaces": {"/w/app": {}}}
USER = {"role": "user", "content": "hi"}


def facts(headers: dict[str, str], path: str = "/v1/responses", **document: Any) -> Facts:
    body = orjson.dumps({"input": [USER], "tools": [{"type": "function", "name": "exec_command"}], **document})
    return read_facts(headers.items(), parse_request(body), path)


def turn(**changes: Any) -> str:
    return orjson.dumps({**TURN, **changes}).decode()


def test_a_main_call() -> None:
    """Session and thread in headers, the turn in its metadata; the only workspace is where it works."""
    headers = {"session-id": "s", "thread-id": "t", "x-codex-turn-metadata": turn()}

    assert facts(headers) == Facts("s", "", "", CallClass.MAIN, "u", False, "/w/app")


def test_on_a_websocket_all_stands_in_the_body() -> None:
    """`client_metadata` says what the headers would."""
    metadata = {"session_id": "s", "thread_id": "t", "turn_id": "u", "x-codex-turn-metadata": turn()}

    assert facts({}, client_metadata=metadata) == Facts("s", "", "", CallClass.MAIN, "u", False, "/w/app")


def test_a_sub_agent_has_a_thread_of_its_own() -> None:
    """In its parent's session."""
    headers = {
        "session-id": "s",
        "thread-id": "t2",
        "x-codex-parent-thread-id": "t",
        "x-openai-subagent": "collab_spawn",
    }
    found = facts(headers)

    assert (found.session_id, found.agent_key, found.agent_kind) == ("s", "t2", "collab_spawn")
    assert found.call_class is CallClass.SUBAGENT


def test_the_thread_of_a_title_is_nobodys_session() -> None:
    """The TUI's (0.171): a thread and a session of its own, whose turn begins with the person's prompt behind an
    instruction. It warms its connection up, too."""
    metadata = turn(thread_source="thread_title")
    headers = {"session-id": "s2", "thread-id": "t2", "x-codex-turn-metadata": metadata}
    warming = {**headers, "x-codex-turn-metadata": turn(thread_source="thread_title", request_kind="prewarm")}

    assert facts(headers) == Facts(None, "", "", CallClass.TITLE, "u", False, "/w/app")
    assert (facts(warming).session_id, facts(warming).call_class) == (None, CallClass.PROBE)


@pytest.mark.parametrize(
    ("headers", "path", "document", "expected"),
    [
        ({"x-codex-turn-metadata": turn(request_kind="prewarm")}, "/v1/responses", {}, CallClass.PROBE),
        ({}, "/v1/responses", {"generate": False}, CallClass.PROBE),
        ({"x-codex-turn-metadata": turn(request_kind="compaction")}, "/v1/responses", {}, CallClass.COMPACTION),
        ({}, "/v1/responses", {"input": [USER, {"type": "compaction_trigger"}]}, CallClass.COMPACTION),
        ({}, "/v1/responses/compact", {}, CallClass.COMPACTION),
        (
            {},
            "/v1/responses",
            {"input": [USER, {"role": "user", "content": "You are performing a CONTEXT CHECKPOINT COMPACTION. …"}]},
            CallClass.COMPACTION,
        ),
        ({"x-openai-subagent": "memory_consolidation"}, "/v1/responses", {}, CallClass.SIDE),
        ({"x-openai-subagent": "review"}, "/v1/responses", {}, CallClass.SUBAGENT),
    ],
)
def test_calls_that_are_no_turn(
    headers: dict[str, str], path: str, document: dict[str, Any], expected: CallClass
) -> None:
    """Prewarming, compaction in all its forms, memories."""
    assert facts(headers, path, **document).call_class is expected


def test_a_compacted_history_is_told_by_its_item() -> None:
    """The client has replaced what went before."""
    assert facts({}, input=[USER, {"type": "compaction", "encrypted_content": "e"}, USER]).is_compacted


def test_a_summary_in_words_stands_for_the_history_too() -> None:
    """Older versions summarise it themselves."""
    summary = {"role": "user", "content": "Another language model started to solve this problem and produced…"}

    assert facts({}, input=[USER, summary, USER]).is_compacted


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_broken_metadata_says_nothing(text: str) -> None:
    """And raises nothing; the cache key names the session where nothing else does."""
    assert facts({"x-codex-turn-metadata": text}, prompt_cache_key="s").session_id == "s"
    assert read_facts((), None, "/v1/responses").call_class is CallClass.UNKNOWN

"""Two forms of one Chat message have one digest."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.openai_chat import fold_response, message_digest, parse_request
from support import recordings

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1,"b":2}'}}
OTHER = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b": 2, "a": 1}'}}


@pytest.mark.parametrize("name", ["sse_tool", "json_tool"])
def test_the_answer_is_found_in_the_next_request(name: str) -> None:
    """What the fold saw and what the client sent back, as recorded."""
    recording = recordings.of("openai_chat", name)
    answer = fold_response(recording.body, recording.content_type, 200, False).raw_output
    following = parse_request(recordings.request_of("openai_chat", f"{name}.next"))
    asked = parse_request(recordings.request_of("openai_chat", name))
    assert answer is not None
    chain = [message_digest(message) for message in following.raw_messages]

    assert chain[: len(asked.raw_messages)] == [message_digest(message) for message in asked.raw_messages]
    assert chain[len(asked.raw_messages)] == message_digest(answer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}),
        ({"role": "system", "content": "s"}, {"role": "developer", "content": "s"}),
        (
            {"role": "assistant", "content": "yes\n", "refusal": None, "annotations": []},
            {"role": "assistant", "content": [{"type": "text", "text": "yes", "cache_control": {"type": "ephemeral"}}]},
        ),
        (
            {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [CALL]},
            {"role": "assistant", "content": None, "tool_calls": [OTHER]},
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "out"}], "name": "f"},
        ),
    ],
)
def test_forms_of_one_message(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Strings and lists, cache marks, dropped thinking, arguments written anew."""
    assert message_digest(one) == message_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "hi"}, {"role": "user", "content": "hi "}),
        ({"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            {"role": "tool", "tool_call_id": "c2", "content": "x"},
        ),
        ({"role": "assistant", "tool_calls": [CALL]}, {"role": "assistant", "tool_calls": [{**CALL, "id": "c2"}]}),
        ({"role": "assistant", "tool_calls": [CALL]}, {"role": "assistant", "tool_calls": [CALL, CALL]}),
        ({"role": "user", "content": ["a", "b"]}, {"role": "user", "content": ["ab"]}),
    ],
)
def test_what_says_something_else_differs(one: dict[str, Any], other: dict[str, Any]) -> None:
    """A person's white space, the role, ids, the number of calls."""
    assert message_digest(one) != message_digest(other)


@pytest.mark.parametrize(
    "raw", [{}, {"role": 7, "content": {"a": [1]}}, {"role": "assistant", "tool_calls": [None, 3]}]
)
def test_nothing_raises(raw: dict[str, Any]) -> None:
    """Whatever a client sends."""
    assert len(message_digest(raw)) == 16

"""The identity of a message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.anthropic.digest import message_digest
from spanlore_proxy.wire.anthropic.fold import fold_response
from spanlore_proxy.wire.anthropic.request import parse_request
from support import recordings

CACHE = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TEXT = {"type": "text", "text": "hi"}
CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls", "timeout": 5}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "out"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "hi"}, user(TEXT)),
        (user(TEXT), user({**TEXT, **CACHE})),
        (user(TEXT), user({"type": "text", "text": ""}, TEXT)),
        (user(RESULT), user({**RESULT, **CACHE})),
        (user(RESULT), user({**RESULT, "content": [{"type": "text", "text": "out", **CACHE}]})),
        (user(RESULT), user({**RESULT, "is_error": False})),
        (model(TEXT), model({**TEXT, "citations": None})),
        (model(TEXT), model({"type": "text", "text": "hi\n"})),
        (model(TEXT), model({"type": "thinking", "thinking": "hm", "signature": "s"}, TEXT)),
        (model(TEXT), model({"type": "redacted_thinking", "data": "x"}, TEXT)),
        (model(CALL), model({**CALL, "caller": {"type": "direct"}, **CACHE})),
        (model(CALL), model({**CALL, "input": {"timeout": 5, "command": "ls"}})),
        (
            user({"type": "image", "source": {"type": "url"}}),
            user({"type": "image", "source": {"type": "url"}, **CACHE}),
        ),
    ],
)
def test_forms_of_one_message(one: dict[str, Any], other: dict[str, Any]) -> None:
    """What clients change when they send a message again does not change its digest."""
    assert message_digest(one) == message_digest(other)
    assert len(message_digest(one)) == 16


def test_different_messages() -> None:
    """What a message says does change it: role, text, white space a person typed, calls, results, errors, order."""
    messages = [
        user(),
        user(TEXT),
        model(TEXT),
        {"role": "system", "content": "hi"},
        user({"type": "text", "text": "hi "}),
        user(TEXT, TEXT),
        user({"type": "text", "text": "hihi"}),
        model(CALL),
        model({**CALL, "id": "u"}),
        model({**CALL, "input": {"command": "ls -l", "timeout": 5}}),
        model({**CALL, "input": '{"command": "ls", "timeout": 5}'}),
        user(RESULT),
        user({**RESULT, "is_error": True}),
        user({**RESULT, "content": "out2"}),
        user({**RESULT, "content": ""}),
        user(RESULT, TEXT),
        user(TEXT, RESULT),
        user({**RESULT, "content": [TEXT, {"type": "image", "source": {}}]}),
        user({"type": "image", "source": {"type": "url", "url": "a"}}),
        user({"type": "image", "source": {"type": "url", "url": "b"}}),
    ]

    assert len({message_digest(message) for message in messages}) == len(messages)


@given(JSON, JSON)
def test_any_json_has_a_digest(role: Any, content: Any) -> None:
    """Nothing that JSON can say makes it raise, and the same message has the same digest."""
    raw = {"role": role, "content": content}

    assert message_digest(raw) == message_digest({"content": content, "role": role, "extra": 1})


@pytest.mark.parametrize(
    "name", ["sse_parallel_tools", "sse_thinking_tool_use", "json_parallel_tools", "json_redacted_thinking"]
)
def test_the_answer_is_recognised_in_the_next_request(name: str) -> None:
    """What the fold saw and what the client sends back as history have one digest."""
    recording = recordings.anthropic(name)
    answer = fold_response(recording.body, recording.content_type, recording.status, False).raw_output
    history = parse_request(recordings.anthropic_request(f"{name}.next")).raw_messages

    assert answer is not None
    assert [message["role"] for message in history][:2] == ["user", "assistant"]
    assert message_digest(answer) == message_digest(history[1])

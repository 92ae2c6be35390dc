"""Two forms of one raw message have one digest."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.openai_responses import fold_response, message_digest, parse_request
from support import recordings

TEXT = {"type": "output_text", "text": "done", "annotations": []}
SAID = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [TEXT]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}


def answer(*items: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(items)}


@pytest.mark.parametrize("name", ["json_message", "json_reasoning_tool", "json_tool_search", "sse_tool"])
def test_the_answer_is_found_in_the_next_request(name: str) -> None:
    """What the fold saw and what the client sent back, as recorded."""
    recording = recordings.of("openai_responses", name)
    said = fold_response(recording.body, recording.content_type, 200, False).raw_output
    asked = parse_request(recordings.request_of("openai_responses", name))
    following = parse_request(recordings.request_of("openai_responses", f"{name}.next"))
    assert said is not None
    chain = [message_digest(message) for message in following.raw_messages]

    assert chain[: len(asked.raw_messages)] == [message_digest(message) for message in asked.raw_messages]
    assert chain[len(asked.raw_messages)] == message_digest(said)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"role": "user", "content": "hi"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        ),
        (answer(SAID), answer({"role": "assistant", "content": "done"})),
        (
            answer({"type": "reasoning", "encrypted_content": "e"}, SAID, {"type": "web_search_call", "id": "w"}),
            answer(SAID),
        ),
        (answer(CALL), answer({**CALL, "id": None, "status": "completed", "arguments": '{ "a": 1 }'})),
        (
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
            {
                "type": "function_call_output",
                "id": "fco",
                "call_id": "c1",
                "output": [{"type": "input_text", "text": "ok"}],
            },
        ),
        ({"type": "compaction", "id": "a", "encrypted_content": "x"}, {"type": "compaction", "encrypted_content": "y"}),
    ],
)
def test_forms_of_one_message(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Short and long forms, dropped thinking and server tools, ids, arguments written anew."""
    assert message_digest(one) == message_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"role": "user", "content": "hi"}, {"role": "developer", "content": "hi"}),
        (answer(CALL), answer({**CALL, "call_id": "c2"})),
        (answer(SAID), answer(SAID, CALL)),
        (
            {"type": "function_call_output", "call_id": "c1", "output": "a"},
            {"type": "function_call_output", "call_id": "c1", "output": "b"},
        ),
        (
            {"type": "function_call_output", "call_id": "c1", "output": "a"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
        ),
    ],
)
def test_what_says_something_else_differs(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Role, ids, calls, outputs, the kind of item."""
    assert message_digest(one) != message_digest(other)


@pytest.mark.parametrize("raw", [{}, {"role": "assistant", "content": 7}, {"type": 3, "output": [None]}])
def test_nothing_raises(raw: dict[str, Any]) -> None:
    """Whatever a client sends."""
    assert len(message_digest(raw)) == 16

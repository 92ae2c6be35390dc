"""Chat requests, parsed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.openai_chat import decode_system, parse_request
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest
from support import recordings


def parse(**document: Any) -> WireRequest:
    return parse_request(orjson.dumps({"model": "m", "messages": [], **document}))


def test_a_request() -> None:
    """A recorded one: model, stream, messages without the system prompt, tools."""
    request = parse_request(recordings.request_of("openai_chat", "sse_tool"))

    assert (request.dialect, request.model, request.is_streaming) == (Dialect.OPENAI_CHAT, "gpt-4o-mini", True)
    assert [message["role"] for message in request.raw_messages] == ["user"]
    assert len(request.raw_tools) == 1


def test_the_system_prompt_is_what_stands_around_the_conversation() -> None:
    """Strings, lists and developers alike; aider repeats its rules at the end; what stands between stays."""
    said = [
        {"role": "system", "content": "Rules."},
        {"role": "developer", "content": [{"type": "text", "text": "More."}]},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "between"},
        {"role": "assistant", "content": "yes?"},
        {"role": "system", "content": "Remember."},
    ]
    request = parse(messages=said)

    assert request.raw_messages == said[2:5]
    assert [getattr(part, "content", None) for part in decode_system(request)] == ["Rules.", "More.", "Remember."]


def test_parameters() -> None:
    """Under their newer and older names."""
    request = parse(
        max_completion_tokens=7, max_tokens=9, temperature=1, top_p=0.5, top_k=3, stop="x", reasoning_effort="low"
    )
    older = parse(max_tokens=9, stop=["x", "y"], reasoning={"effort": "high"})

    assert request.parameters == RequestParameters(7, 1.0, 0.5, 3, ("x",), "low")
    assert older.parameters == RequestParameters(max_tokens=9, stop_sequences=("x", "y"), reasoning_level="high")


def test_results_of_legacy_functions_get_the_id_of_their_call() -> None:
    """The wire has none; both are made of what the call says."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    request = parse(messages=[call, {"role": "function", "name": "f", "content": "2"}], functions=[{"name": "f"}])

    assert request.raw_messages[1]["tool_call_id"].startswith("function-")
    assert request.raw_tools == [{"name": "f"}]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"messages": 1}', b'{"messages": ["x"]}'])
def test_what_is_no_request(body: bytes) -> None:
    """Not an object with a list of message objects."""
    with pytest.raises(MalformedRequestError):
        parse_request(body)

"""A Bedrock request's body → WireRequest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore.genai.messages import Message, Role, Text, ToolResult
from spanlore_proxy.wire.bedrock import decode_message, decode_system, decode_tools, message_digest, parse_request
from spanlore_proxy.wire.bedrock.fold import fold_response
from spanlore_proxy.wire.request import MalformedRequestError
from support import recordings


def test_a_messages_body() -> None:
    """InvokeModel of a Claude."""
    request = parse_request(recordings.request_of("bedrock", "eventstream_messages"))

    assert request.dialect is Dialect.BEDROCK
    assert request.model is None
    assert decode_system(request) == (Text("You're super friendly"),)
    assert decode_tools(request)


def test_a_converse_body() -> None:
    """Messages, tools, and parameters under Converse's names."""
    body = {
        "messages": [
            {"role": "user", "content": [{"text": "hi"}, {"cachePoint": {"type": "default"}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [], "status": "error"}}]},
        ],
        "system": [{"text": "You code."}],
        "inferenceConfig": {"maxTokens": 5, "temperature": 0.5, "topP": 1, "stopSequences": ["x"]},
    }
    request = parse_request(json.dumps(body).encode())

    assert [decode_message(raw) for raw in request.raw_messages] == [
        Message(Role.USER, (Text("hi"),)),
        Message(Role.USER, (ToolResult("1", "", True),)),
    ]
    assert request.parameters == RequestParameters(5, 0.5, 1.0, None, ("x",))


def test_an_answer_and_its_echo() -> None:
    """The next request of a Converse client holds the answer, under the same digest."""
    recording = recordings.of("bedrock", "json_converse_server_tool")
    before = parse_request(recordings.request_of("bedrock", "json_converse_server_tool"))
    after = parse_request(recordings.request_of("bedrock", "json_converse_server_tool.next"))
    raw = fold_response(recording.body, recording.content_type, 200, False).raw_output

    assert raw is not None
    assert message_digest(after.raw_messages[len(before.raw_messages)]) == message_digest(raw)


def test_counted_requests() -> None:
    """CountTokens nests a Messages body in base64, or a Converse body."""
    nested = parse_request(recordings.request_of("bedrock", "json_count_tokens_error_400"))
    converse = parse_request(b'{"input": {"converse": {"messages": [{"role": "user", "content": [{"text": "a"}]}]}}}')

    assert nested.raw_messages and converse.raw_messages
    assert "input" in nested.document


def test_a_prompt() -> None:
    """Models with a shape of their own take a text."""
    assert parse_request(b'{"inputText": "hi"}').raw_messages == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"input": {"invokeModel": {"body": "!"}}}'])
def test_malformed_bodies(body: bytes) -> None:
    """What holds neither messages nor a prompt."""
    with pytest.raises(MalformedRequestError):
        parse_request(body)


KEYS = st.sampled_from(["messages", "content", "text", "toolResult", "json", "image", "source", "system", "toolConfig"])
JSON = st.recursive(
    st.none() | st.integers(-3, 99) | st.sampled_from(["user", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, JSON))
def test_no_document_raises_anything_else(document: Any) -> None:
    """A body is a request, whose every message can be read, or malformed."""
    try:
        request = parse_request(json.dumps(document).encode())
    except MalformedRequestError:
        return
    for message in request.raw_messages:
        message_digest(message)
        decode_message(message)
    decode_system(request)
    decode_tools(request)

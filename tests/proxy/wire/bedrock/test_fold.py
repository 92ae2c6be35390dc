"""Bedrock responses, folded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall
from spanlore_proxy.wire.bedrock.fold import BedrockFold, fold_response
from spanlore_proxy.wire.response import WireResponse
from support import recordings
from support.event_stream import encode_message

NAMES = recordings.names_of("bedrock")


def fold(name: str) -> WireResponse:
    recording = recordings.of("bedrock", name)
    return fold_response(recording.body, recording.content_type, recording.status, False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 100])
def test_any_chunking_gives_the_same_response(name: str, size: int) -> None:
    """A recording folds to one value, in single bytes and whole."""
    recording = recordings.of("bedrock", name)
    streamed = BedrockFold(recording.content_type, recording.status)
    for chunk in recording.chunks(size):
        streamed.feed(chunk)

    assert streamed.finish() == fold(name)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_the_recordings_is_unknown(name: str) -> None:
    """Every recorded response is understood and whole."""
    assert fold(name).unknown_events == ()
    assert fold(name).is_complete


@pytest.mark.parametrize("name", [name for name in NAMES if recordings.of("bedrock", name).status == 200])
def test_every_cut_gives_a_partial_response(name: str) -> None:
    """Cut anywhere, a response is partial, never an exception, and knows no new words."""
    recording = recordings.of("bedrock", name)
    for size in range(0, len(recording.body), max(len(recording.body) // 200, 1)):
        cut = fold_response(recording.body[:size], recording.content_type, 200, True)
        assert cut.unknown_events == ()
        assert cut.is_complete or cut.error is not None
        assert not cut.is_complete or cut.output == fold(name).output


def test_claude_through_bedrock() -> None:
    """Events of the Messages API in base64, in binary frames: the same as without."""
    response = fold("eventstream_messages")

    assert response.response_id is not None and response.response_id.startswith("msg_bdrk_")
    assert isinstance(response.output[0].parts[0], Text)
    assert response.usage.input_tokens == 702
    assert isinstance(response.output[0].parts[-1], ToolCall)


def test_a_converse_stream_with_a_tool() -> None:
    """Thoughts, a call whose input comes in pieces, usage with what the cache read and took."""
    response = fold("made_converse_tool")

    assert response.output[0].parts == (
        Reasoning("Which tool?", "c2ln"),
        ToolCall("tooluse_1", "bash", {"command": "pytest -q"}),
    )
    assert response.usage == Usage(160, 11, 100, 40)
    assert response.finish_reasons == ("tool_call",)


def test_a_converse_answer() -> None:
    """The JSON form, with a call for the client."""
    response = fold("json_converse_tool")

    assert response.output[0].parts == (ToolCall("tooluse_Z4oIdWzp6MUkuN99WX3jLk", "top_song", {"sign": "Radio XYZ"}),)
    assert response.usage == Usage(90, 14)


def test_tools_that_run_at_the_provider() -> None:
    """They are server tools, beside a call for the client."""
    kinds = [type(part) for part in fold("json_converse_server_tool").output[0].parts]

    assert kinds == [ServerToolCall, ServerToolResult, ToolCall]


def test_titan_and_nova() -> None:
    """Models with shapes of their own: text, reason and counts."""
    titan, nova = fold("eventstream_titan"), fold("eventstream_nova")

    assert (titan.usage, titan.finish_reasons) == (Usage(5, 10), ("length",))
    assert nova.output[0].parts and nova.finish_reasons == ("stop",)
    assert fold("eventstream_guardrail").finish_reasons == ("content_filter",)


def test_an_exception_within_a_stream() -> None:
    """What had come stays, and the error is the provider's."""
    response = fold("made_exception")

    assert response.output[0].parts == (Text("Half of"),)
    assert response.error == InferenceError(
        "throttlingException", "Too many requests, please wait before trying again.", None
    )


def test_reasons_of_bedrocks_own() -> None:
    """Its word stays beside the convention's."""
    message = {"output": {"message": {"role": "assistant", "content": [{"text": "x"}]}}, "usage": {}}
    filtered, malformed = (
        fold_response(json.dumps({**message, "stopReason": reason}).encode(), "application/json", 200, False)
        for reason in ("guardrail_intervened", "malformed_tool_use")
    )

    assert (filtered.stop_reason, filtered.finish_reasons) == ("guardrail_intervened", ("content_filter",))
    assert (malformed.stop_reason, malformed.finish_reasons) == ("malformed_tool_use", ("error",))
    assert filtered.unknown_events == malformed.unknown_events == ()


def test_a_broken_frame() -> None:
    """A wrong checksum is named; what came before stays."""
    body = recordings.of("bedrock", "eventstream_converse").body
    broken = bytearray(body)
    broken[-1] ^= 1
    response = fold_response(bytes(broken), "application/vnd.amazon.eventstream", 200, False)

    assert "event:broken frame" in response.unknown_events
    assert response.output[0].parts == fold("eventstream_converse").output[0].parts


def test_a_token_count() -> None:
    """CountTokens' answer is a usage without an answer."""
    response = fold_response(b'{"inputTokens": 15}', "application/json", 200, False)

    assert (response.usage, response.output) == (Usage(15), ())


KEYS = st.sampled_from(
    ["output", "message", "content", "text", "toolUse", "stopReason", "usage", "inputTokens", "bytes", "delta", "start"]
)
JSON = st.recursive(
    st.none() | st.integers(-3, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from(["chunk", "contentBlockDelta", "contentBlockStart", "messageStop", "metadata", "other"]))
def test_no_document_raises(document: Any, name: str) -> None:
    """Whatever a body or an event says."""
    body = json.dumps(document).encode()
    stream = encode_message({":event-type": name, ":message-type": "event"}, body)
    fold_response(body, "application/json", 200, False)
    fold_response(body[:-1], "application/json", 200, True)
    fold_response(stream, "application/vnd.amazon.eventstream", 200, False)

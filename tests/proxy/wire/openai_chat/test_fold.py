"""Chat responses, folded: recordings in, whole values out."""

from __future__ import annotations

import hashlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Blob, Generic, Message, Part, Reasoning, Role, Text, ToolCall
from spanlore_proxy.wire.openai_chat.fold import ChatFold, fold_response
from spanlore_proxy.wire.response import WireResponse
from support import recordings

NAMES = recordings.names_of("openai_chat")


def fold(name: str) -> WireResponse:
    recording = recordings.of("openai_chat", name)
    return fold_response(recording.body, recording.content_type, recording.status, False)


def assistant(*parts: Part, finish_reason: str) -> tuple[Message, ...]:
    return (Message(Role.ASSISTANT, parts, finish_reason),)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_chunking_gives_the_same_response(name: str, size: int) -> None:
    """A recording folds to one value, in single bytes and whole."""
    recording = recordings.of("openai_chat", name)
    streamed = ChatFold(recording.content_type, recording.status)
    for chunk in recording.chunks(size):
        streamed.feed(chunk)

    assert streamed.finish() == fold(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_understood(name: str) -> None:
    """Nothing in it is unknown, it is whole, and a wrong Content-Type changes nothing."""
    recording, response = recordings.of("openai_chat", name), fold(name)

    assert (response.unknown_events, response.is_complete) == ((), True)
    for content_type in ("", "text/plain", "text/event-stream; charset=utf-8"):
        assert fold_response(recording.body, content_type, recording.status, False) == response


@pytest.mark.parametrize("name", [name for name in NAMES if recordings.of("openai_chat", name).status == 200])
def test_every_cut_gives_a_partial_response(name: str) -> None:
    """Cut anywhere, a response is partial, never an exception; what came is the beginning of what would have come."""
    recording, whole = recordings.of("openai_chat", name), fold(name)
    for size in range(0, len(recording.body), max(len(recording.body) // 400, 1)):
        cut = fold_response(recording.body[:size], recording.content_type, 200, True)
        assert cut.unknown_events == ()
        if cut.is_complete:  # only line ends were cut off, or the error of the stream itself is here
            assert cut == whole
        else:
            assert cut.error is not None and cut.error.type == "stream_cut"
        if cut.output:
            for part, full in zip(cut.output[0].parts, whole.output[0].parts, strict=False):
                assert type(part) is type(full)
                if isinstance(part, Text | Reasoning) and isinstance(full, Text | Reasoning):
                    assert full.content.startswith(part.content)


def test_parallel_calls_in_a_stream() -> None:
    """Two calls whose arguments came in pieces, usage in a chunk of its own: whole value."""
    response = fold("sse_parallel_tools")
    calls = [part for part in response.output[0].parts if isinstance(part, ToolCall)]

    assert [(call.name, call.arguments) for call in calls] == [
        ("get_current_weather", {"location": "Seattle, WA"}),
        ("get_current_weather", {"location": "San Francisco, CA"}),
    ]
    assert response.finish_reasons == ("tool_call",)
    assert response.usage == Usage(75, 51, cache_read_tokens=0, reasoning_tokens=0)


def test_an_answer_in_json() -> None:
    """Of Azure, with its filters' verdicts: whole value."""
    response = fold("json_azure")

    assert response == WireResponse(
        output=assistant(Text("3"), finish_reason="stop"),
        finish_reasons=("stop",),
        usage=Usage(11, 203, cache_read_tokens=0, reasoning_tokens=192),
        response_id="chatcmpl-C6EJeKZdEaC0VeeKH3lWwJBjCTcpd",
        response_model="gpt-5-nano-2025-08-07",
        raw_output={"role": "assistant", "annotations": [], "content": "3", "refusal": None},
        stop_reason="stop",
    )


def test_thinking_of_every_provider() -> None:
    """DeepSeek's `reasoning_content`, OpenRouter's `reasoning`, Mistral's list; xAI's count left out of the output."""
    for name in ("json_deepseek_tool", "sse_openrouter_reasoning", "sse_mistral_reasoning", "sse_xai_reasoning"):
        first = fold(name).output[0].parts[0]
        assert isinstance(first, Reasoning) and first.content

    assert fold("sse_xai_reasoning").usage == Usage(291, 222, cache_read_tokens=290, reasoning_tokens=196)


def test_usage_without_include_usage() -> None:
    """Groq says it in `x_groq`, Mistral in the last chunk; where nobody says it, it is not known."""
    assert fold("sse_groq").usage.output_tokens
    assert fold("sse_mistral_tool").usage == Usage(171, 14, cache_read_tokens=128)
    assert fold("sse_parallel_tools").response_id is not None
    assert fold("made_refusal").usage == Usage()


def test_an_error_inside_a_stream() -> None:
    """What came before it stays; the error's own status counts."""
    response = fold("sse_error_in_stream")

    assert response.error == InferenceError("invalid_request_error", "Token limit reached", 400)
    assert response.output[0].parts == (Reasoning("We need to respond to a greeting. The user"),)
    assert response.usage == Usage(43, 10, cache_read_tokens=0, reasoning_tokens=11)


def test_errors() -> None:
    """With a body of each provider's own shape."""
    wrong = fold("json_error_401").error
    assert wrong is not None and (wrong.type, wrong.status_code) == ("invalid_api_key", 401)
    assert fold("json_mistral_error_401").error == InferenceError("authentication_error", "Invalid API Key", 401)
    assert fold("json_error_429").error == InferenceError("rate_limit_error", "Provider returned error", 429)
    page = fold_response(b"<html>busy</html>", "text/html", 503, False)
    assert (page.error, page.is_complete) == (InferenceError("service_unavailable", "<html>busy</html>", 503), True)


def test_a_legacy_function_call() -> None:
    """It has no id; one is made of what it says."""
    call = fold("made_legacy_function").output[0].parts[0]

    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("get_weather", {"city": "Paris"})
    assert call.id.startswith("function-")


def test_several_choices() -> None:
    """One message a choice, each with its own reason; the client's echo is the first."""
    response = fold("made_two_choices")

    assert response.output == (
        Message(Role.ASSISTANT, (Text("Red"),), "stop"),
        Message(Role.ASSISTANT, (Text("Blue"),), "length"),
    )
    assert response.finish_reasons == ("stop", "length")
    assert response.raw_output == {"role": "assistant", "content": "Red"}


def test_refusal_audio_and_filters() -> None:
    """What is no text is told as what it is."""
    sound = hashlib.sha256(bytes(range(6))).hexdigest()

    assert fold("made_refusal").output == assistant(Generic("refusal", "I can't help with that."), finish_reason="stop")
    assert fold("made_audio").output[0].parts == (Text("Hello"), Blob("audio", None, sound, 6))
    assert fold("made_azure_filters").finish_reasons == ("content_filter",)
    assert fold("made_azure_filters").output[0].parts == (Text("Hi"),)


def test_a_stream_without_its_mark_of_the_end() -> None:
    """A reason for every choice is as good, if the connection ended in order."""
    body = recordings.of("openai_chat", "sse_mistral_reasoning").body
    assert b"[DONE]" not in body

    assert fold_response(body, "", 200, False).is_complete
    assert not fold_response(body, "", 200, True).is_complete


def test_what_is_not_known_is_named() -> None:
    """New reasons, parts, keys and events, each once for each time."""
    chunk = {"choices": [{"index": 0, "delta": {"content": [{"type": "scent"}], "aura": 1}, "finish_reason": "bored"}]}
    body = b"data: " + orjson.dumps(chunk) + b'\n\ndata: {"object": "weather"}\n\ndata: ?\n\ndata: [DONE]\n\n'

    assert fold_response(body, "", 200, False).unknown_events == (
        "delta:aura",
        "event:weather",
        "event:malformed message",
        "stop_reason:bored",
        "block:scent",
    )


KEYS = st.sampled_from(
    ["choices", "delta", "message", "index", "content", "tool_calls", "function", "arguments", "name", "id", "usage",
     "error", "finish_reason", "type", "thinking", "audio", "function_call", "reasoning_details", "x_groq"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=5), max_size=4), st.booleans())
def test_no_json_raises(chunks: list[dict[str, object]], is_cut: bool) -> None:
    """Whatever shape the chunks have, streamed or as one document."""
    stream = b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks)
    fold_response(stream, "text/event-stream", 200, is_cut)
    for chunk in chunks:
        fold_response(orjson.dumps(chunk), "application/json", 200, is_cut)

"""Messages responses, folded: recordings in, whole values out."""

from __future__ import annotations

import pytest

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Message, Part, Reasoning, Role, ServerToolCall, ServerToolResult, Text, ToolCall
from spanlore_proxy.wire.anthropic.fold import AnthropicFold, fold_response
from spanlore_proxy.wire.response import WireResponse
from support import recordings

NAMES = recordings.anthropic_names()
STREAMS = [name for name in NAMES if recordings.anthropic(name).is_stream]


def fold(name: str) -> WireResponse:
    recording = recordings.anthropic(name)
    return fold_response(recording.body, recording.content_type, recording.status, False)


def assistant(*parts: Part, finish_reason: str) -> tuple[Message, ...]:
    return (Message(Role.ASSISTANT, parts, finish_reason),)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_any_chunking_gives_the_same_response(name: str, size: int) -> None:
    """A recording folds to one value, in single bytes and whole."""
    recording = recordings.anthropic(name)
    streamed = AnthropicFold(recording.content_type, recording.status)
    for chunk in recording.chunks(size):
        streamed.feed(chunk)

    assert streamed.finish() == fold(name)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_the_recordings_is_unknown(name: str) -> None:
    """Every recorded response is understood and whole."""
    response = fold(name)

    assert response.unknown_events == ()
    assert response.is_complete


@pytest.mark.parametrize("name", NAMES)
def test_the_body_says_what_it_is(name: str) -> None:
    """A wrong or missing Content-Type changes nothing: what a body is, it says itself."""
    recording = recordings.anthropic(name)
    for content_type in ("", "text/plain", "text/event-stream; charset=utf-8"):
        assert fold_response(recording.body, content_type, recording.status, False) == fold(name)


@pytest.mark.parametrize("name", [name for name in NAMES if recordings.anthropic(name).status == 200])
def test_every_cut_gives_a_partial_response(name: str) -> None:
    """Cut anywhere, a response is partial, never an exception; what came is the beginning of what would have come."""
    recording = recordings.anthropic(name)
    whole = fold(name)
    step = max(len(recording.body) // 400, 1)
    for size in range(0, len(recording.body), step):
        cut = fold_response(recording.body[:size], recording.content_type, 200, True)
        if not cut.is_complete:
            assert cut.error is not None and cut.error.type == "stream_cut"
        else:  # the last bytes are white space and line ends, or the error that the stream itself reports
            assert cut == whole
        assert cut.unknown_events == ()
        if name != "sse_spliced_start":  # it begins anew in the middle
            assert_beginning(cut, whole)


def assert_beginning(cut: WireResponse, whole: WireResponse) -> None:
    """Text is a prefix, block by block."""
    if cut.output and whole.output:
        for part, full in zip(cut.output[0].parts, whole.output[0].parts, strict=False):
            assert type(part) is type(full)
            if isinstance(part, Text | Reasoning) and isinstance(full, Text | Reasoning):
                assert full.content.startswith(part.content)


def test_a_message() -> None:
    """A JSON answer, whole value."""
    assert fold("json_message") == WireResponse(
        output=assistant(Text("7"), finish_reason="stop"),
        finish_reasons=("stop",),
        usage=Usage(input_tokens=18, output_tokens=5, cache_read_tokens=0, cache_write_tokens=0),
        response_id="msg_01RBj6rETGWKPitJeH2dnz7y",
        response_model="claude-3-haiku-20240307",
        raw_output={"role": "assistant", "content": [{"type": "text", "text": "7"}]},
        stop_reason="end_turn",
    )


def test_tool_calls_in_a_stream() -> None:
    """Text and two parallel calls, whose arguments came in pieces, whole value."""
    said = "I'll check both the current weather and time in New York simultaneously right away!"
    weather, clock = "toolu_01Mo5Ee5Yb7vrzaxSNS5DVuP", "toolu_01GDAGw1KUdi1DCPPprMKGHR"
    place, zone = {"location": "New York, NY"}, {"timezone": "America/New_York"}
    direct = {"type": "direct"}

    assert fold("sse_tool_arguments") == WireResponse(
        output=assistant(
            Text(said),
            ToolCall(weather, "get_weather", place),
            ToolCall(clock, "get_time", zone),
            finish_reason="tool_call",
        ),
        finish_reasons=("tool_call",),
        usage=Usage(721, 113, cache_read_tokens=0, cache_write_tokens=0, cache_write_1h_tokens=0),
        response_id="msg_01JqiwuyYfmoZBJx1GLkqxLf",
        response_model="claude-sonnet-4-6",
        raw_output={
            "role": "assistant",
            "content": [
                {"type": "text", "text": said},
                {"type": "tool_use", "id": weather, "name": "get_weather", "input": place, "caller": direct},
                {"type": "tool_use", "id": clock, "name": "get_time", "input": zone, "caller": direct},
            ],
        },
        stop_reason="tool_use",
    )


@pytest.mark.parametrize(("name", "calls"), [("sse_parallel_tools", 2), ("json_parallel_tools", 3)])
def test_parallel_calls_without_arguments(name: str, calls: int) -> None:
    """Each call is its own part; no arguments are an empty object, not an empty string."""
    parts = fold(name).output[0].parts

    assert len({part.id for part in parts if isinstance(part, ToolCall)}) == calls
    assert all(isinstance(part, ToolCall) and part.arguments == {} for part in parts)


def test_thinking() -> None:
    """Thinking keeps its text and its signature apart, and its tokens are counted."""
    reasoning, call = fold("sse_thinking_tool_use").output[0].parts

    assert isinstance(reasoning, Reasoning)
    assert reasoning.content.startswith("The user wants me to:\n1. Use the fixed_version tool")
    assert reasoning.signature is not None and reasoning.signature.startswith("EoQDCm0IDhgC")
    assert call == ToolCall("toolu_01825dXWLSoJwCst1qTsiWdb", "fixed_version", {})
    assert fold("sse_thinking_tool_use").usage.reasoning_tokens == 53


@pytest.mark.parametrize("name", ["sse_redacted_thinking", "json_redacted_thinking"])
def test_redacted_thinking(name: str) -> None:
    """Redacted thinking has no text, only its opaque form."""
    reasoning = [part for part in fold(name).output[0].parts if isinstance(part, Reasoning)]

    assert reasoning
    assert all(part.content == "" and part.signature for part in reasoning)


def test_cache_usage() -> None:
    """Input tokens include what was read from and written to the cache; writes know their lifetime."""
    assert fold("sse_cache_write").usage == Usage(1169, 201, cache_read_tokens=0, cache_write_tokens=1165)
    assert fold("sse_cache_read").usage == Usage(1169, 221, cache_read_tokens=1165, cache_write_tokens=0)
    assert fold("made_cache_1h").usage == Usage(25004, 10, 20000, 5000, 4000)


def test_text_outside_the_basic_plane() -> None:
    """Characters of several bytes come through any chunking; the limit is `length`."""
    assert fold("made_cache_1h").output == assistant(Text("Fünf ☃ 😀"), finish_reason="length")


def test_server_tools() -> None:
    """What ran at the provider is not the agent's to run: its own kinds of part, with the wire's block."""
    kinds = [type(part) for part in fold("sse_server_tools").output[0].parts]
    call, result, _ = fold("sse_mcp_tools").output[0].parts

    assert kinds[2:4] == [ServerToolCall, ServerToolResult]
    assert isinstance(call, ServerToolCall) and call.payload["input"] == {"message": "hello world"}
    assert isinstance(result, ServerToolResult) and result.id == call.id


def test_errors() -> None:
    """An error keeps the provider's own type, words and status, and is a whole answer."""
    assert fold("json_error_400").error == InferenceError(
        "invalid_request_error", "prompt is too long: 3333404 tokens > 200000 maximum", 400
    )
    assert fold("json_error_401").error == InferenceError("authentication_error", "invalid x-api-key", 401)
    assert fold("made_error_529") == WireResponse(
        error=InferenceError("overloaded_error", "Overloaded", 529), finish_reasons=("error",)
    )


def test_an_error_inside_a_stream() -> None:
    """What came before the error is kept; the status said 200, so the error has none."""
    response = fold("made_error_in_stream")

    assert response.output == assistant(Text("Let me look"), finish_reason="error")
    assert response.error == InferenceError("overloaded_error", "Overloaded", None)
    assert response.usage.input_tokens == 12


def test_a_token_count() -> None:
    """count_tokens gives usage and no answer."""
    assert fold("json_count_tokens") == WireResponse(usage=Usage(input_tokens=14))


def test_a_refusal() -> None:
    """A refusal is content_filter, with whatever was said."""
    assert fold("sse_refusal").finish_reasons == ("content_filter",)


def test_a_stream_that_begins_anew() -> None:
    """After a fail-over in mid-stream only the second message counts; the same start twice is one."""
    assert fold("sse_spliced_start").output[0].parts[1] == ToolCall(
        "toolu_second", "test-tool", {"value": "Sparkle Day"}
    )
    assert fold("sse_duplicate_start").output == assistant(Text("Hello, World!"), finish_reason="stop")


def test_arguments_that_were_cut() -> None:
    """A call whose arguments are not whole keeps them as they stood."""
    body = recordings.anthropic("sse_tool_arguments").body
    cut = fold_response(body[: body.index(b"New York")], "text/event-stream", 200, True)

    assert isinstance(cut.output[0].parts[-1], Text | ToolCall)
    start = b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
    block = b'{"type":"tool_use","id":"t","name":"Bash","input":{}}}\n\n'
    delta = (
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"a"}}\n\n'
    )
    half = fold_response(start + block + delta, "text/event-stream", 200, True)
    assert half.output == assistant(ToolCall("t", "Bash", '{"a'), finish_reason="error")


def test_what_is_unknown_is_counted() -> None:
    """Unknown events, blocks, deltas and stop reasons are named, once for each time, and nothing else is lost."""
    body = b"".join(
        b"data: " + data + b"\n\n"
        for data in (
            b'{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":1}}}',
            b'{"type":"novelty"}',
            b'{"type":"content_block_start","index":0,"content_block":{"type":"hologram","size":3}}',
            b'{"type":"content_block_delta","index":0,"delta":{"type":"photon_delta"}}',
            b"not json",
            b'{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"hi"}}',
            b'{"type":"message_delta","delta":{"stop_reason":"bored"},"usage":{"output_tokens":"many"}}',
            b'{"type":"message_stop"}',
        )
    )
    response = fold_response(body, "text/event-stream", 200, False)

    assert response.unknown_events == (
        "event:novelty",
        "delta:photon_delta",
        "event:malformed message",
        "block:hologram",
        "stop_reason:bored",
    )
    assert response.output[0].parts[-1] == Text("hi")
    assert response.usage == Usage(input_tokens=1)
    assert response.finish_reasons == ("bored",)


@pytest.mark.parametrize(
    ("body", "status", "is_cut", "error", "is_complete"),
    [
        (b"", None, True, "connection", False),
        (b"", 200, True, "stream_cut", False),
        (b"", 529, False, "overloaded_error", True),
        (b"<html>Bad Gateway</html>", 502, False, "502", True),
        (b"<html>hello</html>", 200, False, "malformed_response", False),
        (b'{"detail":"no credit"}', 402, False, "billing_error", True),
        (b'{"error":{"message":"slow down","code":1}}', 429, False, "rate_limit_error", True),
        (b'{"error":"nope"}', 200, False, "error", True),
        (b"[1]", 200, False, "malformed_response", False),
        (b'{"hello":1}', 200, False, "malformed_response", True),
        (b": keep-alive\n\n", 200, False, "stream_cut", False),
    ],
)
def test_what_gateways_answer(body: bytes, status: int | None, is_cut: bool, error: str, is_complete: bool) -> None:
    """Whatever comes instead of an answer has an error type, and says whether it was all."""
    response = fold_response(body, "", status, is_cut)

    assert response.error is not None
    assert (response.error.type, response.is_complete) == (error, is_complete)
    assert response.output == ()


def test_a_stream_without_its_last_event() -> None:
    """A stop reason and an orderly end are a whole answer; with a broken connection they are not."""
    body = recordings.anthropic("sse_thinking").body
    body = body[: body.index(b"event: message_stop")]

    assert fold_response(body, "text/event-stream", 200, False).is_complete
    cut = fold_response(body, "text/event-stream", 200, True)
    assert (cut.is_complete, cut.finish_reasons) == (False, ("stop",))


def test_a_json_answer_that_was_cut() -> None:
    """Half a JSON answer still gives its text."""
    body = recordings.anthropic("json_message").body
    cut = fold_response(body[: body.index(b'"stop_reason"')], "application/json", 200, True)

    assert cut.output == assistant(Text("7"), finish_reason="error")
    assert (cut.is_complete, cut.response_id) == (False, "msg_01RBj6rETGWKPitJeH2dnz7y")

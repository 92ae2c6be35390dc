"""Gemini responses, folded: recordings in, whole values out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Reasoning, ServerToolCall, ServerToolResult, Text, ToolCall
from spanlore_proxy.wire.gemini.fold import GeminiFold, fold_response
from spanlore_proxy.wire.response import WireResponse
from support import recordings

NAMES = recordings.names_of("gemini")


def fold(name: str) -> WireResponse:
    recording = recordings.of("gemini", name)
    return fold_response(recording.body, recording.content_type, recording.status, False)


def fold_json(document: Any, status: int = 200) -> WireResponse:
    return fold_response(json.dumps(document).encode(), "application/json", status, False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_chunking_gives_the_same_response(name: str, size: int) -> None:
    """A recording folds to one value, in single bytes and whole."""
    recording = recordings.of("gemini", name)
    streamed = GeminiFold(recording.content_type, recording.status)
    for chunk in recording.chunks(size):
        streamed.feed(chunk)

    assert streamed.finish() == fold(name)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_the_recordings_is_unknown(name: str) -> None:
    """Every recorded response is understood and whole, whatever its Content-Type says."""
    recording = recordings.of("gemini", name)
    response = fold(name)

    assert response.unknown_events == ()
    assert response.is_complete
    assert fold_response(recording.body, "", recording.status, False) == response


@pytest.mark.parametrize("name", [name for name in NAMES if recordings.of("gemini", name).status == 200])
def test_every_cut_gives_a_partial_response(name: str) -> None:
    """Cut anywhere, a response is partial, never an exception; what came is the beginning of what would have come."""
    recording = recordings.of("gemini", name)
    whole = fold(name)
    step = max(len(recording.body) // 300, 1)
    for size in range(0, len(recording.body), step):
        cut = fold_response(recording.body[:size], recording.content_type, 200, True)
        assert cut.unknown_events == ()
        if cut.is_complete:  # only the line end after the last chunk is missing
            assert (cut.output, cut.usage) == (whole.output, whole.usage)
        else:
            assert cut.error is not None
        pairs = zip(cut.output[0].parts, whole.output[0].parts, strict=False) if cut.output else ()
        for part, full in pairs:
            if isinstance(part, Text | Reasoning) and isinstance(full, Text | Reasoning):
                assert full.content.startswith(part.content)
            if isinstance(part, ToolCall) and isinstance(full, ToolCall):
                assert part.name == full.name


def test_a_streamed_array_with_a_tool_call() -> None:
    """Without alt=sse the stream is one JSON array; STOP with a call means that the model waits for a tool."""
    response = fold("array_tool_no_id")
    (message,) = response.output

    assert [type(part) for part in message.parts][-1] is ToolCall
    assert response.finish_reasons == ("tool_call",)
    assert response.stop_reason == "STOP"
    assert response.raw_output is not None and response.raw_output["role"] == "assistant"


def test_texts_of_a_stream_are_one_part() -> None:
    """Chunks of text are joined, thoughts and answer apart, and a signature stays with its thought."""
    response = fold("made_code_assist")

    assert response.output[0].parts == (
        Reasoning("**Running the tests**\n\nFirst the tests.", None),
        Text("I will run the tests."),
        ToolCall("", "run_shell_command", {"command": "pytest -q"}),
    )


def test_usage_is_inclusive() -> None:
    """Input includes the cache, output the thoughts; Code Assist's envelope changes nothing."""
    response = fold("made_code_assist")

    assert response.usage == Usage(input_tokens=5200, output_tokens=42, cache_read_tokens=4096, reasoning_tokens=30)
    assert response.response_id == "7d1f0c2a9e334455"
    assert response.response_model == "gemini-2.5-pro"


@pytest.mark.parametrize("name", [name for name in NAMES if b"totalTokenCount" in recordings.of("gemini", name).body])
def test_tokens_equal_the_providers_own_sum(name: str) -> None:
    """Input and output together are the provider's total, with cache, thoughts and tool use."""
    body = recordings.of("gemini", name).body.decode()
    total = int(body.rpartition('"totalTokenCount"')[2].lstrip(": ").partition(",")[0].strip("} \n\r]"))
    usage = fold(name).usage

    assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == total


def test_code_that_runs_at_the_provider() -> None:
    """Executable code and its result are a server tool's call and answer."""
    kinds = [type(part) for part in fold("json_code_execution").output[0].parts]

    assert kinds.count(ServerToolCall) == kinds.count(ServerToolResult) > 0


def test_arguments_that_are_streamed() -> None:
    """Pieces of arguments become one call, also where the stream never says that the call is over."""
    (message,) = fold("sse_streamed_arguments").output
    (call,) = [part for part in message.parts if isinstance(part, ToolCall)]

    assert call.name == "writeItems"
    assert call.arguments["operations"][0] == {
        "action": "add",
        "description": "Fresh red apple",
        "itemid": "apple_001",
        "price": 0.5,
    }


@pytest.mark.parametrize(
    ("name", "reason", "error"),
    [
        ("made_blocked_prompt", "content_filter", "PROHIBITED_CONTENT"),
        ("made_blocked_answer", "content_filter", None),
        ("json_unexpected_tool_call", "error", None),
        ("json_error_404", "error", "NOT_FOUND"),
        ("json_error_429", "error", "RESOURCE_EXHAUSTED"),
        ("made_error_503", "error", "UNAVAILABLE"),
    ],
)
def test_what_goes_wrong(name: str, reason: str, error: str | None) -> None:
    """Blocks are content filters, errors carry Google's own code, in an object or an array of one."""
    response = fold(name)

    assert response.finish_reasons == (reason,)
    assert (response.error.type if response.error else None) == error


def test_an_error_within_a_stream() -> None:
    """What had come stays, and the error is the provider's."""
    response = fold("made_error_in_stream")

    assert response.output[0].parts == (Text("Half of"),)
    assert response.error == InferenceError("INTERNAL", "An internal error has occurred.", 500)


def test_a_token_count() -> None:
    """countTokens' answer is a usage without an answer."""
    response = fold("json_count_tokens")

    assert response.usage.input_tokens is not None
    assert response.output == ()


def test_several_candidates() -> None:
    """Each candidate is a message; the first is what a client echoes."""
    candidates = [
        {"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "STOP"},
        {"index": 0, "content": {"parts": [{"text": "a"}]}, "finishReason": "MAX_TOKENS"},
    ]
    response = fold_json({"candidates": candidates})

    assert [message.parts for message in response.output] == [(Text("a"),), (Text("b"),)]
    assert response.finish_reasons == ("length", "stop")
    assert response.raw_output == {"role": "assistant", "content": [{"text": "a"}]}


def test_unknown_things_are_named() -> None:
    """A part, a reason and a chunk of a kind that this version does not know are counted by name."""
    part = {"candidates": [{"content": {"parts": [{"hologram": {}}]}, "finishReason": "BORED"}]}
    response = fold_json([part, {"surprise": 1}])

    assert sorted(response.unknown_events) == ["event:surprise", "part:hologram", "stop_reason:BORED"]


def test_no_answer_at_all() -> None:
    """No head, a gateway's page, a body that is something else."""
    none = fold_response(b"", "", None, True)
    page = fold_response(b"<html>Bad gateway</html>", "text/html", 502, False)
    other = fold_response(b'{"hello": 1}', "application/json", 200, False)

    assert none.error is not None and (none.error.type, none.is_complete) == ("connection", False)
    assert page.error is not None and (page.error.type, page.is_complete) == ("502", True)
    assert other.error is not None and other.error.type == "malformed_response"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "candidates",
                    "content",
                    "parts",
                    "text",
                    "functionCall",
                    "args",
                    "partialArgs",
                    "jsonPath",
                    "response",
                    "finishReason",
                    "usageMetadata",
                    "promptFeedback",
                    "error",
                    "index",
                    "event_type",
                    "step",
                    "delta",
                    "interaction",
                    "steps",
                    "type",
                    "stringValue",
                    "serverContent",
                    "modelTurn",
                    "willContinue",
                    "input",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(JSON, st.integers(0, 40))
def test_no_document_raises(document: Any, cut: int) -> None:
    """Whatever a body says, whole or cut, as JSON or as an event: the fold gives a value."""
    body = json.dumps(document).encode()
    for data in (body, body[: len(body) - cut], b"data: " + body + b"\n\n", b"data: " + body[: len(body) - cut]):
        response = fold_response(data, "", 200, cut > 0)
        assert response.output is not None

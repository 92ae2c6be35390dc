"""Responses, folded: recordings in, whole values out."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Generic, Message, Part, Reasoning, Role, ServerToolCall, Text, ToolCall
from spanlore_proxy.wire.openai_responses.fold import ResponsesFold, fold_response
from spanlore_proxy.wire.response import WireResponse
from support import recordings

NAMES = recordings.names_of("openai_responses")
STREAMS = [name for name in NAMES if recordings.of("openai_responses", name).is_stream]
FRAMES = [name for name in STREAMS if name not in ("sse_broken_json", "sse_openrouter")]
"""All of whose events are JSON."""


def fold(name: str) -> WireResponse:
    recording = recordings.of("openai_responses", name)
    return fold_response(recording.body, recording.content_type, recording.status, False)


def assistant(*parts: Part, finish_reason: str) -> tuple[Message, ...]:
    return (Message(Role.ASSISTANT, parts, finish_reason),)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_chunking_gives_the_same_response(name: str, size: int) -> None:
    """A recording folds to one value, in single bytes and whole."""
    recording = recordings.of("openai_responses", name)
    streamed = ResponsesFold(recording.content_type, recording.status)
    for chunk in recording.chunks(size):
        streamed.feed(chunk)

    assert streamed.finish() == fold(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_understood(name: str) -> None:
    """Nothing in it is unknown, it is whole, and a wrong Content-Type changes nothing."""
    recording, response = recordings.of("openai_responses", name), fold(name)

    assert (response.unknown_events, response.is_complete) == ((), True)
    for content_type in ("", "text/plain", "text/event-stream; charset=utf-8"):
        assert fold_response(recording.body, content_type, recording.status, False) == response


@pytest.mark.parametrize("name", [name for name in NAMES if recordings.of("openai_responses", name).status == 200])
def test_every_cut_gives_a_partial_response(name: str) -> None:
    """Cut anywhere, a response is partial, never an exception; what came is the beginning of what would have come."""
    recording, whole = recordings.of("openai_responses", name), fold(name)
    for size in range(0, len(recording.body), max(len(recording.body) // 400, 1)):
        cut = fold_response(recording.body[:size], recording.content_type, 200, True)
        assert cut.unknown_events == ()
        if cut.is_complete:  # only line ends were cut off, or the end that the provider announced is here
            assert cut == whole or cut.error is not None
        else:
            assert cut.error is not None and cut.error.type == "stream_cut"
        if cut.output and whole.output:
            for part, full in zip(cut.output[0].parts, whole.output[0].parts, strict=False):
                assert type(part) is type(full)
                if isinstance(part, Text | Reasoning) and isinstance(full, Text | Reasoning):
                    assert full.content.startswith(part.content)


@pytest.mark.parametrize("name", FRAMES)
def test_events_one_by_one(name: str) -> None:
    """As they come over a WebSocket: the same response, and the last one is told."""
    lines = recordings.of("openai_responses", name).body.split(b"\n")
    events = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    streamed = ResponsesFold()
    ended = [streamed.take(orjson.loads(event)) for event in events]

    assert ended[-1] and not ended[0]
    assert streamed.finish() == fold(name)


def test_an_answer_in_json() -> None:
    """Whole value."""
    response = fold("json_message")

    assert response.output == assistant(Text("Hello! How can I assist you today?"), finish_reason="stop")
    assert response.usage == Usage(19, 10, cache_read_tokens=0, reasoning_tokens=0)
    assert response.response_id == "resp_0e8e119d1bc825500069cdf58e00988193ae7bf8faf7d7cbed"
    assert (response.response_model, response.stop_reason) == ("gpt-4o-mini-2024-07-18", "completed")


def test_calls_of_every_kind() -> None:
    """Functions, custom tools, both shells, patches."""
    calls = {
        name: next(part for part in fold(name).output[0].parts if isinstance(part, ToolCall))
        for name in ("sse_tool", "sse_custom_tool", "sse_local_shell", "sse_shell", "sse_apply_patch")
    }

    assert calls["sse_custom_tool"] == ToolCall(
        "call_custom_sql_001", "write_sql", "SELECT * FROM users WHERE age > 25"
    )
    assert calls["sse_local_shell"].arguments["command"] == ["ls", "-a", "~"]
    assert calls["sse_shell"].name == "shell"
    assert calls["sse_apply_patch"].arguments == {"type": "delete_file", "path": "obsolete.txt"}
    assert isinstance(calls["sse_tool"].arguments, dict)
    assert all(fold(name).finish_reasons == ("tool_call",) for name in calls)


def test_thinking_and_tools_of_the_provider() -> None:
    """Encrypted thinking keeps its sealed form; a search is no call of the client's."""
    thought = fold("json_reasoning_tool").output[0].parts[0]

    assert isinstance(thought, Reasoning) and thought.signature
    assert isinstance(fold("json_web_search").output[0].parts[0], ServerToolCall)
    assert fold("json_web_search").finish_reasons == ("stop",)
    assert isinstance(fold("json_compaction").output[0].parts[-1], Generic)


def test_failures() -> None:
    """In the stream, in the body, and by running out of tokens."""
    failed = fold("sse_failed").error
    assert failed is not None and failed.type == "insufficient_quota"
    refused = fold("json_error_400").error
    assert refused is not None and (refused.type, refused.status_code) == ("invalid-argument", 400)
    short = fold("made_incomplete")
    assert (short.finish_reasons, short.stop_reason, short.error) == (("length",), "max_output_tokens", None)
    assert short.usage == Usage(20, 2, cache_read_tokens=16, reasoning_tokens=0)


def test_the_list_at_the_end_may_be_empty() -> None:
    """ChatGPT's backend: the items that came one by one are the answer."""
    call = ToolCall("call_1", "exec_command", {"cmd": "pytest -q"})

    assert fold("made_empty_list").output == assistant(call, finish_reason="tool_call")


def test_the_end_is_what_the_provider_says() -> None:
    """Codex cancels its stream right after it: cut or not, the answer is whole."""
    body = recordings.of("openai_responses", "sse_text").body

    assert fold_response(body, "text/event-stream", 200, True) == fold("sse_text")


def test_a_missing_bracket_is_forgiven() -> None:
    """A real SDK's fixture leaves it out in two events."""
    response = fold("sse_broken_json")

    assert isinstance(response.output[0].parts[0], ToolCall)
    assert response.unknown_events == ()


def test_a_stream_that_begins_anew() -> None:
    """A gateway failed over in the middle: only the second response counts."""
    body = recordings.of("openai_responses", "sse_text").body
    broken_off = body.partition(b"event: response.output_text.done")[0].replace(b"resp_", b"resp_other_")

    assert fold_response(broken_off + body, "text/event-stream", 200, False) == fold("sse_text")


def test_token_counts_and_nonsense() -> None:
    """`/responses/input_tokens` has no answer; a body that is none is malformed."""
    counted = fold_response(b'{"object":"response.input_tokens","input_tokens":11}', "application/json", 200, False)
    odd = fold_response(b'{"a":1}', "application/json", 200, False)

    assert counted == WireResponse(usage=Usage(input_tokens=11))
    assert odd.error == InferenceError("malformed_response", "neither a response nor an error", 200)


def test_what_is_not_known_is_named() -> None:
    """Events of new kinds; those about progress are not needed."""
    events = [
        {"type": "response.dream.delta"},
        {"type": "response.web_search_call.searching"},
        {"type": "response.output_text.annotation.added"},
    ]
    body = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events) + b"data: ?\n\n"

    assert fold_response(body, "text/event-stream", 200, False).unknown_events == (
        "event:response.dream.delta",
        "event:malformed message",
    )


KEYS = st.sampled_from(
    ["type", "response", "output", "item", "output_index", "content", "delta", "content_index", "id", "call_id",
     "usage", "arguments", "error", "status", "role", "summary", "action", "operation", "incomplete_details", "text"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["response.created", "response.completed", "response.output_item.added", "response.output_item.done", "error",
     "response.output_text.delta", "response.function_call_arguments.delta", "message", "reasoning", "function_call",
     "shell_call", "shell_call_output", "image_generation_call", "compaction", "assistant", "output_text"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=6), max_size=4), st.booleans())
def test_no_json_raises(events: list[dict[str, object]], is_cut: bool) -> None:
    """Whatever shape the events have, streamed or as one document."""
    stream = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    fold_response(stream, "text/event-stream", 200, is_cut)
    for event in events:
        fold_response(orjson.dumps(event), "application/json", 200, is_cut)


@pytest.mark.parametrize("name", ["output_audio", "audio"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "cut"])
def test_a_spoken_answer_is_its_words(name: str, is_whole: bool) -> None:
    """By the names of the Realtime API, old and new: none of its events is unknown, and what was said until a cut is
    kept; the sound is not."""
    at = {"output_index": 0, "content_index": 0}
    item = {"type": "message", "role": "assistant", "content": [{"type": name, "transcript": "hello"}]}
    said: list[dict[str, object]] = [
        {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
        {"type": "response.output_item.added", **at, "item": {"type": "message", "role": "assistant", "content": []}},
        {"type": f"response.{name}.delta", **at, "delta": "YWJj"},
        {"type": f"response.{name}_transcript.delta", **at, "delta": "hel"},
        {"type": f"response.{name}_transcript.delta", **at, "delta": "lo"},
        {"type": f"response.{name}.done", **at},
        {"type": f"response.{name}_transcript.done", **at, "transcript": "hello"},
        {"type": "response.output_item.done", **at, "item": item},
        {"type": "response.done", "response": {"id": "resp_1", "status": "completed", "output": [item]}},
    ]
    folding = ResponsesFold()
    for event in said if is_whole else said[:6]:
        folding.take(event)
    response = folding.finish(is_cut=not is_whole)

    assert (response.unknown_events, response.is_complete) == ((), is_whole)
    assert response.output[0].parts == (Text("hello"),)

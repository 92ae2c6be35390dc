"""The Interactions API in the terms of generateContent."""

from __future__ import annotations

from typing import Any

from spanlore.genai.inference import Usage
from spanlore.genai.messages import ServerToolCall, ServerToolResult, Text, ToolCall
from spanlore_proxy.wire.gemini.fold import fold_response
from spanlore_proxy.wire.gemini.interactions import InteractionStream, generate_request, is_interaction, step_parts
from spanlore_proxy.wire.gemini.parts import decode_parts
from support import recordings


def test_a_stream_that_asks_for_a_tool() -> None:
    """Steps become parts, arguments are joined, usage is inclusive."""
    recording = recordings.of("gemini", "sse_interaction_tool")
    response = fold_response(recording.body, recording.content_type, 200, False)

    assert response.output[0].parts == (ToolCall("61nzpsv4", "getWeather", {"location": "San Francisco"}),)
    assert response.finish_reasons == ("tool_call",)
    assert response.usage == Usage(53, 80, 0, None, None, 65)
    assert response.response_model == "gemini-2.5-flash"


def test_a_whole_interaction() -> None:
    """Its last step is the answer."""
    response = fold_response(recordings.of("gemini", "json_interaction").body, "application/json", 200, False)

    assert isinstance(response.output[0].parts[-1], Text)
    assert response.usage.output_tokens == 19 + 32


def test_steps_of_the_providers_own_tools() -> None:
    """A search is a server tool's call and answer."""
    steps = [{"type": "google_search_call", "arguments": {}}, {"type": "google_search_result", "result": []}]
    parts = decode_parts([part for step in steps for part in step_parts(step)])

    assert [type(part) for part in parts] == [ServerToolCall, ServerToolResult]


def test_a_history_of_steps() -> None:
    """Steps are told to their side; neighbours of one side are one content."""
    request = generate_request(
        {
            "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "hi"}]},
                {"type": "thought", "summary": []},
                {"type": "function_call", "id": "1", "name": "f", "arguments": {}},
                {"type": "function_result", "call_id": "1", "name": "f", "result": "ok"},
            ],
            "tools": [{"type": "function", "name": "f"}, {"type": "google_search"}],
        }
    )

    assert [content["role"] for content in request["contents"]] == ["user", "model", "user"]
    assert [list(tool) for tool in request["tools"]] == [["functionDeclarations"], ["google_search"]]


def test_turns_with_roles() -> None:
    """Input may be contents with a role, too."""
    contents = generate_request({"input": [{"role": "user", "content": "a"}, {"role": "model", "content": "b"}]})

    assert contents["contents"] == [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "b"}]},
    ]


def test_what_is_not_known_is_named() -> None:
    """Events and deltas."""
    stream = InteractionStream()
    events: list[dict[str, Any]] = [{"event_type": "step.dance"}, {"event_type": "step.delta", "delta": {"type": "x"}}]
    for event in events:
        assert is_interaction(event)
        stream.chunk(event)

    assert stream.unknown == ["event:step.dance", "delta:x"]

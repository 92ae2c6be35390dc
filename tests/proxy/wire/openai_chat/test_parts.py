"""Chat messages, decoded."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from spanlore.genai.messages import (
    Blob,
    Generic,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Uri,
)
from spanlore_proxy.wire.openai_chat.parts import arguments_of, decode_message, decode_part, decode_tools
from spanlore_proxy.wire.openai_chat.request import read_document

SHA = hashlib.sha256(b"abc").hexdigest()


def test_an_answer_with_everything() -> None:
    """Thinking, text, refusal and calls, in this order."""
    raw = {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "Well.",
        "refusal": "no",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "raw"}},
        ],
    }

    assert decode_message(raw) == Message(
        Role.ASSISTANT,
        (
            Reasoning("hm"),
            Text("Well."),
            Generic("refusal", "no"),
            ToolCall("c1", "f", {"a": 1}),
            ToolCall("c2", "g", "raw"),
        ),
    )


def test_a_tools_answer() -> None:
    """A message of its own; parts that are no text are marks."""
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x"}}]

    assert decode_message({"role": "tool", "tool_call_id": "c1", "content": parts}) == Message(
        Role.TOOL, (ToolResult("c1", "see\n[image]"),)
    )
    assert decode_message({"role": "function", "name": "f", "content": "2"}).parts == (ToolResult("f", "2"),)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("text", Text("text")),
        ({"type": "text", "text": "t"}, Text("t")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}, Blob("image", "image/png", SHA, 3)),
        ({"type": "image_url", "image_url": "https://x"}, Uri("image", "https://x")),
        ({"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}}, Blob("audio", "audio/wav", SHA, 3)),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,YWJj"}},
            Blob("document", "application/pdf", SHA, 3),
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, Uri("document", "file:file-1")),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, Reasoning("hm")),
        ({"type": "refusal", "refusal": "no"}, Generic("refusal", "no")),
        ({"type": "new", "x": 1}, Generic("new", {"type": "new", "x": 1})),
        (7, Generic("part", 7)),
    ],
)
def test_parts(part: Any, expected: Part) -> None:
    """Media by hash and size; what is not known is kept as it came."""
    assert decode_part(part) == expected


def test_reasoning_details_are_said_once() -> None:
    """OpenRouter sends the text twice, and a signature or an encrypted form with it."""
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]

    assert decode_message({"role": "assistant", "reasoning": "hm", "reasoning_details": details}).parts == (
        Reasoning("hm", "s"),
    )
    sealed = [{"type": "reasoning.encrypted", "data": "e"}]
    assert decode_message({"role": "assistant", "reasoning_details": sealed}).parts == (Reasoning("", "e"),)


def test_tools() -> None:
    """Functions, custom tools, legacy functions, and tools of the provider."""
    request = read_document(
        {
            "messages": [],
            "tools": [
                {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
                {"type": "custom", "custom": {"name": "g", "format": {"type": "text"}}},
                {"type": "web_search", "depth": 1},
            ],
        }
    )

    assert decode_tools(request) == (
        ToolDefinition("f", "d", {"type": "object"}),
        ToolDefinition("g", "", {"type": "text"}, "custom"),
        ToolDefinition("web_search", "", {"depth": 1}, "web_search"),
    )
    assert decode_tools(read_document({"messages": [], "functions": [{"name": "f"}]})) == (ToolDefinition("f"),)


@pytest.mark.parametrize(("text", "expected"), [("", {}), ('{"a":1}', {"a": 1}), ('{"a', '{"a'), ({"a": 1}, {"a": 1})])
def test_arguments_that_do_not_parse_stay_as_they_are(text: Any, expected: Any) -> None:
    """Cut, or the model erred."""
    assert arguments_of(text) == expected

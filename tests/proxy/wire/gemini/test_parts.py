"""Gemini parts → message parts."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.messages import (
    Blob,
    Generic,
    Message,
    Part,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
    Uri,
)
from spanlore_proxy.wire.gemini.parts import (
    decode_message,
    decode_part,
    decode_parts,
    raw_message,
    raw_part,
    result_text,
    unknown_kinds,
)


@pytest.mark.parametrize(
    ("part", "decoded"),
    [
        ({"text": "a"}, Text("a")),
        ({"text": "hm", "thought": True, "thoughtSignature": "s"}, Reasoning("hm", "s")),
        ({"text": "", "thoughtSignature": "s"}, Reasoning("", "s")),
        ({"functionCall": {"name": "f"}, "id": "1"}, ToolCall("1", "f", {})),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a"}}, Uri("video", "gs://a")),
        ({"executableCode": {"code": "1"}}, ServerToolCall(None, "code_execution", {"code": "1"})),
        ({"toolCall": {"toolType": "X", "id": "3"}}, ServerToolCall("3", "X", {"toolType": "X", "id": "3"})),
        ({"codeExecutionResult": {"output": "1"}}, ServerToolResult(None, {"output": "1"})),
        ({"hologram": 1}, Generic("hologram", {"hologram": 1})),
        (7, Generic("part", 7)),
    ],
)
def test_kinds(part: Any, decoded: Part) -> None:
    """Every kind of part has its own form; an unknown one is kept."""
    assert decode_part(part) == decoded


def test_media_is_a_hash() -> None:
    """Inline bytes are not kept."""
    blob = decode_part({"inlineData": {"mimeType": "image/png", "data": "YWJj"}})

    assert isinstance(blob, Blob)
    assert (blob.modality, blob.mime_type, blob.size_bytes) == ("image", "image/png", 3)


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "done"}, "done", None),
        ({"error": "no such file"}, "no such file", True),
        ({"result": "ok"}, "ok", None),
        ({"a": 1, "b": "x"}, '{"a":1,"b":"x"}', None),
        ({"output": "x", "error": "(none)"}, '{"error":"(none)","output":"x"}', None),
        ({"output": {"lines": 3}}, '{"output":{"lines":3}}', None),
        (None, "", None),
    ],
)
def test_results(response: Any, text: str, is_error: bool | None) -> None:
    """A result is its only text, else its JSON; `error` in place of `output` flags a failure, its absence nothing."""
    part = {"functionResponse": {"name": "f", "response": response}, "call_id": "1"}

    assert decode_part(part) == ToolResult("1", text, is_error)


def test_media_in_a_result() -> None:
    """Files that a tool returns appear as marks."""
    parts = [{"inlineData": {"mimeType": "image/png", "data": ""}}]
    result = decode_part({"functionResponse": {"response": {"output": "see"}, "parts": parts}})

    assert isinstance(result, ToolResult) and result.response == "see\n[image]"


@pytest.mark.parametrize(
    ("role", "expected"),
    [("model", Role.ASSISTANT), ("user", Role.USER), (None, Role.USER), ("function", Role.USER), ("robot", Role.OTHER)],
)
def test_roles(role: str | None, expected: Role) -> None:
    """The model is the assistant; results stay with the user."""
    content = {"parts": [{"text": "a"}], **({"role": role} if role else {})}

    assert decode_message(raw_message(content)) == Message(expected, (Text("a"),))


def test_empty_texts_say_nothing() -> None:
    """They are left out."""
    assert decode_parts([{"text": ""}, {"text": "a"}]) == (Text("a"),)


def test_names_are_camel_case() -> None:
    """Snake case is the same; a bare string is a text."""
    assert raw_part({"inline_data": 1}) == {"inlineData": 1}
    assert raw_part("a") == {"text": "a"}
    assert unknown_kinds({"text": "a", "thought": True, "new": 1}) == ["part:new"]


def test_a_result_too_deep_to_write() -> None:
    """It is named instead."""
    deep: Any = "x"
    for _ in range(400):
        deep = {"a": deep}

    assert result_text(deep) == "[nested too deep]"

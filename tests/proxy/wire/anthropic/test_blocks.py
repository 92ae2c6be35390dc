"""Content blocks and message parts."""

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
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Uri,
)
from spanlore_proxy.wire.anthropic.assembly import BlockAssembly, implied_start
from spanlore_proxy.wire.anthropic.blocks import (
    decode_block,
    decode_content,
    decode_message,
    decode_system,
    decode_tools,
    is_known_block,
)
from spanlore_proxy.wire.anthropic.digest import message_digest
from spanlore_proxy.wire.anthropic.request import parse_request
from support import recordings

TEXT = {"type": "text", "text": "hi"}
CALL = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "hi", "citations": None}, Text("hi")),
        ({"type": "thinking", "thinking": "hm", "signature": "sig"}, Reasoning("hm", "sig")),
        ({"type": "redacted_thinking", "data": "opaque"}, Reasoning("", "opaque")),
        ({"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": 1}}, ToolCall("t", "Bash", {"a": 1})),
        ({"type": "tool_result", "tool_use_id": "t", "content": "out"}, ToolResult("t", "out")),
        ({"type": "tool_result", "tool_use_id": "t", "content": "out", "is_error": True}, ToolResult("t", "out", True)),
        ({"type": "tool_result", "tool_use_id": "t"}, ToolResult("t", "")),
        (
            {
                "type": "tool_result",
                "tool_use_id": "t",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "image", "source": {}},
                    {"type": "tool_reference", "tool_name": "Grep"},
                ],
            },
            ToolResult("t", "a\n[image]\n[tool_reference: Grep]"),
        ),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            Blob("image", "image/png", hashlib.sha256(b"hi").hexdigest(), 2),
        ),
        ({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}, Uri("image", "https://x/y.png")),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, Uri("document", "file:file_1")),
        ({"type": "document", "source": {"type": "text", "data": "plain"}}, Text("plain")),
        (CALL, ServerToolCall("s", "web_search", CALL)),
        (RESULT, ServerToolResult("s", RESULT)),
        ({"type": "hologram", "size": 3}, Generic("hologram", {"type": "hologram", "size": 3})),
        ({"type": "image"}, Generic("image", {"type": "image"})),
        (7, Generic("block", 7)),
    ],
)
def test_blocks(block: Any, part: Part) -> None:
    """Every block has its part; what has none is kept as it came."""
    assert decode_block(block) == part


def test_messages() -> None:
    """Roles stay, tool results stay with the user, strings and lists read alike, empty text is left out."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "out"}

    assert decode_message({"role": "user", "content": "hi"}) == Message(Role.USER, (Text("hi"),))
    assert decode_message({"role": "user", "content": [TEXT]}) == Message(Role.USER, (Text("hi"),))
    assert decode_message({"role": "user", "content": [result, {"type": "text", "text": ""}]}) == Message(
        Role.USER, (ToolResult("t", "out"),)
    )
    assert decode_message({"role": "system", "content": "env"}) == Message(Role.SYSTEM, (Text("env"),))
    assert decode_message({"role": "critic"}) == Message(Role.OTHER, ())
    assert decode_message({"role": ["user"], "content": 7}) == Message(Role.OTHER, (Generic("content", 7),))


def test_a_recorded_image() -> None:
    """An inline image is its hash and size, not its bytes."""
    request = parse_request(recordings.anthropic_request("sse_image_input"))
    image, text = decode_message(request.raw_messages[0]).parts

    assert isinstance(image, Blob)
    assert (image.modality, image.mime_type, image.size_bytes) == ("image", "image/png", 149)
    assert text == Text("Describe image in three words")


def test_system_and_tools() -> None:
    """The system prompt's blocks, and the tools with their schema or their settings."""
    body = b"""{"messages": [], "system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}},
                  {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, 7]}"""
    request = parse_request(body)

    assert decode_system(request) == (Text("a"),)
    assert decode_tools(request) == (
        ToolDefinition("Bash", "runs", {"type": "object"}),
        ToolDefinition("web_search", "", {"max_uses": 5}, "web_search_20250305"),
    )


def test_known_blocks() -> None:
    """Results of server tools are known by their pattern; the rest by name."""
    assert is_known_block("brand_new_tool_result")
    assert is_known_block("compaction")
    assert not is_known_block("hologram")
    assert not is_known_block(None)


def test_types_of_a_wrong_type() -> None:
    """A `type` that is no text is an unknown block's, whatever else it is."""
    wrong: list[Any] = [[], {}, None, 1]
    for type_ in wrong:
        assert not is_known_block(type_)
        assert decode_content([{"type": type_}]) == (Generic("block", {"type": type_}),)
        message_digest({"role": "user", "content": [{"type": type_}]})
        assert not BlockAssembly({"type": "text"}).add({"type": type_})
        assert implied_start({"type": type_}) == {"type": "text"}

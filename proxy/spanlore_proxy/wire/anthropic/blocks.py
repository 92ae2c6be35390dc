"""Content blocks ↔ message parts.

A block that has no part of its own becomes `Generic` and is kept as it came. Inline media is replaced by its hash and
size. Empty text blocks carry nothing and are left out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Any, Final

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
from spanlore_proxy.wire.request import WireRequest

SERVER_TOOL_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Tools that run at the provider; their results end in `_tool_result`."""

_PLAIN: Final = frozenset(
    {"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", *SERVER_TOOL_CALLS}
)
_KEPT: Final = frozenset(
    {"compaction", "fallback", "container_upload", "search_result", "tool_reference", "tool_addition"}
)
"""Known, but with no part of their own."""


def is_known_block(type_: Any) -> bool:
    """Whether this version knows the block type. New server tools follow the pattern `…_tool_result`."""
    return isinstance(type_, str) and (type_ in _PLAIN or type_ in _KEPT or type_.endswith("_tool_result"))


def decode_message(raw: dict[str, Any]) -> Message:
    """One message of a request. Tool results stay in the user's message; `system` messages keep their role."""
    role = raw.get("role")
    return Message(
        role=Role(role) if isinstance(role, str) and role in Role else Role.OTHER,
        parts=decode_content(raw.get("content")),
    )


def decode_content(content: Any) -> tuple[Part, ...]:
    """The parts of a message's or system prompt's content, a string or a list of blocks."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        return () if content is None else (Generic("content", content),)
    parts = (decode_block(block) for block in content)
    return tuple(part for part in parts if part != Text(""))


def decode_system(request: WireRequest) -> tuple[Part, ...]:
    """The system prompt's blocks."""
    return decode_content(request.raw_system)


def decode_tools(request: WireRequest) -> tuple[ToolDefinition, ...]:
    """The tools on offer. A server tool has no schema; its settings stand in `parameters`."""
    return tuple(_tool(raw) for raw in request.raw_tools if isinstance(raw, dict))


def decode_block(block: Any) -> Part:
    """One content block."""
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, dict):
        return Generic("block", block)
    type_ = block.get("type")
    match type_:
        case "text":
            return Text(_text(block.get("text")))
        case "thinking":
            signature = block.get("signature")
            return Reasoning(_text(block.get("thinking")), signature if isinstance(signature, str) else None)
        case "redacted_thinking":
            return Reasoning("", _text(block.get("data")))
        case "tool_use":
            return ToolCall(_text(block.get("id")), _text(block.get("name")), block.get("input"))
        case "tool_result":
            return _tool_result(block)
        case "image" | "document":
            return _media(block, type_)
        case "server_tool_use" | "mcp_tool_use":
            return ServerToolCall(_text(block.get("id")) or None, _text(block.get("name")), block)
    if isinstance(type_, str) and type_.endswith("_tool_result"):
        return ServerToolResult(_text(block.get("tool_use_id")) or None, block)
    return Generic(_text(type_) or "block", block)


def result_text(content: Any) -> str:
    """A tool result's content as text; blocks that are not text appear as `[image]`-like marks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_marks(content))


def _marks(content: Iterable[Any]) -> Iterable[str]:
    for block in content:
        if not isinstance(block, dict):
            yield _text(block)
        elif block.get("type") == "text":
            yield _text(block.get("text"))
        elif block.get("type") == "tool_reference":
            yield f"[tool_reference: {_text(block.get('tool_name'))}]"
        else:
            yield f"[{_text(block.get('type')) or 'block'}]"


def _tool_result(block: dict[str, Any]) -> ToolResult:
    flag = block.get("is_error")
    return ToolResult(
        id=_text(block.get("tool_use_id")),
        response=result_text(block.get("content")),
        is_error=flag if isinstance(flag, bool) else None,
    )


def _media(block: dict[str, Any], modality: str) -> Part:
    source = block.get("source")
    if not isinstance(source, dict):
        return Generic(modality, block)
    mime_type = source.get("media_type")
    match source.get("type"):
        case "base64":
            data = _bytes(source.get("data"))
            return Blob(
                modality=modality,
                mime_type=mime_type if isinstance(mime_type, str) else None,
                sha256=hashlib.sha256(data).hexdigest(),
                size_bytes=len(data),
            )
        case "url":
            return Uri(modality, _text(source.get("url")))
        case "file":
            return Uri(modality, f"file:{_text(source.get('file_id'))}")
        case "text":
            return Text(_text(source.get("data")))
        case _:
            return Generic(modality, block)


def _bytes(data: Any) -> bytes:
    try:
        return base64.b64decode(_text(data))
    except (binascii.Error, ValueError):
        return _text(data).encode("utf-8", "replace")


def _tool(raw: dict[str, Any]) -> ToolDefinition:
    type_ = raw.get("type")
    is_ours = type_ is None or type_ == "custom"
    settings = {key: value for key, value in raw.items() if key not in ("type", "name", "cache_control")}
    return ToolDefinition(
        name=_text(raw.get("name")),
        description=_text(raw.get("description")),
        parameters=raw.get("input_schema") if is_ours else settings or None,
        type="function" if is_ours else _text(type_),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

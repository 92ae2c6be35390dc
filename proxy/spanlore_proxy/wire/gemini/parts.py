"""Gemini parts ↔ message parts.

A part is an object with one key that says what it is (`text`, `functionCall`, `inlineData` …) and others beside it
(`thought`, `thoughtSignature`). Inline media is replaced by its hash and size. A part without a kind of its own becomes
`Generic` and is kept as it came.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
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
    canonical_json,
)
from spanlore_proxy.wire.gemini.calls import CALL_ID, own_id
from spanlore_proxy.wire.gemini.fields import camel, field, list_field, string_field
from spanlore_proxy.wire.request import WireRequest

ROLES: Final = {"model": "assistant", "user": "user", "function": "user", "tool": "user", "system": "system"}
"""Gemini's roles → ours. Older clients send results under `function`."""

KINDS: Final = frozenset(
    {
        "text",
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
"""Keys that say what a part is."""
_BESIDE: Final = frozenset(
    {"thought", "thoughtSignature", "videoMetadata", "partMetadata", "mediaResolution", "id", CALL_ID}
)
_RESULT_KEYS: Final = ("output", "result", "content", "return_value", "error")
"""Keys under which clients put a result's text. The API's documentation names `output` and `error`."""


def raw_message(content: Any) -> dict[str, Any]:
    """A `Content` as `WireRequest.raw_messages` holds it: our role, and the parts, in camel case, under `content`."""
    role = content.get("role") if isinstance(content, dict) else None
    parts = list_field(content, "parts") if isinstance(content, dict) else [content]
    return {
        "role": "user" if role is None else ROLES.get(role, "other") if isinstance(role, str) else "other",
        "content": [raw_part(part) for part in parts if part is not None],
    }


def raw_part(part: Any) -> dict[str, Any]:
    """A part with its keys in camel case; a bare string is a text."""
    if isinstance(part, dict):
        return {camel(str(key)): value for key, value in part.items()}
    return {"text": part} if isinstance(part, str) else {"value": part}


def unknown_kinds(part: dict[str, Any]) -> list[str]:
    """`part:KEY` for each key of a part that this version does not know."""
    return [f"part:{key}" for key in part if key not in KINDS and key not in _BESIDE]


def decode_message(raw: dict[str, Any]) -> Message:
    """One message of `WireRequest.raw_messages`. Tool results stay in the user's message."""
    role = raw.get("role")
    return Message(Role(role) if isinstance(role, str) and role in Role else Role.OTHER, decode_parts(raw["content"]))


def decode_parts(parts: list[Any]) -> tuple[Part, ...]:
    """The message parts; an empty text carries nothing and is left out, unless it holds a signature."""
    decoded = (decode_part(part) for part in parts)
    return tuple(part for part in decoded if part != Text(""))


def decode_system(request: WireRequest) -> tuple[Part, ...]:
    """The system instruction's parts."""
    return decode_parts(request.raw_system) if isinstance(request.raw_system, list) else ()


def decode_tools(request: WireRequest) -> tuple[ToolDefinition, ...]:
    """The functions on offer, and the provider's own tools by name with their settings."""
    return tuple(_tool(raw) for raw in request.raw_tools if isinstance(raw, dict))


def decode_part(part: Any) -> Part:
    """One part in camel case."""
    if not isinstance(part, dict):
        return Generic("part", part)
    signature = string_field(part, "thoughtSignature") or None
    call, response = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, dict):
        args = call.get("args")
        return ToolCall(
            string_field(part, "id") or own_id(call), string_field(call, "name"), {} if args is None else args
        )
    if isinstance(response, dict):
        return _result(part, response)
    text = part.get("text")
    if isinstance(text, str):
        is_thought = part.get("thought") is True or (not text and signature is not None)
        return Reasoning(text, signature) if is_thought else Text(text)
    return _other(part)


def _other(part: dict[str, Any]) -> Part:
    kind = next((key for key in part if key in KINDS), "")
    value = part.get(kind)
    match kind:
        case "inlineData":
            return _blob(value)
        case "fileData":
            mime_type = string_field(value, "mimeType")
            return Uri(_modality(mime_type), string_field(value, "fileUri"))
        case "executableCode":
            return ServerToolCall(string_field(value, "id") or None, "code_execution", value)
        case "toolCall":
            return ServerToolCall(string_field(value, "id") or None, string_field(value, "toolType") or "tool", value)
        case "codeExecutionResult" | "toolResponse":
            return ServerToolResult(string_field(value, "id") or None, value)
    return Generic(next((key for key in part if key not in _BESIDE), "part"), part)


def result_text(response: Any) -> str:
    """A functionResponse's `response` as text: its only value where that is text, else its JSON."""
    if isinstance(response, dict) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in _RESULT_KEYS and isinstance(value, str):
            return value
    try:
        return "" if response is None else canonical_json(response)
    except TypeError:
        return "[nested too deep]"


def _result(part: dict[str, Any], response: dict[str, Any]) -> ToolResult:
    content = response.get("response")
    media = [f"[{_modality(_mime_type(item))}]" for item in list_field(response, "parts")]
    is_error = isinstance(content, dict) and bool(content.get("error")) and "output" not in content
    return ToolResult(
        id=string_field(part, CALL_ID),
        response="\n".join([result_text(content), *media]),
        is_error=True if is_error else None,
    )


def _mime_type(item: Any) -> str:
    return string_field(field(item, "inlineData") or field(item, "fileData"), "mimeType")


def _blob(value: Any) -> Part:
    mime_type = string_field(value, "mimeType")
    text = string_field(value, "data")
    try:
        data = base64.b64decode(text)
    except (binascii.Error, ValueError):
        data = text.encode("utf-8", "replace")
    return Blob(_modality(mime_type), mime_type or None, hashlib.sha256(data).hexdigest(), len(data))


def _modality(mime_type: str) -> str:
    kind = mime_type.partition("/")[0].lower()
    return kind if kind in ("image", "audio", "video") else "document"


def _tool(raw: dict[str, Any]) -> ToolDefinition:
    if raw.get("type") != "function":
        return ToolDefinition(str(raw.get("name")), "", raw.get("settings") or None, str(raw.get("name")))
    declaration = raw.get("declaration")
    return ToolDefinition(
        name=string_field(declaration, "name"),
        description=string_field(declaration, "description"),
        parameters=field(declaration, "parametersJsonSchema") or field(declaration, "parameters"),
    )

"""Messages and their parts, in the shapes of the OpenTelemetry GenAI message JSON schemas.

Source: semantic-conventions-genai, `gen-ai-input-messages.json` and `gen-ai-output-messages.json`. Roles are
system, user, assistant, tool, other; part types as below. `additionalProperties` is true everywhere in the schema.
Values are frozen; JSON goes in and out through `message_to_json` and `message_from_json`, exact inverses for what
this module can express. A wire block that has no part of its own becomes `Generic`, so nothing is lost.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, assert_never

import orjson


class Role(StrEnum):
    """Who a message is from."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    content: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's thinking. `content` is '' where the provider sent only an opaque or redacted form."""

    content: str
    signature: str | None = None
    """Opaque proof or encrypted form the provider wants echoed; not mined, not shown."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool. `arguments` is the parsed JSON, or the raw string when it does not parse."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the client answered to a tool call (`tool_call_response` in the schema)."""

    id: str
    response: str
    """Text of the result; blocks that are not text appear as `[image]`-like marks."""
    is_error: bool | None = None
    """The wire's own flag; None where the dialect has none or the client left it out."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Image, audio, video or document, inline. The bytes are not kept, only their hash and size."""

    modality: str
    mime_type: str | None
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Uri:
    """Image, audio, video or document by reference."""

    modality: str
    uri: str


@dataclass(frozen=True, slots=True)
class ServerToolCall:
    """A tool that ran at the provider (web search, code execution). `payload` is the wire block."""

    id: str | None
    name: str
    payload: Any


@dataclass(frozen=True, slots=True)
class ServerToolResult:
    """The provider's own answer to a `ServerToolCall`."""

    id: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class Generic:
    """A block of a type this version does not know, kept as it came."""

    type: str
    payload: Any = field(default=None)


type Part = Text | Reasoning | ToolCall | ToolResult | Blob | Uri | ServerToolCall | ServerToolResult | Generic


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `finish_reason` only on output messages (stop, length, content_filter, tool_call, error)."""

    role: Role
    parts: tuple[Part, ...]
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that was offered to the model."""

    name: str
    description: str = ""
    parameters: Any = None
    type: str = "function"


def part_to_json(part: Part) -> dict[str, Any]:
    """The part as a JSON object of the GenAI schema."""
    match part:
        case Text(content):
            return {"type": "text", "content": content}
        case Reasoning(content, signature):
            out: dict[str, Any] = {"type": "reasoning", "content": content}
            return out if signature is None else {**out, "signature": signature}
        case ToolCall(id_, name, arguments):
            return {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}
        case ToolResult(id_, response, is_error):
            out = {"type": "tool_call_response", "id": id_, "response": response}
            return out if is_error is None else {**out, "is_error": is_error}
        case Blob(modality, mime_type, sha256, size_bytes):
            return {
                "type": "blob",
                "modality": modality,
                "mime_type": mime_type,
                "sha256": sha256,
                "size_bytes": size_bytes,
            }
        case Uri(modality, uri):
            return {"type": "uri", "modality": modality, "uri": uri}
        case ServerToolCall(id_, name, payload):
            return {"type": "server_tool_call", "id": id_, "name": name, "server_tool_call": payload}
        case ServerToolResult(id_, payload):
            return {"type": "server_tool_call_response", "id": id_, "server_tool_call_response": payload}
        case Generic(type_, payload):
            return {"type": type_, "payload": payload}
        case _:
            assert_never(part)


def part_from_json(data: dict[str, Any]) -> Part:
    """The part that `part_to_json` wrote; foreign or newer shapes become `Generic`. Accepts `result` for `response`."""
    get = data.get
    match get("type"):
        case "text":
            return Text(str(get("content", "")))
        case "reasoning":
            return Reasoning(str(get("content", "")), get("signature"))
        case "tool_call":
            return ToolCall(str(get("id") or ""), str(get("name", "")), get("arguments"))
        case "tool_call_response":
            return ToolResult(str(get("id") or ""), _text(get("response", get("result", ""))), get("is_error"))
        case "blob":
            return Blob(
                str(get("modality", "")),
                get("mime_type"),
                str(get("sha256", "")),
                int(get("size_bytes") or 0),
            )
        case "uri":
            return Uri(str(get("modality", "")), str(get("uri", "")))
        case "server_tool_call":
            return ServerToolCall(get("id"), str(get("name", "")), get("server_tool_call"))
        case "server_tool_call_response":
            return ServerToolResult(get("id"), get("server_tool_call_response"))
        case other:
            return Generic(str(other), get("payload", data))


def message_to_json(message: Message) -> dict[str, Any]:
    """The message as a JSON object of the GenAI schema."""
    out: dict[str, Any] = {
        "role": message.role.value,
        "parts": [part_to_json(part) for part in message.parts],
    }
    if message.finish_reason is not None:
        out["finish_reason"] = message.finish_reason
    return out


def message_from_json(data: dict[str, Any]) -> Message:
    """The message that `message_to_json` wrote; an unknown role becomes `Role.OTHER`."""
    role = data.get("role", "other")
    return Message(
        role=Role(role) if role in Role else Role.OTHER,
        parts=tuple(part_from_json(part) for part in data.get("parts", ()) if isinstance(part, dict)),
        finish_reason=data.get("finish_reason"),
    )


def part_body(part: Part) -> str:
    """The text that stands for the part in the content table.

    A tool call's body is its arguments and a tool result's body is its response, so that the part of a chat span and
    the attribute of an execute_tool span are one content row.
    """
    match part:
        case Text(content) | Reasoning(content, _):
            return content
        case ToolCall(_, _, arguments):
            return canonical_json(arguments)
        case ToolResult(_, response, _):
            return response
        case _:
            return canonical_json(part_to_json(part))


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space; a str stays as it is."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def content_hash(body: str) -> str:
    """32 hex digits that address a content row: BLAKE2b-128 of the UTF-8 bytes (lone surrogates replaced)."""
    return hashlib.blake2b(body.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)

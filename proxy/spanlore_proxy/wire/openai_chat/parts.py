"""Chat messages ↔ message parts.

A content part that has no part of its own becomes `Generic` and is kept as it came. Inline media is replaced by its
hash and size. Empty texts carry nothing and are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.messages import (
    Generic,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    canonical_json,
)
from spanlore_proxy.wire.media import from_base64, from_url
from spanlore_proxy.wire.request import WireRequest

ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
REASONING_KEYS: Final = ("reasoning_content", "reasoning", "reasoning_text")
"""DeepSeek, Qwen, z.ai, xAI; OpenRouter, Groq; Copilot."""
_TEXT_TYPES: Final = ("text", "input_text", "output_text")
_MEDIA: Final = {
    "image_url": "image",
    "video_url": "video",
    "audio_url": "audio",
    "document_url": "document",
    "file_url": "document",
}
KNOWN_PARTS: Final = frozenset(
    {*_TEXT_TYPES, *_MEDIA, "input_audio", "file", "refusal", "thinking", "reference", "video", "image"}
)
"""Types of content parts that this version knows; `thinking` and `reference` are Mistral's."""


def decode_message(raw: dict[str, Any]) -> Message:
    """One message of a request, or a choice's message. A tool's answer is a message of its own, of role tool."""
    role = raw.get("role")
    known = ROLES.get(role, Role.OTHER) if isinstance(role, str) else Role.OTHER
    if known is Role.TOOL:
        id_ = string(raw.get("tool_call_id")) or string(raw.get("name"))
        return Message(known, (ToolResult(id_, result_text(raw.get("content"))),))
    return Message(known, tuple(_parts(raw)))


def _parts(raw: dict[str, Any]) -> Iterator[Part]:
    if (thought := reasoning_of(raw)) is not None:
        yield thought
    yield from decode_content(raw.get("content"))
    if refusal := string(raw.get("refusal")):
        yield Generic("refusal", refusal)
    if isinstance(audio := raw.get("audio"), dict):
        yield from _audio(audio)
    for image in _list(raw.get("images")):  # OpenRouter: pictures that the model made
        yield decode_part(image)
    for call in _list(raw.get("tool_calls")):
        if isinstance(call, dict):
            yield decode_call(call)
    if isinstance(legacy := raw.get("function_call"), dict):
        yield ToolCall(legacy_call_id(legacy), string(legacy.get("name")), arguments_of(legacy.get("arguments")))


def decode_content(content: Any) -> tuple[Part, ...]:
    """The parts of a message's content, a string or a list."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, dict):  # Gemini's compatible endpoint
        content = [content]
    if not isinstance(content, list):
        return () if content is None else (Generic("content", content),)
    parts = (decode_part(part) for part in content)
    return tuple(part for part in parts if part != Text(""))


def decode_part(part: Any) -> Part:
    """One content part."""
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Generic("part", part)
    type_ = part.get("type")
    if type_ in _TEXT_TYPES:
        return Text(string(part.get("text")))
    if type_ == "refusal":
        return Generic("refusal", string(part.get("refusal")))
    if type_ == "thinking":
        return Reasoning("".join(_texts(part.get("thinking"))), _signature(part))
    if type_ == "input_audio" and isinstance(audio := part.get("input_audio"), dict):
        return from_base64(audio.get("data"), "audio", _mime("audio", audio.get("format")))
    if type_ == "file" and isinstance(file := part.get("file"), dict):
        return _file(file)
    if isinstance(type_, str) and type_ in _MEDIA:
        url = part.get(type_)
        return from_url(url.get("url") if isinstance(url, dict) else url, _MEDIA[type_]) or Generic(type_, part)
    return Generic(string(type_) or "part", part)


def reasoning_of(raw: dict[str, Any]) -> Reasoning | None:
    """The model's thinking, under whatever name. OpenRouter sends it twice, plain and in `reasoning_details`."""
    details = [detail for detail in _list(raw.get("reasoning_details")) if isinstance(detail, dict)]
    text = next((text for key in REASONING_KEYS if (text := string(raw.get(key)))), "")
    if not text:
        text = "".join(string(detail.get("text")) or string(detail.get("summary")) for detail in details)
    proofs = (string(detail.get("signature")) or string(detail.get("data")) for detail in details)
    signature = next((proof for proof in proofs if proof), None)
    return Reasoning(text, signature) if text or signature else None


def decode_call(call: dict[str, Any]) -> ToolCall:
    """One of `tool_calls`: a function, or a custom tool whose input is plain text."""
    custom = call.get("custom")
    if isinstance(custom, dict):
        return ToolCall(string(call.get("id")), string(custom.get("name")), string(custom.get("input")))
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = arguments_of(function.get("arguments"))
    return ToolCall(string(call.get("id")), string(function.get("name")), arguments)


def arguments_of(value: Any) -> Any:
    """Arguments as parsed JSON, or the raw string when it does not parse (cut, or the model erred)."""
    if not isinstance(value, str):
        return value
    try:
        return jsontext.loads(value) if value else {}
    except ValueError:
        return value


def legacy_call_id(call: dict[str, Any]) -> str:
    """An id for a `function_call`, which has none: made of what it says, so that call and history agree."""
    said = canonical_json([call.get("name"), arguments_of(call.get("arguments"))])
    return f"function-{hashlib.blake2b(said.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def result_text(content: Any) -> str:
    """A tool's answer as text; parts that are not text appear as `[image]`-like marks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else canonical_json(content)
    return "\n".join(_marks(content))


def decode_system(request: WireRequest) -> tuple[Part, ...]:
    """The system prompt's parts."""
    return decode_content(request.raw_system)


def decode_tools(request: WireRequest) -> tuple[ToolDefinition, ...]:
    """The tools on offer. What runs at the provider has no schema; its settings stand in `parameters`."""
    return tuple(_tool(raw) for raw in request.raw_tools if isinstance(raw, dict))


def _tool(raw: dict[str, Any]) -> ToolDefinition:
    type_ = string(raw.get("type")) or "function"
    inner = raw.get(type_)
    if isinstance(inner, dict):
        parameters = inner.get("parameters") if type_ == "function" else inner.get("format")
        return ToolDefinition(string(inner.get("name")), string(inner.get("description")), parameters, type_)
    if type_ == "function":  # legacy `functions`
        return ToolDefinition(string(raw.get("name")), string(raw.get("description")), raw.get("parameters"))
    settings = {key: value for key, value in raw.items() if key not in ("type", "name", "cache_control")}
    return ToolDefinition(string(raw.get("name")) or type_, parameters=settings or None, type=type_)


def _audio(audio: dict[str, Any]) -> Iterator[Part]:
    """Spoken output: what was said, and the sound; in history only the id of it."""
    transcript = string(audio.get("transcript"))
    if transcript:
        yield Text(transcript)
    if "data" in audio:
        yield from_base64(audio.get("data"), "audio", None)
    elif not transcript:
        yield Generic("audio", audio)


def _file(file: dict[str, Any]) -> Part:
    if isinstance(data := file.get("file_data"), str):
        return from_url(data, "document") or from_base64(data, "document", None)
    return from_url(f"file:{string(file.get('file_id'))}", "document") or Generic("file", file)


def _marks(content: list[Any]) -> Iterator[str]:
    for part in content:
        if not isinstance(part, dict):
            yield string(part)
        elif part.get("type") in _TEXT_TYPES:
            yield string(part.get("text"))
        else:
            yield f"[{_MEDIA.get(string(part.get('type'))) or string(part.get('type')) or 'part'}]"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in _list(value):
        if isinstance(part, dict):
            yield string(part.get("text"))


def _signature(part: dict[str, Any]) -> str | None:
    return string(part.get("signature")) or None


def _mime(modality: str, format_: Any) -> str | None:
    return f"{modality}/{format_}" if isinstance(format_, str) and format_ else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def string(value: Any) -> str:
    """The value if it is a text, else ''."""
    return value if isinstance(value, str) else ""

"""Items ↔ message parts.

An item that has no part of its own becomes `Generic` and is kept as it came. Inline media is replaced by its hash and
size. Empty texts carry nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from spanlore.genai.messages import (
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
)
from spanlore_proxy.wire.media import from_base64, from_url
from spanlore_proxy.wire.openai_chat.parts import ROLES, arguments_of, string
from spanlore_proxy.wire.openai_responses.kinds import (
    CLIENT_CALLS,
    CLIENT_RESULTS,
    KNOWN_CONTENT,
    SERVER_CALLS,
    SERVER_RESULTS,
    is_server_side,
    kind_of,
)
from spanlore_proxy.wire.openai_responses.results import decode_result
from spanlore_proxy.wire.request import WireRequest

_TEXTS: Final = ("input_text", "output_text", "text", "summary_text")
_TOOL_NAMES: Final = {
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "tool_search_call": "tool_search",
}
"""Call items that name no tool → the tool."""


def decode_message(raw: dict[str, Any]) -> Message:
    """One raw message: an item, or the items of one answer gathered by `request.gather`."""
    content = raw.get("content")
    if raw.get("role") == "assistant" and isinstance(content, list):
        return Message(Role.ASSISTANT, decode_items(content))
    kind = kind_of(raw)
    if kind in CLIENT_RESULTS:
        return Message(Role.TOOL, (decode_result(raw),))
    role = raw.get("role")
    known = ROLES.get(role, Role.OTHER) if isinstance(role, str) else Role.OTHER
    if kind in ("message", "agent_message"):
        return Message(known, decode_content(content))
    return Message(Role.USER if kind == "mcp_approval_response" else known, decode_item(raw))


def decode_items(items: Iterable[Any]) -> tuple[Part, ...]:
    """The parts of an answer's items. Results among them are the provider's own."""
    return tuple(part for item in items for part in _of_model(item))


def _of_model(item: Any) -> tuple[Part, ...]:
    kind = kind_of(item) if isinstance(item, dict) else ""
    if kind in KNOWN_CONTENT:
        return decode_content([item])
    if kind in CLIENT_RESULTS:
        return (ServerToolResult(string(item.get("call_id")) or None, item),)
    return decode_item(item)


def decode_item(item: Any) -> tuple[Part, ...]:
    """One item that is no client's result."""
    if not isinstance(item, dict):
        return (Generic("item", item),)
    kind = kind_of(item)
    if kind == "message":
        return decode_content(item.get("content"))
    if kind == "reasoning":
        return (_reasoning(item),)
    id_ = string(item.get("call_id")) or string(item.get("id"))
    if kind in CLIENT_CALLS and not is_server_side(item):
        return (ToolCall(id_, string(item.get("name")) or _TOOL_NAMES.get(kind, kind), _arguments(item, kind)),)
    if kind == "image_generation_call":
        return tuple(_image(item, id_))
    if kind in SERVER_CALLS or kind in CLIENT_CALLS:
        name = string(item.get("name")) or kind.removesuffix("_call")
        return (ServerToolCall(id_ or None, name, item),)
    if kind in SERVER_RESULTS:
        return (ServerToolResult(id_ or None, item),)
    return (Generic(kind or "item", item),)


def decode_content(content: Any) -> tuple[Part, ...]:
    """The parts of a message's content, a string or a list."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
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
    if type_ in _TEXTS:
        return Text(string(part.get("text")))
    match type_:
        case "refusal":
            return Generic("refusal", string(part.get("refusal")))
        case "reasoning_text":
            return Reasoning(string(part.get("text")))
        case "input_image" | "computer_screenshot" | "output_image":
            return _media(part, "image", part.get("image_url"))
        case "input_video":
            return _media(part, "video", part.get("video_url"))
        case "input_file":
            return _file(part)
        case "input_audio" | "output_audio" | "audio":
            # What was said is worth more than how it sounded.
            return Text(said) if (said := string(part.get("transcript"))) else _audio(part)
        case _:
            return Generic(string(type_) or "part", part)


def decode_system(request: WireRequest) -> tuple[Part, ...]:
    """The system prompt's parts."""
    return decode_content(request.raw_system)


def decode_tools(request: WireRequest) -> tuple[ToolDefinition, ...]:
    """The tools on offer. What runs at the provider has no schema; its settings stand in `parameters`."""
    return tuple(_tool(raw) for raw in request.raw_tools if isinstance(raw, dict))


def _reasoning(item: dict[str, Any]) -> Reasoning:
    """The thinking itself where the provider shows it, else its summary."""
    texts = [text for key in ("content", "summary") if (text := "\n\n".join(_texts(item.get(key))))]
    return Reasoning(texts[0] if texts else "", string(item.get("encrypted_content")) or None)


def _texts(value: Any) -> Iterator[str]:
    for part in value if isinstance(value, list) else ():
        text = string(part.get("text")) if isinstance(part, dict) else string(part)
        if text:
            yield text


def _arguments(item: dict[str, Any], kind: str) -> Any:
    match kind:
        case "custom_tool_call":
            return string(item.get("input"))
        case "local_shell_call" | "shell_call" | "computer_call":
            return item.get("action") or item.get("actions")
        case "apply_patch_call":
            return item.get("operation")
        case _:
            return arguments_of(item.get("arguments"))


def _image(item: dict[str, Any], id_: str) -> Iterator[Part]:
    yield ServerToolCall(
        id_ or None, "image_generation", {key: value for key, value in item.items() if key != "result"}
    )
    if isinstance(result := item.get("result"), str) and result:
        yield from_base64(result, "image", f"image/{string(item.get('output_format')) or 'png'}")


def _media(part: dict[str, Any], modality: str, url: Any) -> Part:
    url = url.get("url") if isinstance(url, dict) else url
    if found := from_url(url, modality):
        return found
    file_id = string(part.get("file_id"))
    return from_url(f"file:{file_id}" if file_id else None, modality) or Generic(modality, part)


def _file(part: dict[str, Any]) -> Part:
    if isinstance(data := part.get("file_data"), str):
        found = from_url(data, "document") if data.startswith("data:") else None
        return found or from_base64(data, "document", None)
    return _media(part, "document", part.get("file_url"))


def _audio(part: dict[str, Any]) -> Part:
    inner = part.get("input_audio")
    source = inner if isinstance(inner, dict) else part
    format_ = string(source.get("format"))
    return from_base64(source.get("data"), "audio", f"audio/{format_}" if format_ else None)


def _tool(raw: dict[str, Any]) -> ToolDefinition:
    type_ = string(raw.get("type")) or "function"
    if type_ in ("function", "custom"):
        parameters = raw.get("parameters") if type_ == "function" else raw.get("format")
        return ToolDefinition(string(raw.get("name")), string(raw.get("description")), parameters, type_)
    settings = {key: value for key, value in raw.items() if key not in ("type", "name", "cache_control")}
    name = string(raw.get("name")) or string(raw.get("server_label")) or type_
    return ToolDefinition(name, string(raw.get("description")), settings or None, type_)

"""Content attributes → message parts and content rows. Pure.

Each part of a message is one row that says where it stood, and one content row addressed by hash. What is not the JSON
it should be is kept whole, as one part of type `raw`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import orjson

from spanlore.genai.messages import canonical_json, content_hash, part_body, part_from_json
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue
from spanlore_collector.store.tables import ContentRow, PartRow

_MAX_UINT16, _MAX_UINT32 = 2**16 - 1, 2**32 - 1
_PLAIN = {"text": "content", "tool_call_response": "response"}
"""Where parts that are plain text have it, by their type."""


class Seat(Protocol):
    """Where the span stands."""

    @property
    def session_id(self) -> str: ...
    @property
    def conversation(self) -> str: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def span_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def ingested_at(self) -> int: ...


class Contents:
    """The parts of one span, as they are found."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.parts: list[PartRow] = []
        self.rows: list[ContentRow] = []

    def add(
        self,
        direction: str,
        body: str,
        *,
        message: int = 0,
        part: int = 0,
        role: str = "",
        type_: str = "text",
        call: str = "",
        name: str = "",
        finish: str = "",
    ) -> None:
        """One part with its content."""
        seat, address = self._seat, content_hash(body)
        size_bytes = len(body) if body.isascii() else len(body.encode("utf-8", "replace"))
        self.parts.append(
            PartRow(
                seat.session_id,
                seat.conversation,
                seat.trace_id,
                seat.span_id,
                seat.start,
                direction,
                min(message, _MAX_UINT32),
                min(part, _MAX_UINT16),
                role,
                type_,
                call,
                name,
                address,
                min(size_bytes, _MAX_UINT32),
                finish,
                seat.ingested_at,
            )
        )
        self.rows.append(ContentRow(address, body, min(size_bytes, _MAX_UINT32), seat.ingested_at))

    def hash_of(self, direction: str) -> str:
        """Hash of the first part in that direction, '' when there is none."""
        return next((part.content_hash for part in self.parts if part.direction == direction), "")

    def bytes_of(self, direction: str) -> int:
        """Its size in bytes."""
        return next((part.content_bytes for part in self.parts if part.direction == direction), 0)


def content_of(attributes: Mapping[str, AttributeValue], seat: Seat) -> Contents:
    """All parts of a span's content attributes."""
    out = Contents(seat)
    for key, direction in _TEXTS:
        value = attributes.get(key)
        if isinstance(value, str):
            call, name = str(attributes.get(gen_ai.TOOL_CALL_ID, "")), str(attributes.get(gen_ai.TOOL_NAME, ""))
            role = "assistant" if direction == "arguments" else "tool"
            out.add(direction, value, role=role, type_=direction, call=call, name=name)
    for key, direction in _LISTS:
        value = attributes.get(key)
        if isinstance(value, str) and value:
            first = attributes.get(lore.INPUT_NEW_FROM, 0) if direction == "input" else 0
            _add_list(out, direction, value, first if isinstance(first, int) and first > 0 else 0)
    return out


_TEXTS = ((gen_ai.TOOL_CALL_ARGUMENTS, "arguments"), (gen_ai.TOOL_CALL_RESULT, "result"))
_LISTS = (
    (gen_ai.SYSTEM_INSTRUCTIONS, "system"),
    (gen_ai.INPUT_MESSAGES, "input"),
    (gen_ai.OUTPUT_MESSAGES, "output"),
    (gen_ai.TOOL_DEFINITIONS, "tools"),
)


def first_text(messages_json: str) -> str:
    """All text parts of a list of messages, one after another; '' when it is no such list."""
    return "\n".join(
        str(part.get("content", ""))
        for message in _objects(messages_json)
        for part in message.get("parts") or ()
        if isinstance(part, dict) and part.get("type") == "text"
    )


def _add_list(out: Contents, direction: str, text: str, first_index: int) -> None:
    items = _parsed(text)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        out.add(direction, text, message=first_index, type_="raw")
    elif direction == "tools":
        for index, tool in enumerate(items):
            out.add(
                direction, canonical_json(tool), part=index, type_="tool_definition", name=str(tool.get("name", ""))
            )
    elif direction == "system":
        for index, part in enumerate(items):
            _add_part(out, direction, part, 0, index, "system", "")
    else:
        for index, message in enumerate(items, first_index):
            role, finish = str(message.get("role", "other")), str(message.get("finish_reason") or "")
            parts = message.get("parts")
            for number, part in enumerate(parts if isinstance(parts, list) else [message]):
                if isinstance(part, dict):
                    _add_part(out, direction, part, index, number, role, finish)


def _add_part(
    out: Contents, direction: str, data: dict[str, Any], message: int, index: int, role: str, finish: str
) -> None:
    type_ = data.get("type")
    text = data.get(_PLAIN[type_]) if type(type_) is str and type_ in _PLAIN else None
    out.add(
        direction,
        # Most parts are plain text, and it stands for itself.
        text if type(text) is str else part_body(part_from_json(data)),
        message=message,
        part=index,
        role=role,
        type_=str(data.get("type", "other")),
        call=str(data.get("id") or ""),
        name=str(data.get("name") or ""),
        finish=finish,
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    items = _parsed(text)
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield item


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None

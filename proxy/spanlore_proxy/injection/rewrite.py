"""The one deliberate change: bytes inserted into a client's JSON body, everything else left as it came.

What is inserted (Anthropic Messages):
- system prompt as a list: one more text block, last; no `cache_control`, on it or moved.
- as a string: the text appended inside its quotes after an empty line (a block would need a rewrite).
- no system prompt at all: a `system` member, last in the object.
- beside a tool result: one more text block, last in that user message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from spanlore_proxy.injection.offsets import MESSAGES_KEY, SYSTEM, SYSTEM_KEY, OffsetError, find_offsets
from spanlore_proxy.wire.request import WireRequest


@dataclass(frozen=True, slots=True)
class Addition:
    """Text to be added after all client text of the system prompt (`SYSTEM`) or of one message."""

    index: int
    """`SYSTEM`, or the message's index in the request."""
    text: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """Bytes that stand in the forwarded body and not in the client's."""

    offset: int
    """Byte position in the client's body before which they stand."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A forwarded body."""

    body: bytes
    insertions: tuple[Insertion, ...]
    """In order of offset; `without_insertions` undoes them."""


def insert(body: bytes, request: WireRequest, additions: Sequence[Addition]) -> Rewritten:
    """The body with the additions; those to one message stand in the order given.

    Raises:
        OffsetError: a place could not be proven.
    """
    if not additions:
        return Rewritten(body, ())
    document = request.document
    grouped: dict[int, list[str]] = {}
    for addition in additions:
        grouped.setdefault(addition.index, []).append(addition.text)
    data = {index: _data(document, index, texts) for index, texts in grouped.items()}
    offsets = find_offsets(body, document, frozenset(grouped))
    insertions = tuple(sorted((Insertion(offsets[index], data[index]) for index in grouped), key=_offset))
    return Rewritten(b"".join(_weave(body, insertions)), insertions)


def without_insertions(body: bytes, insertions: Iterable[Insertion]) -> bytes:
    """The client's body that `insert` made this body from."""
    pieces, position, shift = [], 0, 0
    for insertion in insertions:
        start = insertion.offset + shift
        pieces.append(body[position:start])
        position = start + len(insertion.data)
        shift += len(insertion.data)
    return b"".join([*pieces, body[position:]])


def _data(document: Mapping[str, Any], index: int, texts: Sequence[str]) -> bytes:
    blocks = b",".join(orjson.dumps({"type": "text", "text": text}) for text in texts)
    if index != SYSTEM:
        content = _content(document, index)
        return b"," + blocks if content else blocks
    if SYSTEM_KEY not in document:
        return b',"system":[' + blocks + b"]"
    system = document[SYSTEM_KEY]
    if isinstance(system, list):
        return b"," + blocks if system else blocks
    if isinstance(system, str):
        return orjson.dumps(("\n\n" if system else "") + "\n\n".join(texts))[1:-1]
    raise OffsetError(f"system is {type(system).__name__}, neither text nor blocks")


def _content(document: Mapping[str, Any], index: int) -> list[Any]:
    messages = document.get(MESSAGES_KEY)
    message = messages[index] if isinstance(messages, list) and 0 <= index < len(messages) else None
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        raise OffsetError(f"message {index} has no list of blocks")
    return content


def _weave(body: bytes, insertions: Iterable[Insertion]) -> Iterator[bytes]:
    position = 0
    for insertion in insertions:
        yield body[position : insertion.offset]
        yield insertion.data
        position = insertion.offset
    yield body[position:]


def _offset(insertion: Insertion) -> int:
    return insertion.offset

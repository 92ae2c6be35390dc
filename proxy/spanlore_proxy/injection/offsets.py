"""Where in a client's JSON body something may be inserted, proven to the byte.

Where to insert is found without re-serialising and without searching. A client that writes JSON as `JSON.stringify`
does (all agents measured in Node and Bun, and httpx from 0.28) writes the bytes that orjson writes. So the *tail* of
the body, from the place of the earliest insertion to the end, is serialised from the parsed document and must equal the
body's own tail. Since the body is valid JSON and ends at depth 0, an equal tail proves the place: it can't be a key of
that name further down, nor text inside a string. In Claude Code's bodies (`messages` before `system`) this costs the
tools and the newest message, not the history; where the system prompt is the first message, it costs the history
(0.5 ms a MiB).

Any other spelling (white space, `\\u` escapes, numbers another way) is walked by the standard library's scanner along
the paths of the spots, with exact offsets; a key that stands twice on the way, or bytes that are no UTF-8, are an
`OffsetError`, and the request goes out untouched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_CLOSING: Final = frozenset('"]}')


class OffsetError(ValueError):
    """The place to insert could not be proven; nothing may be inserted."""


class Side(StrEnum):
    """Where at a value."""

    BEFORE = "before"
    INSIDE = "inside"
    """At its end, before the quote, bracket or brace that closes it."""
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a document."""

    path: tuple[str | int, ...]
    """Keys and indexes that lead to a value; () is the document itself."""
    side: Side = Side.INSIDE


def find_offsets(body: bytes, document: Mapping[str, Any], spots: Collection[Spot]) -> dict[Spot, int]:
    """Spot → byte position in the body.

    Raises:
        OffsetError: a place could not be proven.
    """
    try:
        root = _tree(spots)
        offsets = _by_tail(body, document, root)
        return _by_scan(body, root) if offsets is None else offsets
    except (LookupError, ValueError, RecursionError) as error:
        raise OffsetError(f"can't tell where to insert: {error}") from error


@dataclass(slots=True)
class _Node:
    """The spots at and below one value."""

    children: dict[str | int, _Node] = field(default_factory=dict)
    spots: dict[Side, Spot] = field(default_factory=dict)


def _tree(spots: Collection[Spot]) -> _Node:
    root = _Node()
    for spot in spots:
        node = root
        for step in spot.path:
            node = node.children.setdefault(step, _Node())
        node.spots[spot.side] = spot
    return root


# --- the tail, written again -----------------------------------------------------------------------------------------


def _by_tail(body: bytes, document: Mapping[str, Any], root: _Node) -> dict[Spot, int] | None:
    """The offsets if the body's tail is written as orjson writes it; None when it is not."""
    end = len(body)
    while end and body[end - 1] in b" \t\r\n":
        end -= 1
    writer = _Tail(root)
    try:
        writer.write(document, root)
    except TypeError:  # what orjson can't write (integers beyond 64 bits, half characters)
        return None
    position = end
    for piece in writer.pieces:
        position -= len(piece)
        if position < 0 or not body.startswith(piece, position):
            return None
    return {spot: end - behind for spot, behind in writer.marks.items()}


class _Tail:
    """A tail while it is written, from its end to the front.

    It goes on a little before the earliest place (the item of a list that holds it, else its whole value, its key and
    the end of the value before), so that a key that stands twice in a row is seen.
    """

    def __init__(self, root: _Node) -> None:
        self.pieces: list[bytes | memoryview] = []
        """Last first."""
        self.marks: dict[Spot, int] = {}
        """Spot → bytes that stand behind it."""
        self._size = 0
        self._left = _count(root)
        self._is_in_item = False

    def write(self, value: Any, node: _Node | None) -> bool:
        """Writes a value. True when enough is written, and what stands before it does not matter.

        Raises:
            LookupError: A path leads nowhere.
            TypeError: orjson can't write it.
        """
        if node is None:
            self._add(orjson.dumps(value))
            return False
        self._mark(node, Side.AFTER, 0)
        if Side.INSIDE in node.spots:
            if not isinstance(value, str | list | dict):
                raise LookupError("nothing stands inside of this value")
            self._mark(node, Side.INSIDE, 1)
        if self._write_inner(value, node):
            return True
        self._mark(node, Side.BEFORE, 0)
        return False

    def _write_inner(self, value: Any, node: _Node) -> bool:
        if not node.children:
            self._add(orjson.dumps(value))
            return False
        if isinstance(value, dict):
            return self._write_members(value, node)
        if isinstance(value, list):
            return self._write_items(value, node)
        raise LookupError("the path leads on and the value does not")

    def _write_members(self, members: dict[str, Any], node: _Node) -> bool:
        if not all(key in members for key in node.children):
            raise LookupError("no such member")
        self._add(b"}")
        keys = list(members)
        for position in range(len(keys) - 1, -1, -1):
            key = keys[position]
            if not self._left and not self._is_in_item:
                self._add(_end_of_value(members[key]))
                return True
            if self.write(members[key], node.children.get(key)):
                return True
            self._add(orjson.dumps(key) + b":")
            self._add(b"," if position else b"{")
        return False

    def _write_items(self, items: list[Any], node: _Node) -> bool:
        indexes = [step for step in node.children if isinstance(step, int) and 0 <= step < len(items)]
        if len(indexes) < len(node.children):
            raise LookupError("no such item")
        self._add(b"]")
        end = len(items)
        for index in sorted(indexes, reverse=True):
            if index + 1 < end:
                self._add(memoryview(orjson.dumps(items[index + 1 : end]))[1:-1])
                self._add(b",")
            was_in_item, self._is_in_item = self._is_in_item, True
            self.write(items[index], node.children[index])
            self._is_in_item = was_in_item
            self._add(b"," if index else b"[")
            if not self._left and not was_in_item:
                return True
            end = index
        if end:
            self._add(memoryview(orjson.dumps(items[:end]))[:-1])
        return False

    def _add(self, piece: bytes | memoryview) -> None:
        """Writes the piece that stands before all others."""
        self.pieces.append(piece)
        self._size += len(piece)

    def _mark(self, node: _Node, side: Side, closing: int) -> None:
        """The spot stands before all that is written, and before so many bytes that close its value."""
        if side in node.spots:
            self.marks[node.spots[side]] = self._size + closing
            self._left -= 1


def _count(node: _Node) -> int:
    return len(node.spots) + sum(map(_count, node.children.values()))


def _end_of_value(value: Any) -> bytes:
    if isinstance(value, list) and value:
        return orjson.dumps(value[-1]) + b"]"
    return orjson.dumps(value)


# --- any spelling ----------------------------------------------------------------------------------------------------


def _by_scan(body: bytes, root: _Node) -> dict[Spot, int]:
    """The offsets of a body in any spelling. About 2.5 ms a MiB."""
    text = body.decode("utf-8")
    places = _Scan(text).places(root)
    if text.isascii():
        return places
    return {spot: len(text[:place].encode()) for spot, place in places.items()}


class _Scan:
    """Positions in a JSON text, by the standard decoder's own scanning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._places: dict[Spot, int] = {}

    def places(self, root: _Node) -> dict[Spot, int]:
        """Spot → character position.

        Raises:
            ValueError: It is not what it should be, or a key stands twice.
        """
        end = self._value(self._skip(1 if self._text.startswith("\ufeff") else 0), root)
        if self._skip(end) != len(self._text) or len(self._places) != _count(root):
            raise ValueError("no such place")
        return self._places

    def _value(self, start: int, node: _Node | None) -> int:
        """End of the value."""
        if node is None or not node.children:
            _, end = self._decode(self._text, start)
        else:
            end = self._members(start, node) if self._text[start : start + 1] == "{" else self._items(start, node)
        if node is not None:
            if Side.INSIDE in node.spots and self._text[end - 1] not in _CLOSING:
                raise ValueError("nothing stands inside of this value")
            ends = {Side.BEFORE: start, Side.INSIDE: end - 1, Side.AFTER: end}
            self._places.update({spot: ends[side] for side, spot in node.spots.items()})
        return end

    def _members(self, start: int, node: _Node) -> int:
        keys: set[str] = set()
        position = self._skip(self._expect(start, "{"))
        while self._text[position : position + 1] != "}":
            key, position = self._decode(self._text, position)
            position = self._skip(self._expect(self._skip(position), ":"))
            if not isinstance(key, str) or key in keys:
                raise ValueError(f"{key!r} stands twice")
            keys.add(key)
            position = self._next(self._value(position, node.children.get(key)), "}")
        return position + 1

    def _items(self, start: int, node: _Node) -> int:
        index = 0
        position = self._skip(self._expect(start, "["))
        while self._text[position : position + 1] != "]":
            position = self._next(self._value(position, node.children.get(index)), "]")
            index += 1
        return position + 1

    def _next(self, position: int, closing: str) -> int:
        """Where the next item or the closing bracket stands."""
        position = self._skip(position)
        if self._text[position : position + 1] == ",":
            return self._skip(position + 1)
        return self._expect(position, closing) - 1

    def _expect(self, position: int, char: str) -> int:
        if self._text[position : position + 1] != char:
            raise ValueError(f"no {char!r} at {position}")
        return position + 1

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self._text, position)
        return position if match is None else match.end()

"""Where in a client's JSON body something may be inserted, proven to the byte.

Where to insert is found without re-serialising and without searching. A client that writes JSON as `JSON.stringify`
does (all agents measured in Node and Bun, and httpx from 0.28) writes the bytes that orjson writes. So the *tail* of
the body, from the place of the earliest insertion to the end, is serialised from the parsed document and must equal the
body's own tail. Since the body is valid JSON and ends at depth 0, an equal tail proves the place: it can't be a key of
that name further down, nor text inside a string. In Claude Code's bodies (`messages` before `system`) this costs the
tools and the newest message, not the history.

Any other spelling (white space, `\\u` escapes, numbers another way) is walked by the standard library's scanner over
the top-level keys, with exact offsets; a key that stands twice, or bytes that are no UTF-8, are an `OffsetError`, and
the request goes out untouched. `"system": null` and other shapes the API does not take are an `OffsetError` too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

SYSTEM: Final = -1
"""Index that stands for the system prompt where message indexes stand."""

SYSTEM_KEY: Final = "system"
MESSAGES_KEY: Final = "messages"
_OUR_KEYS: Final = frozenset({SYSTEM_KEY, MESSAGES_KEY, "role", "content"})
_SPACE: Final = re.compile(r"[ \t\n\r]*")


class OffsetError(ValueError):
    """The place to insert could not be proven; nothing may be inserted."""


def find_offsets(body: bytes, document: Mapping[str, Any], indexes: frozenset[int]) -> dict[int, int]:
    """Index → byte position in the body at which its addition goes.

    Raises:
        OffsetError: a place could not be proven.
    """
    offsets = _by_tail(body, document, indexes)
    return _by_scan(body, indexes) if offsets is None else offsets


def _by_tail(body: bytes, document: Mapping[str, Any], indexes: frozenset[int]) -> dict[int, int] | None:
    """The offsets if the body's tail is written as orjson writes it; None when it is not."""
    end = len(body)
    while end and body[end - 1] in b" \t\r\n":
        end -= 1
    try:
        pieces, marks = _tail(document, indexes)
    except TypeError:  # what orjson can't write (integers beyond 64 bits, half characters)
        return None
    tail = b"".join(reversed(pieces))
    if not body.endswith(tail, 0, end):
        return None
    return {index: end - behind for index, behind in marks.items()}


def _tail(document: Mapping[str, Any], indexes: frozenset[int]) -> tuple[list[bytes], dict[int, int]]:
    """(pieces of the tail, last first; index → bytes that stand behind its place).

    The pieces go on a little before the earliest place (its whole value, its key, the end of the value before), so that
    a key that stands twice in a row is seen.
    """
    walk = _Walk(set(indexes))
    walk.add(b"}")
    if SYSTEM in walk.wanted and SYSTEM_KEY not in document:
        walk.mark(SYSTEM, 1)
    keys = list(document)
    for position in range(len(keys) - 1, -1, -1):
        if not walk.wanted:
            walk.add(_end_of_value(document[keys[position]]))
            break
        if walk.add_member(keys[position], document[keys[position]]):
            return walk.pieces, walk.marks
        walk.add(b"," if position else b"{")
    return walk.pieces, walk.marks


class _Walk:
    """A tail while it is written, from its end to the front."""

    def __init__(self, wanted: set[int]) -> None:
        self.wanted = wanted
        self.pieces: list[bytes] = []
        self.marks: dict[int, int] = {}
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Writes the piece that stands before all others."""
        self.pieces.append(piece)
        self._size += len(piece)

    def mark(self, index: int, behind: int) -> None:
        """The place of the index has so many bytes of the tail behind it."""
        self.marks[index] = behind
        self.wanted.discard(index)

    def add_member(self, key: str, value: Any) -> bool:
        """Writes one member of the document. True when the earliest place was met inside the messages."""
        if key == MESSAGES_KEY and isinstance(value, list) and any(index != SYSTEM for index in self.wanted):
            if self._add_messages(value):
                return True
        else:
            if key == SYSTEM_KEY and SYSTEM in self.wanted:
                self.mark(SYSTEM, self._size + 1)  # before the closing bracket or quote
            self.add(orjson.dumps(value))
        self.add(orjson.dumps(key) + b":")
        return False

    def _add_messages(self, messages: list[Any]) -> bool:
        self.add(b"]")
        for index in range(len(messages) - 1, -1, -1):
            whole = orjson.dumps(messages[index])
            if index in self.wanted:
                self.mark(index, self._size + _behind_content(messages[index]))
            self.add(whole)
            self.add(b"," if index else b"[")
            if not self.wanted:
                return True
        return False


def _behind_content(message: Mapping[str, Any]) -> int:
    """Bytes of a message behind the last block of its content: the closing bracket and the keys after it."""
    keys = list(message)
    later = keys[keys.index("content") + 1 :]
    return 2 + sum(2 + len(orjson.dumps(key)) + len(orjson.dumps(message[key])) for key in later)


def _end_of_value(value: Any) -> bytes:
    if isinstance(value, list) and value:
        return orjson.dumps(value[-1]) + b"]"
    return orjson.dumps(value)


def _by_scan(body: bytes, indexes: frozenset[int]) -> dict[int, int]:
    """The offsets of a body in any spelling. About 2.5 ms a MiB."""
    try:
        text = body.decode("utf-8")
        places = _Scan(text).places(indexes)
    except (LookupError, ValueError, RecursionError) as error:
        raise OffsetError(f"can't tell where to insert: {error}") from error
    if text.isascii():
        return places
    return {index: len(text[:place].encode()) for index, place in places.items()}


class _Scan:
    """Positions in a JSON text, by the standard decoder's own scanning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._decode = json.JSONDecoder().raw_decode
        self._messages: list[int] = []

    def places(self, indexes: frozenset[int]) -> dict[int, int]:
        """Index → character position."""
        start = self._skip(1 if self._text.startswith("\ufeff") else 0)
        members, end = self._members(start, is_top=True)
        places: dict[int, int] = {}
        for index in indexes:
            if index != SYSTEM:
                message, _ = self._members(self._messages[index])
                places[index] = self._last_place(message["content"])
            elif SYSTEM_KEY in members:
                places[index] = self._last_place(members[SYSTEM_KEY])
            else:
                places[index] = end - 1
        return places

    def _last_place(self, start: int) -> int:
        """Before the bracket or quote that closes the value."""
        _, end = self._decode(self._text, start)
        return end - 1

    def _members(self, start: int, is_top: bool = False) -> tuple[dict[str, int], int]:
        """(key → where its value starts, end of the object).

        Raises:
            ValueError: no object, or one of the keys that matter stands twice.
        """
        self._expect(start, "{")
        members: dict[str, int] = {}
        position = self._skip(start + 1)
        while self._text[position : position + 1] != "}":
            key, position = self._decode(self._text, position)
            position = self._skip(self._expect(self._skip(position), ":"))
            if key in members and key in _OUR_KEYS:
                raise ValueError(f"{key!r} stands twice")
            members[key] = position
            position = self._value(position, is_top and key == MESSAGES_KEY)
            position = self._next(position, "}")
        return members, position + 1

    def _value(self, start: int, is_messages: bool) -> int:
        """End of the value; remembers where each message starts."""
        if not is_messages:
            return self._decode(self._text, start)[1]
        self._expect(start, "[")
        position = self._skip(start + 1)
        while self._text[position : position + 1] != "]":
            self._messages.append(position)
            _, position = self._decode(self._text, position)
            position = self._next(position, "]")
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

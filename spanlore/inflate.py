"""Inflating what others have deflated, within a bound: gzip with any number of members, zlib, raw deflate.

Whoever sends a thousand empty members or a gigabyte of zeros costs what the bytes it sent cost. What is too much, and
what is said of it, is for the caller: each has a bound and an error of its own.

Source: RFC 1950, 1951 and 1952 (§2.2: members follow each other); Python's `zlib`: what lies behind a stream's end is
copied into `unused_data`, each time.
"""

from __future__ import annotations

import zlib
from typing import Final

GZIP: Final = 31
ZLIB: Final = zlib.MAX_WBITS
RAW: Final = -zlib.MAX_WBITS
ANY: Final = 47
"""gzip or zlib, as the data's own header says."""
GZIP_MAGIC: Final = b"\x1f\x8b"

_FIRST_PIECE_BYTES: Final = 512
_LARGEST_PIECE_BYTES: Final = 65_536
"""Bytes that are fed at once grow from the first to this with the length of a stream: what lies behind a short one is
not copied much."""


class Inflater:
    """A stream, or several one after another, piece by piece. Methods raise `zlib.error` for what is no such stream."""

    def __init__(self, wbits: int, magic: bytes = b"") -> None:
        """`wbits` as zlib has it (`GZIP`, `ZLIB`, `RAW`, `ANY`). Only what begins with `magic` is a further stream;
        what else follows the last one is left out."""
        self._wbits = wbits
        self._magic = magic
        self._state = zlib.decompressobj(wbits)
        self._data, self._at = b"", 0
        self._piece_bytes = _FIRST_PIECE_BYTES

    @property
    def is_finished(self) -> bool:
        """The stream that was read last has its end."""
        return self._state.eof

    def inflate(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes (at least 1) of the data, and more of it when called again with b''; b'' at its end."""
        if data:
            self._data, self._at = data, 0
        while self._at < len(self._data) and (not self._state.eof or self._begins_next()):
            piece = self._data[self._at : self._at + self._piece_bytes]
            out = self._state.decompress(piece, room)
            self._at += len(piece) - len(self._state.unconsumed_tail) - len(self._state.unused_data)
            self._piece_bytes = min(self._piece_bytes * 2, _LARGEST_PIECE_BYTES)
            if out:
                return out
        return b"" if self._state.eof else self._state.decompress(b"", room)

    def inflate_all(self, data: bytes, most_bytes: int) -> bytes:
        """All of the data; one byte more than `most_bytes` when it is too much."""
        out = bytearray()
        while chunk := self.inflate(data, most_bytes + 1 - len(out)):
            out += chunk
            if len(out) > most_bytes:
                break
            data = b""
        return bytes(out)

    def _begins_next(self) -> bool:
        if not self._data.startswith(self._magic, self._at):
            return False
        self._state = zlib.decompressobj(self._wbits)
        self._piece_bytes = _FIRST_PIECE_BYTES
        return True

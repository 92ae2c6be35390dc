"""Content-Encoding, both ways: gzip, deflate, br and zstd, alone or stacked (RFC 9110 §8.4).

A recording must survive what a client never sees: bodies that were cut, that say the wrong encoding, or that expand
beyond reason. Decoding therefore gives what could be decoded, with the reason why it stopped, and never raises.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import brotli
import zstandard

from spanlore.inflate import GZIP, GZIP_MAGIC, RAW, ZLIB, Inflater

_ZSTD_PIECE_BYTES: Final = 512
"""Compressed bytes fed to zstd at once: it has no output limit, and 4 of them can become 128 KiB."""

_PLAIN: Final = (b'{"', b"[{", b"data:", b"event:")
"""How JSON and server-sent events begin; no encoding here begins so."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body after content decoding."""

    data: bytes
    """As far as it could be decoded."""
    is_complete: bool
    error: str | None = None
    """truncated, too_large, malformed:ENCODING, unsupported:ENCODING, mislabelled:ENCODING (plain text that claims to
    be encoded: given as it is); None when complete."""


class _Inflater(Protocol):
    """`inflate(data, room)` gives at most about `room` bytes, and the rest when called again with b''."""

    def inflate(self, data: bytes, room: int) -> bytes: ...

    @property
    def is_finished(self) -> bool: ...


def decode(body: bytes, encoding: str, max_bytes: int) -> Decoded:
    """The body without its content encodings. `encoding` is the header's value, `''` and `identity` are none."""
    data = body
    error: str | None = None
    for name in reversed(_names(encoding)):
        make = _INFLATERS.get(name)
        if make is None:
            return Decoded(b"", False, f"unsupported:{name}")
        plain, trouble = _inflate(make(data[:2]), data, name, max_bytes)
        if trouble and not plain and data.lstrip()[:6].startswith(_PLAIN):
            plain, trouble = data, f"mislabelled:{name}"
        data = plain
        error = error or trouble
    if len(data) > max_bytes:
        return Decoded(data[:max_bytes], False, "too_large")
    return Decoded(data, error is None, error)


def encode(data: bytes, encoding: str) -> bytes:
    """The data in the content encodings of the header's value, applied in its order; quick levels.

    Raises:
        ValueError: One of the encodings is not known.
    """
    for name in _names(encoding):
        deflate = _DEFLATERS.get(name)
        if deflate is None:
            raise ValueError(f"content-encoding {name!r} cannot be written")
        data = deflate(data)
    return data


def _names(encoding: str) -> list[str]:
    names = (word.strip().lower() for word in encoding.split(","))
    return [name for name in names if name and name != "identity"]


def _inflate(inflater: _Inflater, data: bytes, name: str, max_bytes: int) -> tuple[bytes, str | None]:
    out = bytearray()
    try:
        chunk = inflater.inflate(data, max_bytes + 1)
        while chunk:
            out += chunk
            if len(out) > max_bytes:
                return bytes(out), "too_large"
            chunk = inflater.inflate(b"", max_bytes + 1 - len(out))
    except (zlib.error, brotli.error, zstandard.ZstdError):
        return bytes(out), f"malformed:{name}"
    # An empty body is what a response without one has, whatever its headers say.
    return bytes(out), None if inflater.is_finished or not data else "truncated"


class _Brotli:
    def __init__(self) -> None:
        self._state = brotli.Decompressor()

    def inflate(self, data: bytes, room: int) -> bytes:
        if not data and self._state.can_accept_more_data():
            return b""
        return bytes(self._state.process(data, output_buffer_limit=room))

    @property
    def is_finished(self) -> bool:
        return bool(self._state.is_finished())


class _Zstd:
    """Any number of frames. Feeds small pieces, because zstd's own interface has no output limit."""

    def __init__(self) -> None:
        self._state = zstandard.ZstdDecompressor().decompressobj()
        self._data, self._at = b"", 0

    def inflate(self, data: bytes, room: int) -> bytes:
        if data:
            self._data, self._at = data, 0
        out = bytearray()
        while self._at < len(self._data) and len(out) < room:
            if self._state.eof:
                self._state = zstandard.ZstdDecompressor().decompressobj()
            piece = self._data[self._at : self._at + _ZSTD_PIECE_BYTES]
            out += self._state.decompress(piece)
            self._at += len(piece) - len(self._state.unused_data)
        return bytes(out)

    @property
    def is_finished(self) -> bool:
        return self._state.eof and self._at == len(self._data)


def _deflate_state(head: bytes) -> _Inflater:
    # RFC 1950: the low nibble of the first byte is 8, and the first two bytes are a multiple of 31.
    is_zlib = len(head) == 2 and head[0] & 0x0F == 8 and int.from_bytes(head) % 31 == 0
    # The magic is gzip's: one stream, and what follows it is left out.
    return Inflater(ZLIB if is_zlib else RAW, GZIP_MAGIC)


_INFLATERS: Final[dict[str, Callable[[bytes], _Inflater]]] = {
    "gzip": lambda head: Inflater(GZIP, GZIP_MAGIC),
    "x-gzip": lambda head: Inflater(GZIP, GZIP_MAGIC),
    "deflate": _deflate_state,
    "br": lambda head: _Brotli(),
    "zstd": lambda head: _Zstd(),
}

_DEFLATERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda data: zlib.compress(data, 1, GZIP),
    "x-gzip": lambda data: zlib.compress(data, 1, GZIP),
    "deflate": lambda data: zlib.compress(data, 1),
    "br": lambda data: bytes(brotli.compress(data, quality=3)),
    "zstd": lambda data: zstandard.ZstdCompressor(level=3).compress(data),
}

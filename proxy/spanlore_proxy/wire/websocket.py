"""WebSocket messages from the bytes of one direction (RFC 6455 §5), compressed ones too (RFC 7692).

A passive reader beside a stream that goes on as it is, and the frames that replace some of it (`client_frame`).
wsproto could read frames as well, but loses the compression of a fragmented message when a ping comes
between its fragments, and inflates without a bound.

Neither the window size nor `no_context_takeover` matters to a reader: an inflater with the largest window, kept for the
whole connection, understands what a smaller one would, and a compressor that begins anew refers to nothing before.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from spanlore.inflate import RAW, Inflater

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10
_CONTINUATION: Final = 0
_KNOWN: Final = frozenset({_CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG})

MAX_MESSAGE_BYTES: Final = 64 * 1024**2
"""Of one message, compressed and plain; what is larger ends the reading, not the stream."""
_MAX_CONTROL_BYTES: Final = 125
_DEFLATE: Final = "permessage-deflate"
_CLIENT_BITS: Final = "client_max_window_bits"
_CLIENT_FORGETS: Final = "client_no_context_takeover"
_DEFLATE_TAIL: Final = b"\x00\x00\xff\xff"
"""Left out at the end of each compressed message (RFC 7692 §7.2.1)."""


class WebSocketError(ValueError):
    """The bytes are no WebSocket frames that can be read."""


@dataclass(frozen=True, slots=True)
class SocketMessage:
    """One whole message, or a control frame."""

    opcode: int
    """TEXT, BINARY, CLOSE, PING or PONG."""
    data: bytes
    """Unmasked and inflated."""
    is_compressed: bool = field(default=False, compare=False)
    """It was, on the wire."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the two sides agreed upon."""

    is_deflated: bool = False
    """Messages may be compressed."""
    client_bits: int = zlib.MAX_WBITS
    """The client's window is 2 to this many bytes."""
    client_keeps_context: bool = True
    """The client's messages may refer to bytes of earlier ones."""


@dataclass(frozen=True, slots=True)
class _Frame:
    is_last: bool
    is_compressed: bool
    opcode: int
    payload: bytes


def agreed(extensions: str) -> Agreed:
    """What the answer's Sec-WebSocket-Extensions says; '' without one.

    Raises:
        WebSocketError: Another extension was agreed upon, and may change what frames mean.
    """
    found = Agreed()
    for extension in filter(None, map(str.strip, extensions.split(","))):
        name, *parameters = (part.strip().lower() for part in extension.split(";"))
        if name != _DEFLATE:
            raise WebSocketError(f"unknown extension {name}")
        bits = next((one.partition("=")[2].strip(' "') for one in parameters if one.startswith(_CLIENT_BITS)), "")
        found = Agreed(
            is_deflated=True,
            client_bits=int(bits) if bits.isdecimal() else zlib.MAX_WBITS,
            client_keeps_context=_CLIENT_FORGETS not in parameters,
        )
    return found


def client_frame(data: bytes, mask: bytes, deflate_bits: int | None, opcode: int = TEXT) -> bytes:
    """A client's message in one frame. `mask` has 4 bytes; `deflate_bits` is None to send it uncompressed.

    The compression refers to nothing before, so it fits behind any earlier message. What the client's own compressor
    says later may refer to what it sent, so where it keeps its context, that has to be written anew as well.
    """
    if deflate_bits is not None:
        compressor = zlib.compressobj(wbits=-deflate_bits)
        data = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
        data = data.removesuffix(_DEFLATE_TAIL)
    size = len(data)
    first = 0x80 | opcode | (0x40 if deflate_bits is not None else 0)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 1 << 16:
        head = bytes((first, 0x80 | 126)) + size.to_bytes(2)
    else:
        head = bytes((first, 0x80 | 127)) + size.to_bytes(8)
    return head + mask + _masked(data, mask)


class MessageReader:
    """One direction of one connection. After a WebSocketError it must not be used any more."""

    def __init__(self, is_deflated: bool, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._is_deflated = is_deflated
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._inflater = Inflater(RAW)
        self._fragments: list[bytes] = []
        self._fragments_bytes = 0
        self._opcode: int | None = None
        self._is_compressed = False
        self.taken = 0
        """Bytes of the frames that were read so far."""

    @property
    def is_within(self) -> bool:
        """The beginning of a message was read, its end is missing."""
        return self._opcode is not None

    def feed(self, data: bytes) -> Iterator[SocketMessage]:
        """The messages and control frames that these bytes complete, in order; to be taken to the end.

        Raises:
            WebSocketError: No WebSocket frame, a broken compression, or a message beyond the bound.
        """
        self._buffer += data
        while (frame := self._next_frame()) is not None:
            message = self._take(frame)
            if message is not None:
                yield message

    def _next_frame(self) -> _Frame | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        if first & 0x30 or first & 0x0F not in _KNOWN:
            raise WebSocketError(f"a frame that begins with {first:#04x}")
        size_bytes = {126: 2, 127: 8}.get(second & 0x7F, 0)
        start = 2 + size_bytes + (4 if second & 0x80 else 0)
        if len(buffer) < start:
            return None
        length = int.from_bytes(buffer[2 : 2 + size_bytes]) if size_bytes else second & 0x7F
        if length > self._max_bytes:
            raise WebSocketError(f"a frame of {length} bytes")
        if len(buffer) < start + length:
            return None
        payload = bytes(buffer[start : start + length])
        if second & 0x80:
            payload = _masked(payload, bytes(buffer[start - 4 : start]))
        del buffer[: start + length]
        self.taken += start + length
        return _Frame(bool(first & 0x80), bool(first & 0x40), first & 0x0F, payload)

    def _take(self, frame: _Frame) -> SocketMessage | None:
        if frame.opcode >= CLOSE:
            if not frame.is_last or frame.is_compressed or len(frame.payload) > _MAX_CONTROL_BYTES:
                raise WebSocketError("a control frame in pieces, compressed or too long")
            return SocketMessage(frame.opcode, frame.payload)
        self._begin(frame)
        self._fragments.append(frame.payload)
        self._fragments_bytes += len(frame.payload)
        if self._fragments_bytes > self._max_bytes:
            raise WebSocketError("a message that is too large")
        if not frame.is_last or self._opcode is None:
            return None
        data = b"".join(self._fragments) if len(self._fragments) > 1 else frame.payload
        message = SocketMessage(
            self._opcode, self._inflated(data) if self._is_compressed else data, self._is_compressed
        )
        self._fragments, self._fragments_bytes, self._opcode = [], 0, None
        return message

    def _begin(self, frame: _Frame) -> None:
        is_more = frame.opcode == _CONTINUATION
        if is_more is (self._opcode is None):
            raise WebSocketError("a continuation of nothing, or a message within another")
        if frame.is_compressed and (is_more or not self._is_deflated):
            raise WebSocketError("compressed where it may not be")
        if not is_more:
            self._opcode, self._is_compressed = frame.opcode, frame.is_compressed

    def _inflated(self, data: bytes) -> bytes:
        try:
            # A sender may end its stream and begin another.
            out = self._inflater.inflate_all(data + _DEFLATE_TAIL, self._max_bytes)
        except zlib.error as fault:
            raise WebSocketError(f"not deflated: {fault}") from fault
        if len(out) > self._max_bytes:
            raise WebSocketError("a message that is too large when inflated")
        return out


def _masked(payload: bytes, key: bytes) -> bytes:
    size = len(payload)
    mask = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(mask, "little")).to_bytes(size, "little")

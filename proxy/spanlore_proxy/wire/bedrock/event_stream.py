"""AWS event streams (application/vnd.amazon.eventstream): binary messages, each with headers and two checksums.

Layout, big-endian: total length (4), length of the headers (4), CRC-32 of these eight bytes (4), headers, payload,
CRC-32 of all before it (4). A header: length of its name (1), name, type (1), value. Source: the AWS SDKs' event stream
specification (Smithy, `application/vnd.amazon.eventstream`).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from typing import Final

MAX_MESSAGE_BYTES: Final = 25 * 1024**2
"""The SDKs take 24 MiB of payload."""
_PRELUDE: Final = 12
_FIXED_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Header type → size of its value; types 6 (bytes) and 7 (text) say their length themselves."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One message. Only headers that are texts are kept; all that Bedrock sends are."""

    headers: dict[str, str] = field(default_factory=dict)
    payload: bytes = b""


class EventStreamDecoder:
    """Takes a stream's bytes as they come, in any chunking, and gives its messages."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self.is_broken = False
        """A length or a checksum is wrong: where the next message would begin cannot be known any more."""

    def feed(self, chunk: bytes) -> list[EventMessage]:
        """The messages that the chunk completed."""
        self._pending += chunk
        out: list[EventMessage] = []
        position = 0
        while not self.is_broken and len(self._pending) - position >= _PRELUDE:
            total, headers_size, checksum = struct.unpack_from(">III", self._pending, position)
            is_possible = _PRELUDE + headers_size + 4 <= total <= MAX_MESSAGE_BYTES
            if not is_possible or zlib.crc32(self._pending[position : position + 8]) != checksum:
                self.is_broken = True
                break
            if len(self._pending) - position < total:
                break
            message = _message(bytes(self._pending[position : position + total]), headers_size)
            if message is None:
                self.is_broken = True
                break
            out.append(message)
            position += total
        del self._pending[:position]
        return out

    @property
    def has_rest(self) -> bool:
        """Bytes of a message that is not whole."""
        return bool(self._pending)


def _message(data: bytes, headers_size: int) -> EventMessage | None:
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:]):
        return None
    end = _PRELUDE + headers_size
    headers = _headers(data[_PRELUDE:end])
    return None if headers is None else EventMessage(headers, data[end:-4])


def _headers(data: bytes) -> dict[str, str] | None:
    """The text headers; None where they do not fill their space exactly."""
    out: dict[str, str] = {}
    position = 0
    while position < len(data):
        name_end = position + 1 + data[position]
        if name_end >= len(data):
            return None
        name, type_ = data[position + 1 : name_end], data[name_end]
        position = name_end + 1
        if type_ in (6, 7):
            size = int.from_bytes(data[position : position + 2])
            position += 2
        elif type_ in _FIXED_SIZES:
            size = _FIXED_SIZES[type_]
        else:
            return None
        if position + size > len(data):
            return None
        if type_ == 7:
            out[name.decode("utf-8", "replace")] = data[position : position + size].decode("utf-8", "replace")
        position += size
    return out

"""The inverse of the event stream decoder: messages as AWS sends them."""

from __future__ import annotations

import struct
import zlib


def encode_message(headers: dict[str, str], payload: bytes) -> bytes:
    """A message's bytes; all headers are texts."""
    head = b"".join(
        bytes((len(name),)) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    # Lengths and their checksum come before the headers, the checksum of everything at the end.
    prelude = struct.pack(">II", 12 + len(head) + len(payload) + 4, len(head))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return body + struct.pack(">I", zlib.crc32(body))

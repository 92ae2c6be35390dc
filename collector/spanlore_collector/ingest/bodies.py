"""Request bodies: decompression within bounds, and what is answered when something is wrong.

Source: OTLP specification, "OTLP/HTTP": gzip must be understood, the size is to be bounded also after decompression
(64 MiB), and a failed request is answered with a `google.rpc.Status` in the request's own encoding.
"""

from __future__ import annotations

import zlib

import orjson

from spanlore.inflate import ANY, Inflater

MAX_BODY_BYTES = 64 * 1024**2

INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE = 3, 8, 14
"""Codes of `google.rpc.Code`."""


class BodyTooLargeError(ValueError):
    """The body is beyond `MAX_BODY_BYTES`, as sent or when decompressed."""


class BadBodyError(ValueError):
    """The body is not what its headers say."""


def decompress(data: bytes, encoding: str, most_bytes: int = MAX_BODY_BYTES) -> bytes:
    """The body as it was before `Content-Encoding` (gzip, deflate or none).

    Raises:
        BodyTooLargeError: it is larger than `most_bytes`.
        BadBodyError: it does not decompress, or the encoding is not known.
    """
    if encoding in ("", "identity"):
        if len(data) > most_bytes:
            raise BodyTooLargeError(f"the body is larger than {most_bytes} bytes")
        return data
    if encoding not in ("gzip", "deflate"):
        raise BadBodyError(f"Content-Encoding {encoding!r} is not supported; use gzip")
    inflater = Inflater(ANY)
    try:
        out = inflater.inflate_all(data, most_bytes)
    except zlib.error as error:
        raise BadBodyError(f"the body is not {encoding}: {error}") from None
    if len(out) > most_bytes:
        raise BodyTooLargeError(f"the body decompresses to more than {most_bytes} bytes")
    if data and not inflater.is_finished:
        raise BadBodyError(f"the {encoding} body is cut off")
    return out


def rpc_status(code: int, message: str, *, is_json: bool) -> bytes:
    """A serialized `google.rpc.Status` {int32 code = 1; string message = 2}."""
    if is_json:
        return orjson.dumps({"code": code, "message": message})
    text = message.encode("utf-8", "replace")
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(text)) + text


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

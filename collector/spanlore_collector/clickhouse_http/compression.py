"""Compression as ClickHouse's HTTP interface has it: `Content-Encoding` both ways, and the native blocks.

With `enable_http_compression=1` an answer is compressed in an encoding the client accepts; without it the server sends
it as it is, whatever `Accept-Encoding` says. `compress=1` and `decompress=1` ask for the native protocol's blocks
instead, as JDBC drivers do:

    CityHash128 1.0.2 of what follows (16) | method (1) | size with these 9 bytes (4) | size of the data (4) | data

Sources: ClickHouse docs, "HTTP Interface", "Compression"; `src/Compression/CompressedWriteBuffer.cpp`. The files of a
MergeTree table are such blocks too: the test reads one that the engine wrote.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli
import lz4.block
import lz4.frame
import zstandard
from clickhouse_cityhash.cityhash import CityHash128

from spanlore.inflate import ANY, Inflater

BLOCK_BYTES = 1024**2
_LZ4, _ZSTD, _NONE = 0x82, 0x90, 0x02
_HEADER = struct.Struct("<BII")
_HASH_BYTES = 16
_STEP_BYTES = 4096
"""Of zstd taken at once: the bound is looked at in between."""


class CompressionError(ValueError):
    """A body is not what its headers say, or too large. The message says which."""


class Encoder(Protocol):
    """Compresses an answer piece by piece."""

    def feed(self, data: bytes) -> bytes:
        """The bytes to send now."""

    def finish(self) -> bytes:
        """The last bytes."""


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._object = zlib.compressobj(3, zlib.DEFLATED, window_bits)

    def feed(self, data: bytes) -> bytes:
        return self._object.compress(data) + self._object.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._object.flush()


class _Brotli:
    def __init__(self) -> None:
        self._object = brotli.Compressor(quality=3)

    def feed(self, data: bytes) -> bytes:
        return bytes(self._object.process(data) + self._object.flush())

    def finish(self) -> bytes:
        return bytes(self._object.finish())


class _Zstd:
    def __init__(self) -> None:
        self._object = zstandard.ZstdCompressor(level=1).compressobj()

    def feed(self, data: bytes) -> bytes:
        return self._object.compress(data) + self._object.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self) -> bytes:
        return self._object.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH)


class _Lz4:
    def __init__(self) -> None:
        self._object = lz4.frame.LZ4FrameCompressor()
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        head = b"" if self._begun else bytes(self._object.begin())
        self._begun = True
        return head + bytes(self._object.compress(data))

    def finish(self) -> bytes:
        head = b"" if self._begun else bytes(self._object.begin())
        return head + bytes(self._object.flush())


class _Identity:
    def feed(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Blocks:
    def feed(self, data: bytes) -> bytes:
        return b"".join(
            compressed_block(data[start : start + BLOCK_BYTES]) for start in range(0, len(data), BLOCK_BYTES)
        )

    def finish(self) -> bytes:
        return b""


_ENCODERS: dict[str, Callable[[], Encoder]] = {
    "lz4": _Lz4,
    "zstd": _Zstd,
    "gzip": lambda: _Zlib(31),
    "deflate": lambda: _Zlib(15),
    "br": _Brotli,
}
"""By what costs least at about the same size."""


def encoding_for(accepted: str) -> str:
    """The encoding of an answer for an `Accept-Encoding` header; '' for none."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameters = part.partition(";")
        weight = parameters.strip().removeprefix("q=")
        try:
            weights[name.strip()] = float(weight) if weight else 1.0
        except ValueError:
            continue
    return max((name for name in _ENCODERS if weights.get(name)), key=lambda name: weights[name], default="")


def encoder(encoding: str) -> Encoder:
    """For an encoding of `encoding_for`; '' leaves everything as it is."""
    return _ENCODERS[encoding]() if encoding else _Identity()


def block_encoder() -> Encoder:
    """For `compress=1`."""
    return _Blocks()


def compressed_block(data: bytes) -> bytes:
    """One native block, in LZ4."""
    packed: bytes = lz4.block.compress(data, store_size=False)
    body = _HEADER.pack(_LZ4, len(packed) + _HEADER.size, len(data)) + packed
    return _hash_of(body) + body


def decompress_blocks(data: bytes, most_bytes: int) -> bytes:
    """What native blocks hold.

    Raises:
        CompressionError: a block is broken, its hash is wrong, its method is not known, or all is beyond `most_bytes`.
    """
    out = bytearray()
    for method, size, packed in _blocks(data):
        if len(out) + size > most_bytes:
            raise CompressionError(f"the body decompresses to more than {most_bytes} bytes")
        try:
            out += _unpacked(method, size, packed)
        except (lz4.block.LZ4BlockError, zstandard.ZstdError) as error:
            raise CompressionError(f"a compressed block is broken: {error}") from None
    return bytes(out)


def _blocks(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(data):
        body_at = at + _HASH_BYTES
        if len(data) < body_at + _HEADER.size:
            raise CompressionError("a compressed block is cut off")
        method, packed_size, size = _HEADER.unpack_from(data, body_at)
        end = body_at + packed_size
        if packed_size < _HEADER.size or len(data) < end:
            raise CompressionError("a compressed block is cut off")
        if _hash_of(data[body_at:end]) != data[at:body_at]:
            raise CompressionError("the checksum of a compressed block does not match")
        yield method, size, data[body_at + _HEADER.size : end]
        at = end


def _unpacked(method: int, size: int, packed: bytes) -> bytes:
    if method == _LZ4:
        return bytes(lz4.block.decompress(packed, uncompressed_size=size))
    if method == _ZSTD:
        return bytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=size))
    if method == _NONE:
        return packed
    raise CompressionError(f"the compression method {method:#x} is not supported; use LZ4, ZSTD or NONE")


def _hash_of(body: bytes) -> bytes:
    number: int = CityHash128(body)
    return struct.pack("<QQ", number >> 64, number & 0xFFFFFFFFFFFFFFFF)


def decompress(data: bytes, encoding: str, most_bytes: int) -> bytes:
    """A request's body before its `Content-Encoding`.

    Raises:
        CompressionError: it does not decompress, the encoding is not known, or it is beyond `most_bytes`.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return data
    try:
        out = _DECODERS[name](data, most_bytes + 1)
    except KeyError:
        raise CompressionError(f"Content-Encoding {encoding!r} is not supported; use gzip, zstd or lz4") from None
    except (zlib.error, brotli.error, zstandard.ZstdError, RuntimeError, EOFError) as error:
        raise CompressionError(f"the body is not {name}: {error}") from None
    if len(out) > most_bytes:
        raise CompressionError(f"the body decompresses to more than {most_bytes} bytes")
    return out


def _inflated(data: bytes, most_bytes: int) -> bytes:
    inflater = Inflater(ANY)
    out = inflater.inflate_all(data, most_bytes - 1)
    return _ended(out, inflater.is_finished, most_bytes)


def _unbrotlied(data: bytes, most_bytes: int) -> bytes:
    inflater = brotli.Decompressor()
    out = bytes(inflater.process(data, output_buffer_limit=most_bytes))
    while len(out) < most_bytes and not inflater.is_finished():
        more = bytes(inflater.process(b"", output_buffer_limit=most_bytes))
        if not more:
            break
        out += more
    return _ended(out, inflater.is_finished(), most_bytes)


def _unzstd(data: bytes, most_bytes: int) -> bytes:
    inflater = zstandard.ZstdDecompressor().decompressobj()
    size = zstandard.frame_content_size(data)
    if size > most_bytes:
        return bytes(most_bytes)
    out = bytearray()
    for start in range(0, len(data), _STEP_BYTES):
        out += inflater.decompress(data[start : start + _STEP_BYTES])
        if len(out) >= most_bytes or inflater.eof:
            break
    return _ended(bytes(out), inflater.eof, most_bytes)


def _unlz4(data: bytes, most_bytes: int) -> bytes:
    inflater = lz4.frame.LZ4FrameDecompressor()
    out = bytes(inflater.decompress(data, max_length=most_bytes))
    return _ended(out, bool(inflater.eof), most_bytes)


def _ended(out: bytes, is_whole: bool, most_bytes: int) -> bytes:
    if not is_whole and len(out) < most_bytes:
        raise CompressionError("the compressed body is cut off")
    return out


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _inflated,
    "x-gzip": _inflated,
    "deflate": _inflated,
    "br": _unbrotlied,
    "zstd": _unzstd,
    "lz4": _unlz4,
}

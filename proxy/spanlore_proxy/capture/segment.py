"""One segment file of the spool: length and checksum framed records, appended and fsynced.

A frame is magic, length, CRC-32, time of capture and payload. A frame that kill -9 left half written fails its
length or its checksum; it was never counted as captured. After a damaged frame the reader goes on at the next magic,
so one bad sector costs the records on it and no more.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAGIC: Final = b"\xf5SLR"
FRAME: Final = struct.Struct("<4sIIQ")
"""Magic, payload bytes, CRC-32 of the payload, time in ns since the epoch."""
MAX_PAYLOAD_BYTES: Final = 512 * 1024**2


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it lies in a segment."""

    start: int
    """Offset of its frame."""
    end: int
    """Offset behind it."""
    time_ns: int
    payload: bytes


class SegmentWriter:
    """The segment that is being appended to. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        """Makes the file, 0600.

        Raises:
            OSError: it cannot be made.
        """
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.size_bytes = 0
        """Bytes that are durable."""
        sync_directory(path.parent)

    def append(self, records: Sequence[tuple[int, bytes]]) -> None:
        """Appends (time, payload) records and fsyncs once: all of them are durable, or none is.

        Raises:
            OSError: disk full or broken; the file is what it was before.
        """
        data = b"".join(encode_frame(time_ns, payload) for time_ns, payload in records)
        try:
            _write_all(self._descriptor, data)
            os.fsync(self._descriptor)
        except OSError:
            # Cutting a file works on a full disk, too; without it the next frame would stand behind a torn one.
            os.ftruncate(self._descriptor, self.size_bytes)
            raise
        self.size_bytes += len(data)

    def close(self) -> None:
        os.close(self._descriptor)


def encode_frame(time_ns: int, payload: bytes) -> bytes:
    """The record as bytes of a segment."""
    return FRAME.pack(MAGIC, len(payload), zlib.crc32(payload), time_ns) + payload


def read_records(path: Path, start: int, end: int) -> Iterator[Record]:
    """The whole records between two offsets, damaged ones left out. O(bytes read), one record in memory.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        offset = start
        while offset + FRAME.size <= end:
            file.seek(offset)
            found = _read_frame(file.read(FRAME.size), offset, end)
            if found is not None:
                time_ns, checksum, behind = found
                payload = file.read(behind - offset - FRAME.size)
                if zlib.crc32(payload) == checksum:
                    yield Record(offset, behind, time_ns, payload)
                    offset = behind
                    continue
            offset = _next_magic(path, offset + 1, end)


def count_records(path: Path, start: int, end: int) -> tuple[int, int]:
    """(number of records, time of the first) between two offsets, by their frames alone, payloads unread."""
    count, first_ns = 0, 0
    with path.open("rb") as file:
        offset = start
        while offset + FRAME.size <= end:
            file.seek(offset)
            found = _read_frame(file.read(FRAME.size), offset, end)
            if found is None:
                offset = _next_magic(path, offset + 1, end)
                continue
            count, first_ns, offset = count + 1, first_ns or found[0], found[2]
    return count, first_ns


def sync_directory(path: Path) -> None:
    """Makes new names in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_frame(head: bytes, offset: int, end: int) -> tuple[int, int, int] | None:
    if len(head) < FRAME.size:
        return None
    magic, length, checksum, time_ns = FRAME.unpack(head)
    behind = offset + FRAME.size + length
    if magic != MAGIC or length > MAX_PAYLOAD_BYTES or behind > end:
        return None
    return time_ns, checksum, behind


def _next_magic(path: Path, start: int, end: int) -> int:
    """Offset of the next magic, or `end`."""
    with path.open("rb") as file:
        file.seek(start)
        block_start, tail = start, b""
        while block_start < end and (block := file.read(1024**2)):
            found = (tail + block).find(MAGIC)
            if found >= 0:
                return block_start - len(tail) + found
            block_start, tail = block_start + len(block), block[-len(MAGIC) + 1 :]
    return end


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]

"""The bounded spool between capture and the collector: what is in it survives kill -9 and a dead collector.

Records go in at the end, durable before `append` returns, and come out at the front in batches. What the collector
acknowledged is deleted; everything else stays, through restarts. A batch is written down before it is sent for the
first time, so that a restarted proxy sends the same bytes with the same token again and the collector can tell that
it has them. When the spool is full the content of the oldest records goes first, then the oldest records; both are
counted. Files: `NNN.seg`, `NNN.stripped` (without content), `cursor.json` (what is acknowledged), `intent.json` (the
batch that is under way), `dead/` (what the collector refused for good), `lock`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore_proxy.capture import counters
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.segment import Record, SegmentWriter, count_records, encode_frame, read_records

MAX_SEGMENT_BYTES: Final = 8 * 1024**2
MIN_SEGMENTS: Final = 8
"""A full spool has at least this many segments, so giving one up costs at most an eighth."""
MAX_DEAD_BYTES: Final = 64 * 1024**2


class SpoolLockedError(OSError):
    """Another proxy of this user is writing this spool."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records that are delivered together."""

    token: str
    """32 hex digits, of the body: equal tokens mean equal bytes."""
    body: bytes
    """The payloads one after the other: serialized protobuf messages merge by concatenation."""
    count: int
    sequence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What waits for delivery."""

    bytes: int
    records: int
    segments: int
    oldest_time_ns: int | None
    """When the oldest waiting record was captured; None while nothing waits."""


@dataclass(slots=True)
class _Segment:
    sequence: int
    path: Path
    size_bytes: int
    records: int
    first_ns: int

    @property
    def is_stripped(self) -> bool:
        return self.path.suffix == ".stripped"


class Spool:
    """One spool directory. Safe from any thread; a call waits for the disk, so the event loop uses a thread."""

    def __init__(
        self, folder: Path, *, max_bytes: int, counts: Counters, strip: Callable[[bytes], bytes] = lambda data: data
    ) -> None:
        """Takes over what an earlier process left. `strip` gives a payload without its content.

        Raises:
            SpoolLockedError: another process has it.
            OSError: the directory cannot be read or written.
        """
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = min(MAX_SEGMENT_BYTES, max_bytes // MIN_SEGMENTS)
        self._counts = counts
        self._strip = strip
        self._mutex = threading.Lock()
        self._lock_descriptor = _lock(folder / "lock")
        self._writer: SegmentWriter | None = None
        self._cursor_sequence, self._cursor = _read_cursor(folder / "cursor.json")
        self._segments = self._load()
        self._next_sequence = max([self._cursor_sequence, *(s.sequence for s in self._segments)]) + 1
        self._under_way = self._restore_intent()

    def append(self, payloads: Sequence[bytes], time_ns: int) -> None:
        """Makes all payloads durable with one fsync, then holds the bound.

        Raises:
            OSError: none of them is in the spool (disk full or broken).
        """
        with self._mutex:
            writer, segment = self._writable()
            writer.append([(time_ns, payload) for payload in payloads])
            segment.size_bytes = writer.size_bytes
            segment.records += len(payloads)
            segment.first_ns = segment.first_ns or time_ns
            if writer.size_bytes >= self._segment_bytes:
                self._roll()
            self._hold_bound()

    def next_batch(self, max_bytes: int, max_records: int) -> Batch | None:
        """The batch to deliver next: the one under way until it is settled, None when nothing waits."""
        with self._mutex:
            while self._under_way is None:
                head = self._segments[0] if self._segments else None
                if head is None:
                    return None
                offset = self._offset(head)
                records = _take(head, offset, max_bytes, max_records)
                if records:
                    self._send(_batch(head.sequence, records))
                elif head is self._active():
                    return None
                else:
                    self._finish(head)
            return self._under_way

    def acknowledge(self, batch: Batch) -> None:
        """The collector has it: it is deleted. A batch that is no longer under way is ignored."""
        with self._mutex:
            if self._under_way is None or self._under_way.token != batch.token:
                return
            self._under_way = None
            self._cursor_sequence, self._cursor = batch.sequence, batch.end
            _note(self._folder / "cursor.json", {"sequence": batch.sequence, "offset": batch.end})
            (self._folder / "intent.json").unlink(missing_ok=True)
            head = self._segments[0] if self._segments else None
            if head is not None and head.sequence == batch.sequence:
                head.records -= batch.count
                if batch.end >= head.size_bytes:
                    self._finish(head)

    def halve(self, batch: Batch) -> Batch:
        """The first half of a batch of two or more, now under way in its place: to find the record that is refused."""
        with self._mutex:
            head = self._segments[0]
            records = _take(head, batch.start, MAX_SEGMENT_BYTES * MIN_SEGMENTS, max(batch.count // 2, 1))
            half = _batch(head.sequence, records)
            self._send(half)
            return half

    def bury(self, batch: Batch, reason: str) -> None:
        """Sets aside what the collector will never take, and counts it as lost."""
        dead = self._folder / "dead"
        dead.mkdir(exist_ok=True, mode=0o700)
        _write_private(dead / f"{batch.token}.pb", batch.body)
        _prune(dead, MAX_DEAD_BYTES)
        self._counts.add(counters.LOST, reason, batch.count)
        self.acknowledge(batch)

    def state(self) -> SpoolState:
        """What waits for delivery now."""
        with self._mutex:
            waiting = [segment for segment in self._segments if segment.records > 0]
            return SpoolState(
                bytes=self._total_bytes(),
                records=sum(segment.records for segment in waiting),
                segments=len(self._segments),
                oldest_time_ns=waiting[0].first_ns if waiting else None,
            )

    def close(self) -> None:
        """Ends writing; another process may take over."""
        with self._mutex:
            self._roll()
            if self._lock_descriptor >= 0:
                os.close(self._lock_descriptor)
                self._lock_descriptor = -1

    def _load(self) -> list[_Segment]:
        found: dict[int, Path] = {}
        for path in sorted(self._folder.iterdir()):
            if path.suffix == ".tmp":
                path.unlink()
            elif path.suffix in (".seg", ".stripped") and path.stem.isdigit():
                # `.stripped` sorts behind `.seg` and replaces it: it was renamed only once it was whole.
                if previous := found.get(int(path.stem)):
                    previous.unlink()
                found[int(path.stem)] = path
        segments = []
        for sequence, path in sorted(found.items()):
            segment = _Segment(sequence, path, path.stat().st_size, 0, 0)
            if sequence < self._cursor_sequence or self._offset(segment) >= segment.size_bytes:
                path.unlink()
                continue
            segment.records, segment.first_ns = count_records(path, self._offset(segment), segment.size_bytes)
            segments.append(segment)
        return segments

    def _restore_intent(self) -> Batch | None:
        intent = _read_json(self._folder / "intent.json")
        head = self._segments[0] if self._segments else None
        if head is None or intent.get("sequence") != head.sequence or intent.get("start") != self._offset(head):
            return None
        records = list(read_records(head.path, self._offset(head), min(int(intent.get("end", 0)), head.size_bytes)))
        batch = _batch(head.sequence, records) if records else None
        return batch if batch is not None and batch.token == intent.get("token") else None

    def _writable(self) -> tuple[SegmentWriter, _Segment]:
        if self._writer is None:
            path = self._folder / f"{self._next_sequence:016d}.seg"
            self._writer = SegmentWriter(path)
            self._segments.append(_Segment(self._next_sequence, path, 0, 0, 0))
            self._next_sequence += 1
        return self._writer, self._segments[-1]

    def _active(self) -> _Segment | None:
        return self._segments[-1] if self._writer is not None else None

    def _roll(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _remove(self, segment: _Segment) -> None:
        if segment is self._active():
            self._roll()
        self._segments.remove(segment)
        segment.path.unlink(missing_ok=True)

    def _finish(self, segment: _Segment) -> None:
        """Removes a segment that was read to its end; what it still counts could not be read."""
        if segment.records > 0:
            self._counts.add(counters.LOST, "spool_damaged", segment.records)
        self._remove(segment)

    def _offset(self, segment: _Segment) -> int:
        return self._cursor if segment.sequence == self._cursor_sequence else 0

    def _total_bytes(self) -> int:
        acknowledged = self._offset(self._segments[0]) if self._segments else 0
        return sum(segment.size_bytes for segment in self._segments) - acknowledged

    def _send(self, batch: Batch) -> None:
        intent = {"sequence": batch.sequence, "start": batch.start, "end": batch.end, "token": batch.token}
        _note(self._folder / "intent.json", intent)
        self._under_way = batch

    def _hold_bound(self) -> None:
        while self._total_bytes() > self._max_bytes:
            # The batch under way is left alone: its bytes must stay what its token says.
            closed = [s for s in self._segments if s is not self._active() and not self._is_under_way(s)]
            fat = next((s for s in closed if not s.is_stripped and self._offset(s) == 0), None)
            if fat is not None and self._strip_segment(fat):
                continue
            if not closed:
                return
            self._counts.add(counters.LOST, "spool_full", closed[0].records)
            self._remove(closed[0])

    def _is_under_way(self, segment: _Segment) -> bool:
        return self._under_way is not None and self._under_way.sequence == segment.sequence

    def _strip_segment(self, segment: _Segment) -> bool:
        records = [(r.time_ns, self._strip(r.payload)) for r in read_records(segment.path, 0, segment.size_bytes)]
        data = b"".join(encode_frame(time_ns, payload) for time_ns, payload in records)
        stripped = segment.path.with_suffix(".stripped")
        try:
            _write_private(stripped, data)
        except OSError:
            return False
        segment.path.unlink(missing_ok=True)
        segment.path, segment.size_bytes, segment.records = stripped, len(data), len(records)
        self._counts.add(counters.STRIPPED, "spool_full", len(records))
        return True


def _batch(sequence: int, records: Sequence[Record]) -> Batch:
    body = b"".join(record.payload for record in records)
    token = hashlib.blake2b(body, digest_size=16).hexdigest()
    return Batch(token, body, len(records), sequence, records[0].start, records[-1].end)


def _take(segment: _Segment, offset: int, max_bytes: int, max_records: int) -> list[Record]:
    """The next records, as many as fit; at least one if there is any."""
    taken: list[Record] = []
    size = 0
    for record in read_records(segment.path, offset, segment.size_bytes):
        size += len(record.payload)
        if taken and (size > max_bytes or len(taken) >= max_records):
            break
        taken.append(record)
    return taken


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise SpoolLockedError(f"{path.parent} is in use by another spanlore proxy; stop it first") from error
    return descriptor


def _read_cursor(path: Path) -> tuple[int, int]:
    data = _read_json(path)
    return int(data.get("sequence", 0)), int(data.get("offset", 0))


def _read_json(path: Path) -> dict[str, Any]:
    """The object in the file; empty when it is missing or torn, which only means that something is sent again."""
    try:
        data = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _note(path: Path, data: dict[str, Any]) -> None:
    fresh = path.with_suffix(".tmp")
    try:
        fresh.write_bytes(orjson.dumps(data))
        fresh.replace(path)
    except OSError:
        # A full disk must not keep the spool from being emptied. Without the note a crash makes the proxy send
        # again what the collector has, and the collector drops it by span id.
        fresh.unlink(missing_ok=True)


def _write_private(path: Path, data: bytes) -> None:
    """The file, 0600, whole or not at all."""
    fresh = path.with_name(path.name + ".tmp")
    fresh.unlink(missing_ok=True)
    writer = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(writer, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _prune(folder: Path, max_bytes: int) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    total = sum(path.stat().st_size for path in files)
    for path in files[:-1]:
        if total <= max_bytes:
            return
        total -= path.stat().st_size
        path.unlink()

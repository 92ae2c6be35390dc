"""Exchanges that are under way or wait for the recorder, in memory that outlives the proxy.

What is over is recorded a little later, and kill -9 takes all that a process has in its memory. It may not go to the
disk before it is redacted. So it stands meanwhile in anonymous files in memory (`memfd_create`) that belong to the
supervisor: they have no name, no bytes on any disk (but for swap, as all memory), and end with the daemon. A proxy that
was killed leaves them to the next one, which records what it finds there, in order, before anything new.

A request goes in once it has left, with all that is known of it; what its answer adds, before the answer's end is
passed on: whoever has seen the end of a stream can rely on it. (Where a Content-Length tells the end, its last bytes
are ahead by a moment.) An exchange is taken out once the spool has it. A crash between the two only tells the same
spans again under the same ids, which the collector drops.

Where there are no such files (no supervisor, macOS) a killed proxy loses what waits. Then, and when supervisor and
proxy are killed together, `Tally` tells the next proxy how much that was.

A file is frames one after the other: header, payload. A header is written last, when what it stands before is there,
and behind each frame stand zeros where the next header will be, so a frame that the kill cut off is no frame. When
nothing in a file is needed any more it begins anew on the same memory: new pages cost more than all the rest of it.
What was there before is never read, since a payload is what a client makes of it, and could look like a frame.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import MAX_DECODED_BYTES, Asked, Captured, Fields, RequestHead, request_exchange
from spanlore_proxy.capture.packed import Packed, pack
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.rewrite import Insertion, weave
from spanlore_proxy.injection.upstream import Watched
from spanlore_proxy.wire.codecs import read_request
from spanlore_proxy.wire.content import decode
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.request import MalformedRequestError

FILE_BYTES: Final = 16 * 1024**2
"""From here on another file is taken, if one is empty."""
MAX_HELD_BYTES: Final = 192 * 1024**2
"""In all files. What comes on top is not held; the tally knows of it."""
KEPT_BYTES: Final = 4 * 1024**2
"""So much memory a file keeps when it begins anew."""
MAX_TRIES: Final = 10
"""So often the recorder begins with an exchange: one that kills the proxy itself must not do so for ever."""

_HEADER: Final = struct.Struct("<4sBBxx8sQ")
"""Magic, kind, how often the recorder began with it (or `_DONE`), id, payload bytes."""
_ALIGNED: Final = 32
"""Where frames begin: no header lies on two pages, so it is written whole or not at all."""
_ZEROS: Final = bytes(_ALIGNED + _HEADER.size)
_MAGIC: Final = b"\xf5SLI"
_STATE_AT: Final = 5
_DONE: Final = 255


_LENGTH: Final = struct.Struct("<Q")


class _Kind(IntEnum):
    REQUEST = 1
    """Length of what is known of it and that, pickled, if anything; then the body as the client sent it."""
    END = 2
    """All the rest."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of an exchange when its request has left."""

    captured: Captured
    """Without bodies."""
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class _Rest:
    """What an exchange is besides what was held when its request had left."""

    known: _Known | None
    """None where it stands with the request."""
    status_code: int | None
    response_fields: Fields
    end: End
    end_time_ns: int
    sent: bytes | None
    """None where the body has a frame of its own."""
    plain: bytes | None
    """None where it is the sent body, content-decoded."""
    forwarded: bytes | None
    """None where it is the sent body with the insertions."""
    answer: bytes
    answer_size: int
    answer_times: tuple[int | None, int | None]
    has_answer: bool


@dataclass(slots=True)
class _Place:
    """Where the frames of one exchange stand."""

    frames: list[tuple[int, int]] = field(default_factory=list)
    """(index of the file, offset)."""
    is_known: bool = False
    """The request's frame tells more than its body."""
    tries: int = 0
    end: tuple[int, int] | None = None
    """Of the frame that says that it is over."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What an earlier proxy left."""

    captured: tuple[Captured | Packed, ...] = ()
    """In the order in which they were over."""
    unreadable: int = 0
    """Exchanges that were over, and can't be had back."""


class HeldExchanges:
    """The files, for one proxy. Safe from any thread; with no files nothing is held."""

    def __init__(self, descriptors: Sequence[int] = (), max_bytes: int = MAX_HELD_BYTES) -> None:
        self._files = list(descriptors) if len(descriptors) > 1 else []
        """While one is given back another takes what comes."""
        self._max_bytes = max_bytes
        self._sizes = [os.fstat(descriptor).st_size for descriptor in self._files]
        """Bytes of each file that its frames take up."""
        self._kept = list(self._sizes)
        """Bytes of memory that each file has."""
        self._needed = [0] * len(self._files)
        """Frames of each file that are needed still."""
        self._current = 0
        self._emptying: int | None = None
        """A file that is given back at this moment: some milliseconds, for which no agent waits."""
        self._places: dict[str, _Place] = {}
        self._lock = threading.Lock()

    @property
    def is_possible(self) -> bool:
        """Whether there are files."""
        return bool(self._files)

    def __len__(self) -> int:
        """Exchanges that are held."""
        return len(self._places)

    @property
    def size_bytes(self) -> int:
        """Of all frames."""
        return sum(self._sizes)

    def recover(self) -> Recovered:
        """What is in the files of an earlier proxy, held on until it is `settle`d. To be called first, once."""
        bodies: dict[bytes, tuple[int, int, bytes]] = {}
        over: dict[bytes, tuple[int, int, int, bytes]] = {}
        for number in range(len(self._files)):
            for offset, kind, tries, key, payload in self._frames(number):
                if tries == _DONE:
                    continue
                if kind == _Kind.REQUEST:
                    bodies[key] = (number, offset, payload)
                else:
                    over[key] = (number, offset, tries, payload)
        found: list[Captured | Packed] = []
        unreadable = 0
        for key, (number, offset, tries, payload) in over.items():
            body = bodies.get(key)
            captured = _restored(payload, body[2] if body is not None else None) if tries < MAX_TRIES else None
            if captured is None:
                unreadable += 1
                os.pwrite(self._files[number], bytes((_DONE,)), offset + _STATE_AT)  # told once
                continue
            place = self._places[key.hex()] = _Place([(number, offset)], tries=tries, end=(number, offset))
            place.frames += [body[:2]] if body is not None else []
            for held_in, _ in place.frames:
                self._needed[held_in] += 1
            found.append(captured)
        self._give_back()
        return Recovered(tuple(sorted(found, key=_end_time_ns)), unreadable)

    def begin(self, exchange_id: str, body: bytes, known: Captured | None = None) -> None:
        """Holds the body that a client has sent, and what is `known` of the exchange when its request has left; that
        may not change any more. `exchange_id` is 16 hex digits."""
        told = b"" if known is None else _pickled(_known(known))
        place = self._append(exchange_id, _Kind.REQUEST, _LENGTH.pack(len(told)) + told, body)
        if place is not None:
            place.is_known = known is not None

    def end(self, captured: Captured) -> None:
        """Holds an exchange that is over, until it is settled."""
        place = self._places.get(captured.head.id)
        rest = _rest(captured, has_body=place is not None, is_known=place is not None and place.is_known)
        self._append(captured.head.id, _Kind.END, _pickled(rest))

    def trying(self, exchange_ids: Sequence[str]) -> None:
        """The recorder begins with them."""
        with self._lock:
            for exchange_id in exchange_ids:
                place = self._places.get(exchange_id)
                if place is not None and place.end is not None:
                    place.tries = min(place.tries + 1, MAX_TRIES)
                    number, offset = place.end
                    os.pwrite(self._files[number], bytes((place.tries,)), offset + _STATE_AT)

    def settle(self, exchange_ids: Sequence[str]) -> None:
        """They are durable elsewhere, or not wanted."""
        with self._lock:
            for exchange_id in exchange_ids:
                place = self._places.pop(exchange_id, None)
                for number, offset in place.frames if place is not None else ():
                    os.pwrite(self._files[number], bytes((_DONE,)), offset + _STATE_AT)
                    self._needed[number] -= 1
        self._give_back()

    def _append(self, exchange_id: str, kind: _Kind, *payload: bytes) -> _Place | None:
        """The place, None when there is none for it."""
        length = sum(map(len, payload))
        size = -(-(_HEADER.size + length) // _ALIGNED) * _ALIGNED
        with self._lock:
            if not self._files or sum(self._sizes) + size > self._max_bytes:
                return None
            number = self._current = self._roomy()
            descriptor, offset = self._files[number], self._sizes[number]
            behind = _ZEROS[: size - length]  # up to the next header's end
            written = os.pwritev(descriptor, (*payload, behind), offset + _HEADER.size)
            if written < length + len(behind):
                return None  # no memory: it is not held
            header = _HEADER.pack(_MAGIC, kind, 0, bytes.fromhex(exchange_id), length)
            os.pwrite(descriptor, header, offset)
            self._sizes[number] += size
            self._kept[number] = max(self._kept[number], offset + size + _HEADER.size)
            self._needed[number] += 1
            place = self._places.setdefault(exchange_id, _Place())
            place.frames.append((number, offset))
            if kind is _Kind.END:
                place.end = (number, offset)
            return place

    def _roomy(self) -> int:
        """The file to go on in."""
        if self._sizes[self._current] < FILE_BYTES and self._current != self._emptying:
            return self._current
        usable = [number for number in range(len(self._files)) if number != self._emptying]
        return min(usable, key=lambda number: (self._sizes[number], number))

    def _give_back(self) -> None:
        """Files in which nothing is needed any more begin anew. What they have too much goes back to the system without
        the lock, since that takes a while."""
        for number in range(len(self._files)):
            with self._lock:
                if self._needed[number] or not self._sizes[number] or self._emptying is not None:
                    continue
                os.pwrite(self._files[number], _ZEROS[: _HEADER.size], 0)
                self._sizes[number] = 0
                if self._kept[number] <= KEPT_BYTES:
                    continue
                self._emptying = number
            try:
                os.ftruncate(self._files[number], KEPT_BYTES)
            finally:
                with self._lock:
                    self._kept[number] = min(self._kept[number], KEPT_BYTES)
                    self._emptying = None

    def _frames(self, number: int) -> Iterator[tuple[int, int, int, bytes, bytes]]:
        """(offset, kind, tries, id, payload) of the frames of a file, b"" for those that are done; then its size is
        where they end."""
        descriptor, size, offset = self._files[number], self._sizes[number], 0
        while offset + _HEADER.size <= size:
            magic, kind, tries, key, length = _HEADER.unpack(os.pread(descriptor, _HEADER.size, offset))
            end = offset + -(-(_HEADER.size + length) // _ALIGNED) * _ALIGNED
            if magic != _MAGIC or offset + _HEADER.size + length > size:
                break
            payload = b"" if tries == _DONE else os.pread(descriptor, length, offset + _HEADER.size)
            yield offset, kind, tries, key, payload
            offset = end
        self._sizes[number] = min(offset, size)


class Tally:
    """How many exchanges are under way, and how many are over and not yet durable: sixteen bytes of a file, mapped, so
    that they survive the process. Not for several threads at once but for `settled`."""

    _NUMBERS: Final = struct.Struct("<QQ")

    def __init__(self, path: Path) -> None:
        """Raises:
        OSError: the file cannot be made or mapped.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, self._NUMBERS.size)
            self._map = mmap.mmap(descriptor, self._NUMBERS.size)
        finally:
            os.close(descriptor)
        self._lock = threading.Lock()
        self.found = self._NUMBERS.unpack_from(self._map)
        """(under way, over and not durable) when the process before ended; zeros where it ended in order."""
        self._running = self._unsettled = 0
        self._write()

    def begun(self) -> None:
        """One more is under way."""
        self._change(1, 0)

    def over(self, *, is_wanted: bool) -> None:
        """One that was under way is over, and is to be recorded or not."""
        self._change(-1, int(is_wanted))

    def settled(self, count: int = 1) -> None:
        """So many are durable, or counted as lost."""
        self._change(0, -count)

    def adopted(self, count: int) -> None:
        """So many of the process before are to be recorded."""
        self._change(0, count)

    def close(self) -> None:
        self._map.close()

    def _change(self, running: int, unsettled: int) -> None:
        with self._lock:
            self._running = max(self._running + running, 0)
            self._unsettled = max(self._unsettled + unsettled, 0)
            self._write()

    def _write(self) -> None:
        self._NUMBERS.pack_into(self._map, 0, self._running, self._unsettled)


def _by_fields(kind: Any) -> Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]:
    values = attrgetter(*(one.name for one in fields(kind)))
    return lambda one: (kind, values(one))


_REDUCED: Final[Mapping[type, Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]]] = {
    kind: _by_fields(kind)
    for kind in (_Known, _Rest, Captured, RequestHead, Endpoint, Injected, Insertion, Workplace, Identity, Watched)
}
"""Class → what to call, and with which values, to have one again. Else `dataclasses` collects the state of each frozen
object in Python, and an agent waits twice as long for what is held."""


def _pickled(one: _Known | _Rest) -> bytes:
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=5)
    pickler.dispatch_table = _REDUCED
    pickler.dump(one)
    return out.getvalue()


def _known(captured: Captured) -> _Known:
    bare = replace(captured, sent_body=b"", plain_body=b"", forwarded_body=b"", tap=None, asked=None)
    return _Known(bare, captured.asked.identity if captured.asked is not None else None)


def _rest(captured: Captured, *, has_body: bool, is_known: bool) -> _Rest:
    sent, plain, forwarded = captured.sent_body, captured.plain_body, captured.forwarded_body
    tap = captured.tap
    is_woven = plain is sent and (forwarded is sent or bool(captured.insertions))
    return _Rest(
        known=None if is_known else _known(captured),
        status_code=captured.status_code,
        response_fields=captured.response_fields,
        end=captured.end,
        end_time_ns=captured.end_time_ns,
        sent=None if has_body else sent,
        plain=None if plain is sent or _encoding(captured) else plain,
        forwarded=None if is_woven or forwarded is sent else forwarded,
        answer=tap.body() if tap is not None else b"",
        answer_size=tap.size_bytes if tap is not None else 0,
        answer_times=(tap.first_chunk_time_ns, tap.last_chunk_time_ns) if tap is not None else (None, None),
        has_answer=tap is not None,
    )


def _restored(payload: bytes, asked: bytes | None) -> Captured | Packed | None:
    """The exchange as it was, packed where that can be; None where it can't be had back. `asked`: the request's
    frame."""
    try:
        rest = pickle.loads(payload)  # noqa: S301 - a file of this process's own, that nobody else may write
        body, known = (None, None) if asked is None else _request(asked)
        sent, known = (body if rest.sent is None else rest.sent), (known if rest.known is None else rest.known)
        return None if sent is None or known is None else _whole(rest, known, sent)
    except Exception:
        # Whatever an earlier version or a torn page left: unpickling may raise anything.
        return None


def _request(payload: bytes) -> tuple[bytes, _Known | None]:
    start = _LENGTH.size + _LENGTH.unpack_from(payload)[0]
    told = payload[_LENGTH.size : start]
    return payload[start:], pickle.loads(told) if told else None  # noqa: S301 - the same file


def _whole(rest: _Rest, known: _Known, sent: bytes) -> Captured | Packed:
    captured = replace(
        known.captured,
        status_code=rest.status_code,
        response_fields=rest.response_fields,
        end=rest.end,
        end_time_ns=rest.end_time_ns,
    )
    plain, encoding = rest.plain, _encoding(captured)
    if plain is None:
        plain = decode(sent, encoding, MAX_DECODED_BYTES).data if encoding else sent
    forwarded = rest.forwarded
    if forwarded is None:
        forwarded = weave(sent, captured.insertions) if captured.insertions and plain is sent else sent
    tap = ResponseTap.restored(rest.answer, rest.answer_size, rest.answer_times) if rest.has_answer else None
    whole = replace(captured, sent_body=sent, plain_body=plain, forwarded_body=forwarded, tap=tap)
    if known.identity is None:
        return whole
    asked = Asked(request_exchange(captured.head, plain), None, known.identity)
    packed = pack(replace(whole, asked=asked))
    if isinstance(packed, Packed):
        return packed  # and read only when its turn comes: there may be hundreds
    try:
        request = read_request(plain, captured.head.endpoint)
    except MalformedRequestError:
        request = None
    return replace(whole, asked=replace(asked, request=request))


def _end_time_ns(item: Captured | Packed) -> int:
    return (item.rest if isinstance(item, Packed) else item).end_time_ns


def _encoding(captured: Captured) -> str:
    fields = captured.head.fields
    return next((value.decode("latin-1") for name, value in fields if name.lower() == b"content-encoding"), "")

"""What exactly went over the wire, bounded, for `spanlore explain REQUEST`.

A client body is cut into pieces (`pieces.cut`) that are kept once each, redacted and compressed, under the hash of the
unredacted bytes; a request is the list of its pieces, the hashes of the true client body and forwarded body, and what
was inserted where. So the log grows with what is new, and can still prove that nothing but the insertions differs.
Written by the recorder's thread; read by any process (`WireLogReader`), since SQLite in WAL mode lets it.

Tables: `requests` (id = the chat span's id, 16 hex digits; `manifest`: see that module), `pieces` (address → zstd of a
piece's redacted text, or of a run of entries).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import orjson
import zstandard

from spanlore.redaction.values import redact_value
from spanlore_proxy.capture.manifest import (
    ADDRESS_BYTES,
    Kind,
    Levels,
    Manifest,
    entries_of,
    entry_of,
    unfolded,
)
from spanlore_proxy.capture.pieces import START, Place, cut_from
from spanlore_proxy.capture.state_db import open_database
from spanlore_proxy.wire.prefixes import MAX_BYTES, Prefixes

MAX_LITERAL_BYTES: Final = 48
"""Shorter pieces (commas, brackets, keys) stand in the manifest itself."""
MAX_LITERALS: Final = 1024
"""Remembered with what becomes of them: they are the same in nearly every body."""
MIN_SECRET_BYTES: Final = 8
"""Shorter literals are commas and brackets; there is no secret in them to look for."""
MAX_LOGGED_BODY_BYTES: Final = 32 * 1024**2
MAX_KNOWN: Final = 50_000
"""Addresses remembered in memory, so that a resent history costs a hash a message and no query."""
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pieces (address BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    facts TEXT NOT NULL,
    manifest BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_id ON requests (id);
"""


@dataclass(frozen=True, slots=True)
class LoggedInsertion:
    """What was inserted at one place."""

    offset: int
    """In the redacted body, in UTF-8 bytes. What goes into `WireLog.write` counts in the client's true body."""
    data: str
    """As it stands in the forwarded body (JSON-escaped); redacted."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request as it was, but for secrets."""

    id: str
    """The chat span's id, 16 hex digits."""
    time_ns: int
    method: str
    url: str
    upstream: str
    """Where it was really sent, scheme://host:port; '' when that is the host of the URL."""
    content_encoding: str
    client_bytes: int
    client_sha256: str
    """Of the body as the client sent it, content-encoded."""
    forwarded_bytes: int
    forwarded_sha256: str
    """Equal to `client_sha256` exactly when nothing was inserted."""
    skipped: str
    """Why nothing was inserted."""
    redactions: int
    """Secrets replaced in pieces that were new in this request."""
    insertions: tuple[LoggedInsertion, ...] = ()
    decisions: str = ""
    """What was shown, withheld and skipped, and why: JSON, see `semconv.lore.INJECTED_PLACEMENTS`."""
    body: str = ""
    """The client's body, content-decoded and redacted."""


@dataclass(frozen=True, slots=True)
class _Past:
    """The beginning of a body that was logged, up to where the next one may differ."""

    place: Place
    """Where that is."""
    marks: tuple[int, ...]
    """Offsets of the insertions before it."""
    manifest: Levels


class WireLog:
    """The writing side."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int,
        redact: Callable[[str], tuple[str, int]],
        max_past_bytes: int = MAX_BYTES,
    ) -> None:
        """`redact` gives a text without its secrets, and their number. `max_past_bytes` bounds the bodies that are
        remembered, so that a resent history costs a comparison.

        Raises:
            sqlite3.DatabaseError: the file is not a database, or cannot be opened.
        """
        self._max_bytes = max_bytes
        self._redact = redact
        self._compress = zstandard.ZstdCompressor(level=3).compress
        self._literal = lru_cache(MAX_LITERALS)(self._make_literal)
        self._known: set[bytes] = set()
        self._pasts = Prefixes[_Past](max_past_bytes)
        self._db = open_database(path)
        try:
            self._db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            self._db.executescript(SCHEMA)
            self._page_bytes = self._pragma("page_size")
        except sqlite3.Error:
            self._db.close()
            raise

    def write(self, request: LoggedRequest, body: bytes, document: dict[str, Any] | None) -> None:
        """Logs the request with the client's content-decoded body, then holds the bound.

        Raises:
            sqlite3.Error: disk full or broken; the log stays as it was.
        """
        try:
            with self._db:
                manifest, redactions = self._manifest(body[:MAX_LOGGED_BODY_BYTES], document, request.insertions)
                self._db.execute(
                    "INSERT INTO requests (id, facts, manifest) VALUES (?, ?, ?)",
                    (request.id, _facts(request, redactions), manifest),
                )
        except BaseException:
            self._forget()  # what was rolled back is not known
            raise
        if self.size_bytes() > self._max_bytes:
            self.shrink(self._max_bytes * 3 // 4)

    def size_bytes(self) -> int:
        """Bytes in use, free pages left out."""
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._page_bytes

    def shrink(self, target_bytes: int) -> None:
        """Deletes the oldest requests, a tenth at a time, and what only they used."""
        while self.size_bytes() > target_bytes:
            count = int(self._db.execute("SELECT count(*) FROM requests").fetchone()[0])
            if count == 0:
                return
            # Two steps: looking for what is unused takes seconds, and who is killed at it must not have done nothing.
            with self._db:
                self._db.execute(
                    "DELETE FROM requests WHERE sequence IN (SELECT sequence FROM requests ORDER BY sequence LIMIT ?)",
                    (max(count // 10, 1),),
                )
            with self._db:
                self._drop_unused_pieces()
        self._db.execute("PRAGMA incremental_vacuum").fetchall()

    def close(self) -> None:
        self._db.close()

    def _manifest(
        self, body: bytes, document: dict[str, Any] | None, insertions: Sequence[LoggedInsertion]
    ) -> tuple[bytes, int]:
        marks = tuple(sorted(insertion.offset for insertion in insertions))
        known = self._pasts.longest(body, lambda prefix: prefix.value.marks == _before(marks, prefix.end))
        past = known.value if known is not None else _Past(START, (), ())
        done = cut_from(past.place, body, document)
        manifest = Manifest(self._keep_run, past.manifest if done.start is past.place else ())
        redactions, position = 0, done.start.position
        for piece in done.pieces:
            if done.settled is not None and position == done.settled.position:
                settled = _Past(done.settled, _before(marks, position), manifest.levels)
                self._pasts.keep(body, position, settled, instead_of=known)
            # A piece is cut once more where something was inserted, at the same place in every later request.
            end = position + len(piece)
            inside = [mark - position for mark in marks if position <= mark < end]
            for number, (start, stop) in enumerate(pairwise([0, *inside, len(piece)])):
                if number:
                    manifest.append(entry_of(Kind.INSERTION))
                if stop > start:
                    redactions += self._append(manifest, piece[start:stop])
            position = end
        return bytes(manifest), redactions

    def _append(self, manifest: Manifest, piece: bytes) -> int:
        """Adds the entry of one piece, and the piece itself if it is new; how many secrets were in it."""
        if len(piece) <= MAX_LITERAL_BYTES:
            entry, redactions = self._literal(piece)
            manifest.append(entry)
            return redactions
        address = hashlib.blake2b(piece, digest_size=ADDRESS_BYTES).digest()
        manifest.append(entry_of(Kind.PIECE, address))
        return 0 if address in self._known else self._keep(address, piece)

    def _make_literal(self, piece: bytes) -> tuple[bytes, int]:
        text, redactions = piece.decode("utf-8", "replace"), 0
        if len(piece) >= MIN_SECRET_BYTES:
            text, redactions = redact_json(text, self._redact)
        return entry_of(Kind.LITERAL, text.encode()), redactions

    def _keep(self, address: bytes, piece: bytes) -> int:
        if not self._is_new(address):
            return 0
        text, redactions = redact_json(piece.decode("utf-8", "replace"), self._redact)
        self._db.execute("INSERT INTO pieces VALUES (?, ?)", (address, self._compress(text.encode())))
        return redactions

    def _keep_run(self, address: bytes, entries: bytes) -> None:
        if address not in self._known and self._is_new(address):
            self._db.execute("INSERT INTO pieces VALUES (?, ?)", (address, self._compress(entries)))

    def _is_new(self, address: bytes) -> bool:
        """Whether the file does not have it; it is known from now on."""
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(address)
        return self._db.execute("SELECT 1 FROM pieces WHERE address = ?", (address,)).fetchone() is None

    def _forget(self) -> None:
        self._known.clear()
        self._pasts.clear()

    def _drop_unused_pieces(self) -> None:
        self._forget()
        used: set[bytes] = set()
        for (manifest,) in self._db.execute("SELECT manifest FROM requests"):
            waiting = [manifest]
            while waiting:
                new = {(kind, data) for kind, data in entries_of(waiting.pop()) if data not in used}
                used.update(data for kind, data in new if kind in (Kind.PIECE, Kind.RUN))
                waiting += filter(None, (load_piece(self._db, data) for kind, data in new if kind is Kind.RUN))
        stored = {bytes(address) for (address,) in self._db.execute("SELECT address FROM pieces")}
        self._db.executemany("DELETE FROM pieces WHERE address = ?", [(address,) for address in stored - used])

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])


def _before(marks: tuple[int, ...], end: int) -> tuple[int, ...]:
    return tuple(mark for mark in marks if mark < end) if marks else ()


class WireLogReader:
    """The reading side, for another process."""

    def __init__(self, path: Path) -> None:
        """Raises:
        FileNotFoundError: nothing was ever logged.
        """
        if not path.exists():
            raise FileNotFoundError(f"{path}: no request was logged yet")
        self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)

    def request(self, request_id: str) -> LoggedRequest | None:
        """The newest request whose id begins with `request_id`; None when it is not in the log (any more)."""
        row = self._db.execute(
            "SELECT facts, manifest FROM requests WHERE substr(id, 1, ?) = ? ORDER BY sequence DESC LIMIT 1",
            (len(request_id), request_id),
        ).fetchone()
        return None if row is None else self._logged(*row)

    def newest(self, count: int) -> list[LoggedRequest]:
        """The newest requests, newest first, without their bodies."""
        rows = self._db.execute("SELECT facts FROM requests ORDER BY sequence DESC LIMIT ?", (count,)).fetchall()
        return [_from_facts(facts, "") for (facts,) in rows]

    def close(self) -> None:
        self._db.close()

    def _logged(self, facts: str, manifest: bytes) -> LoggedRequest:
        body, offsets = bytearray(), []
        for kind, data in unfolded(manifest, lambda address: load_piece(self._db, address)):
            if kind is Kind.INSERTION:
                offsets.append(len(body))
            elif kind is Kind.LITERAL:
                body += data
            else:
                body += load_piece(self._db, data) or b"[piece no longer kept]"
        request = _from_facts(facts, body.decode("utf-8", "replace"))
        # An insertion at the very end of the body has no piece behind it.
        offsets += [len(body)] * (len(request.insertions) - len(offsets))
        placed = (replace(item, offset=offset) for item, offset in zip(request.insertions, offsets, strict=False))
        return replace(request, insertions=tuple(placed))


def load_piece(db: sqlite3.Connection, address: bytes) -> bytes | None:
    """What is kept under that address; None when nothing is."""
    found = db.execute("SELECT body FROM pieces WHERE address = ?", (address,)).fetchone()
    return zstandard.ZstdDecompressor().decompress(found[0]) if found else None


def forwarded_body(body: str, insertions: Sequence[LoggedInsertion]) -> str:
    """The client's body with the insertions in it."""
    data, out, position = body.encode(), [], 0
    for insertion in sorted(insertions, key=lambda item: item.offset):
        out += [data[position : insertion.offset], insertion.data.encode()]
        position = insertion.offset
    return b"".join([*out, data[position:]]).decode("utf-8", "replace")


def redact_json(text: str, redact: Callable[[str], tuple[str, int]]) -> tuple[str, int]:
    """A piece of a JSON body without its secrets. Where it is a value of its own its strings are looked at as they
    read, since a key in PEM form has no line ends in escaped text; a piece without secrets stays as it was written."""
    bare = text.lstrip(", \t\r\n")
    try:
        value, found = redact_value(orjson.loads(bare), redact)
        if found:
            return text[: len(text) - len(bare)] + orjson.dumps(value).decode(), found
    except (ValueError, RecursionError):
        pass  # a fragment
    return redact(text)


def _facts(request: LoggedRequest, redactions: int) -> str:
    ordered = tuple(sorted(request.insertions, key=lambda item: item.offset))
    return orjson.dumps(replace(request, insertions=ordered, body="", redactions=redactions)).decode()


def _from_facts(facts: str, body: str) -> LoggedRequest:
    known = {field.name for field in fields(LoggedRequest)}
    data = {key: value for key, value in orjson.loads(facts).items() if key in known}
    insertions = tuple(LoggedInsertion(**item) for item in data.pop("insertions", ()))
    return LoggedRequest(**{**data, "insertions": insertions, "body": body})

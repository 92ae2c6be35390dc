"""What went upstream last, on disk: so that the prefix alarm also sees what changes over a restart of the proxy.

Digests only, in the proxy's own SQLite file. Written by the recorder's thread with each group it records, after the
request has left: one commit that does not wait for the disk (see `ledger_db`). A conversation only grows, so its pairs
are kept in segments of `SEGMENT_PAIRS`, and those that are there already are not written again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import Final

from spanlore_proxy.capture.state_db import open_database
from spanlore_proxy.conversation.chain import DIGEST_BYTES
from spanlore_proxy.injection.upstream import MAX_CONVERSATIONS, MAX_PARTS, Body, Changed, Pair, Part

SEGMENT_PAIRS: Final = 64
PRUNED_EVERY: Final = 256
"""Bodies that are written between two times that the oldest are deleted."""
_SECTIONS: Final = ("", "tools", "system", "messages")
_SAME, _OURS, _ANSWER = 0x80, 0x40, 0x04
"""Bits of a pair's first byte: both parts are one; the client has none. And of each part's: the model said it."""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS upstream_bodies (
    conversation TEXT PRIMARY KEY,
    updated_at_ns INTEGER NOT NULL,
    epoch TEXT NOT NULL,
    pairs INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS upstream_pairs (
    conversation TEXT NOT NULL,
    segment INTEGER NOT NULL,
    pairs BLOB NOT NULL,
    PRIMARY KEY (conversation, segment)
) WITHOUT ROWID;
"""
_OLDEST: Final = """
SELECT conversation FROM (
    SELECT conversation, sum(pairs) OVER newest AS pairs_so_far, row_number() OVER newest AS place
    FROM upstream_bodies WINDOW newest AS (ORDER BY updated_at_ns DESC, conversation)
) WHERE pairs_so_far > ? OR place > ?
"""


class UpstreamDb:
    """For one process and one thread."""

    def __init__(self, path: Path) -> None:
        """Opens the file, makes the tables if they are missing, and deletes the oldest bodies.

        Raises:
            sqlite3.DatabaseError: the file is not a database, or can't be opened.
        """
        self._written = 0
        self._db = open_database(path)
        try:
            self._db.executescript(SCHEMA)
            self.prune()
        except sqlite3.Error:
            self._db.close()
            raise

    def load(self, conversation: str) -> Body | None:
        """The body that was kept, None when there is none, or it is damaged.

        Raises:
            sqlite3.Error: the file can't be read.
        """
        query = "SELECT epoch, pairs FROM upstream_bodies WHERE conversation = ?"
        found = self._db.execute(query, (conversation,)).fetchone()
        if found is None:
            return None
        rows = self._db.execute(
            "SELECT pairs FROM upstream_pairs WHERE conversation = ? ORDER BY segment", (conversation,)
        )
        try:
            pairs = tuple(_decoded(b"".join(row[0] for row in rows)))
        except (IndexError, ValueError, TypeError):
            return None
        return Body(pairs, found[0], is_restored=True) if len(pairs) == found[1] else None

    def save(self, changed: Mapping[str, Changed], now_ns: int) -> None:
        """Writes what is new of the bodies, in one commit.

        Raises:
            sqlite3.Error: they could not be written; what was kept before stays.
        """
        with self._db:
            for conversation, one in changed.items():
                pairs, first = one.body.pairs, one.same // SEGMENT_PAIRS
                self._db.execute(
                    "DELETE FROM upstream_pairs WHERE conversation = ? AND segment >= ?", (conversation, first)
                )
                segments = batched(pairs[first * SEGMENT_PAIRS :], SEGMENT_PAIRS, strict=False)
                rows = ((conversation, number, _encoded(some)) for number, some in enumerate(segments, first))
                self._db.executemany("INSERT INTO upstream_pairs VALUES (?, ?, ?)", rows)
                row = (conversation, now_ns, one.body.epoch, len(pairs))
                self._db.execute("INSERT OR REPLACE INTO upstream_bodies VALUES (?, ?, ?, ?)", row)
        self._written += len(changed)
        if self._written >= PRUNED_EVERY:
            self._written = 0
            self.prune()

    def prune(self, max_pairs: int = MAX_PARTS, max_conversations: int = MAX_CONVERSATIONS) -> None:
        """Deletes all but the bodies written last."""
        with self._db:
            old = self._db.execute(_OLDEST, (max_pairs, max_conversations)).fetchall()
            self._db.executemany("DELETE FROM upstream_pairs WHERE conversation = ?", old)
            self._db.executemany("DELETE FROM upstream_bodies WHERE conversation = ?", old)

    def close(self) -> None:
        self._db.close()


def _encoded(pairs: Sequence[Pair]) -> bytes:
    """One or two parts a pair: a byte, and the digest."""
    out: list[bytes] = []
    for own, sent in pairs:
        if own is None or own == sent:
            out += (_byte(sent, _OURS if own is None else _SAME), sent.digest)
        else:
            out += (_byte(own, 0), own.digest, _byte(sent, 0), sent.digest)
    return b"".join(out)


def _decoded(data: bytes) -> Iterator[Pair]:
    """Raises IndexError, ValueError: not what `_encoded` gives."""
    at = 0
    while at < len(data):
        mark, first = data[at], _part(data, at)
        at += 1 + DIGEST_BYTES
        if mark & (_SAME | _OURS):
            yield (None if mark & _OURS else first), first
            continue
        yield first, _part(data, at)
        at += 1 + DIGEST_BYTES


def _byte(part: Part, mark: int) -> bytes:
    return bytes((mark | (_ANSWER if part.is_answer else 0) | _SECTIONS.index(part.section),))


def _part(data: bytes, at: int) -> Part:
    digest = data[at + 1 : at + 1 + DIGEST_BYTES]
    if len(digest) < DIGEST_BYTES:
        raise ValueError("cut off")
    return Part(_SECTIONS[data[at] & 0x03], digest, bool(data[at] & _ANSWER))

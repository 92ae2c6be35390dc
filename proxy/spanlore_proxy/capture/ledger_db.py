"""The injection ledger on disk: what was put where, so that a restarted proxy puts the same bytes there again.

One row a conversation, in the proxy's own SQLite file. `save` commits before it returns, so the row is there before the
request leaves; WAL with synchronous=NORMAL survives a killed process (the commit is in the file, though perhaps not on
the platter: after a power cut a conversation may be unknown again, which costs one cached prefix and nothing else). It
does not checkpoint: that waits for the disk, and the recorder's connection to the same file does it off the event loop.

How far the model had come in a conversation (`settle`) changes with each request and may wait: `flush` writes it.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from pathlib import Path
from typing import Final

import orjson

from spanlore_proxy.capture.state_db import open_database
from spanlore_proxy.injection.ledger import Entry, Settled, entry_from_json, entry_to_json

MAX_CACHED: Final = 1024
"""Conversations held in memory; the rest is read when asked for."""
MAX_CONVERSATIONS: Final = 20_000
"""Kept on disk. A forgotten one that is resumed gets no block any more, and its cached prefix is long cold."""
BUSY_TIMEOUT_MS: Final = 20
"""How long the event loop may wait for the recorder's own commit to the same file."""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS placements (
    conversation TEXT PRIMARY KEY,
    updated_at_ns INTEGER NOT NULL,
    entry BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settled (
    conversation TEXT PRIMARY KEY,
    updated_at_ns INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    epoch TEXT NOT NULL
) WITHOUT ROWID;
"""
_PRUNE: Final = (
    "DELETE FROM {0} WHERE conversation NOT IN (SELECT conversation FROM {0} ORDER BY updated_at_ns DESC LIMIT ?)"
)


class LedgerError(OSError):
    """The ledger can't be read or written now; nothing new may be inserted."""


class LedgerDb:
    """A `LedgerStore` for one process and one thread."""

    def __init__(self, path: Path, *, max_cached: int = MAX_CACHED) -> None:
        """Opens the file, makes the table if it is missing, and deletes the oldest rows beyond `MAX_CONVERSATIONS`.

        Raises:
            sqlite3.DatabaseError: the file is not a database, or can't be opened.
        """
        self._cache: OrderedDict[str, Entry | None] = OrderedDict()
        self._max_cached = max_cached
        self._settled: OrderedDict[str, Settled | None] = OrderedDict()
        self._unwritten: dict[str, Settled] = {}
        self._db = open_database(path)
        try:
            self._db.executescript(SCHEMA)
            self.prune()
            self._db.execute("PRAGMA wal_autocheckpoint=0")
            self._db.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        except sqlite3.Error:
            self._db.close()
            raise

    def load(self, conversation: str) -> Entry | None:
        """The entry, None when the conversation is not known.

        Raises:
            LedgerError: the file can't be read.
        """
        if conversation not in self._cache:
            self._keep(conversation, self._read(conversation))
        self._cache.move_to_end(conversation)
        return self._cache[conversation]

    def save(self, entry: Entry) -> None:
        """Commits the entry over the one before.

        Raises:
            LedgerError: it could not be written; the entry before stays.
        """
        row = (entry.conversation, entry.updated_at_ns, orjson.dumps(entry_to_json(entry)))
        try:
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO placements VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error
        self._keep(entry.conversation, entry)

    def prune(self, keep: int = MAX_CONVERSATIONS) -> None:
        """Deletes all but the rows written last."""
        with self._db:
            for table in ("placements", "settled"):
                self._db.execute(_PRUNE.format(table), (keep,))

    def settled(self, conversation: str) -> Settled | None:
        """How far the model had come.

        Raises:
            LedgerError: the file can't be read.
        """
        waiting = self._unwritten.get(conversation)
        if waiting is not None or conversation in self._settled:
            return waiting or self._settled[conversation]
        query = "SELECT messages, epoch FROM settled WHERE conversation = ?"
        try:
            found = self._db.execute(query, (conversation,)).fetchone()
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error
        return self._remember(conversation, Settled(*found) if found is not None else None)

    def settle(self, conversation: str, settled: Settled) -> None:
        """Remembers it; `flush` writes it."""
        if self.settled(conversation) != settled:
            self._unwritten[conversation] = settled
            self._remember(conversation, settled)

    def flush(self, now_ns: int) -> None:
        """Writes what was told since.

        Raises:
            LedgerError: it could not be written, and waits for the next time.
        """
        if not self._unwritten:
            return
        rows = [(name, now_ns, one.messages, one.epoch) for name, one in self._unwritten.items()]
        try:
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error
        self._unwritten.clear()

    def close(self) -> None:
        self._db.close()

    def _read(self, conversation: str) -> Entry | None:
        try:
            found = self._db.execute("SELECT entry FROM placements WHERE conversation = ?", (conversation,)).fetchone()
        except sqlite3.Error as error:
            raise LedgerError(str(error)) from error
        if found is None:
            return None
        try:
            return entry_from_json(orjson.loads(found[0]))
        except ValueError:
            # Known, but what stood there is lost: it stays without a block rather than get a late one.
            return Entry(conversation, is_decided=True)

    def _remember(self, conversation: str, settled: Settled | None) -> Settled | None:
        self._settled[conversation] = settled
        self._settled.move_to_end(conversation)
        while len(self._settled) > self._max_cached:
            self._settled.popitem(last=False)
        return settled

    def _keep(self, conversation: str, entry: Entry | None) -> None:
        self._cache[conversation] = entry
        self._cache.move_to_end(conversation)
        while len(self._cache) > self._max_cached:
            self._cache.popitem(last=False)

"""The injection ledger on disk: what was put where, so that a restarted proxy puts the same bytes there again.

One row a conversation, in the proxy's own SQLite file. `save` commits before it returns, so the row is there before the
request leaves; WAL with synchronous=NORMAL survives a killed process (the commit is in the file, though perhaps not on
the platter: after a power cut a conversation may be unknown again, which costs one cached prefix and nothing else). It
does not checkpoint: that waits for the disk, and the recorder's connection to the same file does it off the event loop.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from pathlib import Path
from typing import Final

import orjson

from spanlore_proxy.capture.state_db import open_database
from spanlore_proxy.injection.ledger import Entry, entry_from_json, entry_to_json

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
"""


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
            self._db.execute(
                "DELETE FROM placements WHERE conversation NOT IN"
                " (SELECT conversation FROM placements ORDER BY updated_at_ns DESC LIMIT ?)",
                (keep,),
            )

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

    def _keep(self, conversation: str, entry: Entry | None) -> None:
        self._cache[conversation] = entry
        self._cache.move_to_end(conversation)
        while len(self._cache) > self._max_cached:
            self._cache.popitem(last=False)

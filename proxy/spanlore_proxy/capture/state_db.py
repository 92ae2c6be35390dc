"""Conversation states on disk, so that a restarted proxy goes on without telling the past again.

A state is written after the spans it stands for are in the spool: a crash between the two makes the next request tell
a little again, under the same span ids, and nothing is lost. Used by the recorder's thread alone; SQLite in WAL mode
lets the injection ledger live in the same file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import zstandard

MAX_CONVERSATIONS: Final = 5000
"""Kept on disk; the longest unused go first."""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS conversations (
    key TEXT PRIMARY KEY,
    updated_at_ns INTEGER NOT NULL,
    state BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS conversations_updated ON conversations (updated_at_ns);
"""


class StateDb:
    """States by conversation, as the JSON text the conversation stage makes of them."""

    def __init__(self, path: Path) -> None:
        """Raises:
        sqlite3.DatabaseError: the file is not a database, or cannot be opened.
        """
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._db = open_database(path)
        try:
            self._db.executescript(SCHEMA)
        except sqlite3.Error:
            self._db.close()
            raise

    def save(self, states: Iterable[tuple[str, str]], now_ns: int) -> None:
        """Writes (conversation, JSON) pairs over what was there."""
        # Most of a state is digests, which do not get smaller. zlib would take ten times as long to find that out.
        rows = [(key, now_ns, self._compress(text.encode())) for key, text in states]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO conversations VALUES (?, ?, ?)", rows)

    def load(self, newest: int) -> Iterator[str]:
        """JSON of the states used last, the oldest of them first; a row that cannot be read is left out."""
        decompress = zstandard.ZstdDecompressor().decompress
        query = "SELECT state FROM conversations ORDER BY updated_at_ns DESC LIMIT ?"
        for (state,) in reversed(self._db.execute(query, (newest,)).fetchall()):
            try:
                yield decompress(state).decode()
            except (zstandard.ZstdError, UnicodeDecodeError):
                continue

    def prune(self, keep: int = MAX_CONVERSATIONS) -> None:
        """Deletes all but the states used last."""
        with self._db:
            self._db.execute(
                "DELETE FROM conversations WHERE key NOT IN"
                " (SELECT key FROM conversations ORDER BY updated_at_ns DESC LIMIT ?)",
                (keep,),
            )

    def close(self) -> None:
        self._db.close()


def open_database(path: Path) -> sqlite3.Connection:
    """A connection in WAL mode to a file of mode 0600, made if it is missing."""
    path.touch(mode=0o600, exist_ok=True)
    connection = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection

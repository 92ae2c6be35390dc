"""Opens the store: embedded chDB, or a ClickHouse server, both through clickhouse-connect.

Facts about chDB that shape everything here (chDB 4.4, engine 26.9; measured, see also clickhouse-connect's
`chdb_backend.py`):

- One path a process: opening a second one fails with code 36. One process a path: a second process fails with code 76,
  "Cannot lock file …/status". So the collector owns the store, and everybody else goes through its HTTP interfaces.
- One connection runs one query at a time: `SELECT 1` waits behind a slow query of the same connection, and not behind
  one of another connection. So the writer and each reader session have a connection of their own.
- A query releases the GIL; connections may be used from any thread, one at a time.
- `connection.query("a; b")` runs both statements.
- There are no users and no grants; `SET readonly = 1` on a connection can't be taken back (see `sessions`).
- An insert costs 4-12 ms whatever it holds, so rows are inserted by the thousand.
- Settings of the server stand behind a `?` in the path of the connection that opens the engine.
- Its allocator is a jemalloc of its own, which reads `JE_MALLOC_CONF`.
- Committed rows survive kill -9 of the process. A power loss is survived because tables fsync what is inserted.
"""

from __future__ import annotations

import fcntl
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver import options
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error

from spanlore.settings import tell_library

DATABASE = "spanlore"
SERVER_SETTINGS = {
    "insert_deduplicate": 1,
    "async_insert": 0,
    "insert_quorum": 0,
    # Of a cluster: an insert is answered when the shards have it, and a subquery's rows are sent to all of them.
    "distributed_foreground_insert": 1,
    "distributed_product_mode": "global",
}
"""Of every connection to a server."""
MIB = 1024**2
ENGINE_SETTINGS = {
    # The engine's own bound is nine tenths of the machine. Of the collector's 900 MB, 400 are Python and the engine's
    # code. What goes beyond this fails, whoever asks: reading queries are ended before (`reader_memory`).
    "max_server_memory_usage": 352 * MIB,
    # Caches count in it, and their own bounds are gigabytes.
    "mark_cache_size": 48 * MIB,
    "index_mark_cache_size": 16 * MIB,
    "primary_index_cache_size": 32 * MIB,
    "text_index_header_cache_size": 16 * MIB,
    "text_index_postings_cache_size": 16 * MIB,
    "query_condition_cache_size": 16 * MIB,
    "compiled_expression_cache_size": 16 * MIB,
}
"""Of the embedded engine."""
ENGINE_HEAP = "dirty_decay_ms:200"
"""How long its allocator keeps what was freed; read from the environment when the library is loaded. What is free is in
no bound; its own 5 s had several times what was in use resident, on a busy machine. 0 would cost inserts more."""


_SYSTEM_WORDS: Final = re.compile(r"\[Errno -?\d+\] ([^'\")\]]+)")


class StoreLockedError(RuntimeError):
    """Another process has the embedded store open."""


class StoreUnavailableError(RuntimeError):
    """The store, or the daemon that owns it, can't be reached. The message says what to do."""


def not_answering(what: str, url: str, error: Exception) -> StoreUnavailableError:
    """What is told of a server that does not answer: the reason in the system's words, not the library's."""
    found = _SYSTEM_WORDS.search(str(error))
    reason = found[1].strip().lower() if found else "no answer in time" if "timed out" in str(error) else str(error)
    return StoreUnavailableError(
        f"{what} does not answer at {url} ({reason[:300]}). "
        "Is the daemon running? `spanlore status` tells, `spanlore up` starts it."
    )


@dataclass(frozen=True, slots=True)
class Store:
    """Where the rows are. Hands out connections; each belongs to one thread at a time and is closed by who asked."""

    url: str
    """`chdb:///path` or `http(s)://user:password@host:port/database`."""

    @property
    def path(self) -> Path | None:
        """Directory of the embedded store; None for a server."""
        return Path(self.url.removeprefix("chdb://")) if self.url.startswith("chdb://") else None

    @property
    def database(self) -> str:
        """The database all tables are in."""
        return DATABASE if self.path else urlsplit(self.url).path.strip("/") or DATABASE

    @property
    def label(self) -> str:
        """The url without credentials, for people."""
        if self.path:
            return self.url
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}:{parts.port or 8123}/{self.database}"

    def connect(self, *, database: str | None = None) -> Client:
        """A connection, in `database` (None: the store's own).

        Raises:
            StoreLockedError: another process holds the embedded store.
            StoreUnavailableError: it can't be opened or reached.
        """
        try:
            return self._connect(database or self.database)
        except (Error, OSError) as error:
            self.claim()
            raise StoreUnavailableError(f"can't open the store {self.label}: {str(error)[:500]}") from error

    def claim(self) -> None:
        """Fails when an engine has the embedded store open: a quick look before the slow start of one's own.

        Raises:
            StoreLockedError: it is open, in whatever process.
        """
        if self.path and _is_locked(self.path / "status"):
            raise StoreLockedError(
                f"the store in {self.path} is open in another process. Stop that one (`spanlore down`), or give "
                "this one another SPANLORE_STATE_DIR."
            )

    def _connect(self, database: str) -> Client:
        if self.path is None:
            parts = urlsplit(self.url)
            return clickhouse_connect.get_client(
                dsn=parts._replace(path=f"/{database}").geturl(),
                autogenerate_session_id=False,
                settings=SERVER_SETTINGS,
            )
        _do_without_pandas()
        tell_library("JE_MALLOC_CONF", ENGINE_HEAP)
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings = "&".join(f"{name}={value}" for name, value in ENGINE_SETTINGS.items())
        client = clickhouse_connect.get_client(interface="chdb", path=f"{self.path}?{settings}")
        client.database = database
        return client


def _do_without_pandas() -> None:
    # clickhouse-connect imports pandas at the first insert, only to ask whether the data is a frame: 1.5 s, 60 MB.
    options.pd = options.pd_time_test = None


def _is_locked(status_file: Path) -> bool:
    """Whether an engine holds its lock. The error of a failed start does not say; only stderr does."""
    try:
        with status_file.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the engine refused for want of memory: it may have it later, or for less at once."""
    return isinstance(error, Error) and getattr(error, "code", None) == 241


def store_of(clickhouse_url: str, store_dir: Path) -> Store:
    """The store the settings name: `clickhouse_url`, or the embedded one in `store_dir` when it is empty."""
    return Store(clickhouse_url or f"chdb://{store_dir.absolute()}")

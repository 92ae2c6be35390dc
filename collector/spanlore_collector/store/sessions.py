"""Read-only sessions of the embedded store: connections that can't write, reach out, or run without bounds.

Every query has a connection of its own, which costs half a millisecond while the engine is open, so that nothing of one
query is left for the next: no setting, no half answer of a query that failed (chDB keeps what it had written and puts
it before the next result of that connection). The limits are set first, then `readonly = 1`, which freezes all settings
and refuses writes, DDL and every table function that touches files, network or code; what that lets through is refused
by `reader_guard`. `KILL` is among that, and so the pool's own connection is a read-only one too.

Results are streamed block by block: `send_query` and `fetch` hold one block in memory, and a stream that is cancelled
ends the query. A query that has not given a block yet is ended by `KILL QUERY` from the pool's own connection, which
finds it by its `log_comment`.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from spanlore_collector.store.reader_guard import READONLY_CODE, Guard, QueryError, Verdict
from spanlore_collector.store.reader_memory import MemoryWatch
from spanlore_collector.store.reader_settings import LIMITS, settings_of
from spanlore_collector.store.reader_streams import has_header, header_size, is_streamed

__all__ = ["LIMITS", "READONLY_CODE", "Answer", "Query", "QueryError", "RunningQuery", "SessionPool", "Statistics"]

DEFAULT_SIZE = 16
_EMPTY: Mapping[str, str] = {}
_MEMORY = "SELECT Settings['log_comment'] AS name, memory_usage FROM system.processes WHERE name != ''"
_TOO_MUCH_AT_ONCE = (
    "Code: 241. DB::Exception: The queries that run at once have too much in memory, and this one the most: ask again, "
    "or for less. (MEMORY_LIMIT_EXCEEDED)"
)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement to read with."""

    sql: str
    default_format: str = "TabSeparated"
    params: Mapping[str, str] = field(default_factory=dict)
    """Values of `{name:Type}`, in the engine's text form."""
    database: str = ""
    """'' is the store's."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The client's wishes; see `reader_settings`."""
    is_whole: bool = False
    """Nothing is handed out before all of it is there."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a query has read and given so far."""

    rows_read: int = 0
    bytes_read: int = 0
    result_rows: int = 0
    result_bytes: int = 0
    elapsed_ns: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole result of a query: `data` in `format`."""

    data: bytes
    format: str
    statistics: Statistics


class RunningQuery:
    """A query that runs: its blocks in order, by one thread at a time. `cancel` may come from any other."""

    def __init__(self, pool: SessionPool, session: _Session, query: Query, verdict: Verdict) -> None:
        self._pool = pool
        self._session = session
        self._query = query
        self._stream: Any = None
        self._is_first = True
        self._is_done = False
        self.format = verdict.format or query.default_format
        self.is_streamed = _may_stream(query, verdict, self.format)
        self.statistics = Statistics()
        self.ignored_settings: tuple[str, ...] = ()

    def fetch(self) -> bytes | None:
        """The next bytes of the answer, None at its end.

        Raises:
            QueryError: the engine refuses it, a limit is reached, or it was cancelled.
        """
        if self._is_done:
            return None
        try:
            return self._fetch()
        except QueryError:
            if self._pool.watch.has_ended(self._session.id):
                raise QueryError(_TOO_MUCH_AT_ONCE, 241) from None
            raise

    def _fetch(self) -> bytes | None:
        if not self.is_streamed:
            return self._whole()
        if self._stream is None:
            self._stream = self._session.send(self._query)
        block = self._session.fetch(self._stream)
        if block is None:
            self._is_done = True
            return self._whole() if self._is_first and has_header(self.format) else None
        self._count(block)
        data: bytes = block.bytes() or b""
        size = 0 if self._is_first else header_size(self.format, data)
        self._is_first = False
        return data[size:]

    @property
    def is_open(self) -> bool:
        """Whether it still has its session."""
        return self._session.is_open

    def cancel(self) -> None:
        """Ends the query wherever it is; what fetches gets an error."""
        self._pool.kill(self._session.id)

    def close(self) -> None:
        """Ends the query if it has not, and gives back its session."""
        if self._session.is_open:
            if self._stream is not None and not self._is_done:
                self._session.abandon(self._stream)
            self._session.close()
            self._pool.give_back(self._session.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while (block := self.fetch()) is not None:
            yield block

    def _whole(self) -> bytes:
        result = self._session.query(self._query.sql, self.format, self._query.params)
        self._is_done = True
        self._count(result)
        return result.bytes() or b""

    def _count(self, result: Any) -> None:
        before = self.statistics
        self.statistics = Statistics(
            rows_read=result.storage_rows_read(),
            bytes_read=result.storage_bytes_read(),
            result_rows=before.result_rows + result.rows_read(),
            result_bytes=before.result_bytes + result.bytes_read(),
            elapsed_ns=int(result.elapsed() * 1e9),
        )


class SessionPool:
    """Read-only sessions on the embedded store in `path`; queries beyond `size` at once wait for a session."""

    def __init__(self, path: Path, database: str, size: int = DEFAULT_SIZE) -> None:
        self.size = size
        self._path = str(path.resolve())
        self._database = database
        self._free = threading.BoundedSemaphore(size)
        self._own = _Session(self._path, database, "")
        self._own.restrict({}, is_whole=True)
        self._own_lock = threading.Lock()
        self._guard = Guard(self._ask)
        self.watch = MemoryWatch(self._memory, self.kill)
        self.watch.start()

    def close(self) -> None:
        """Closes the pool's own connection; nothing may run any more."""
        self.watch.stop()
        self._own.close()

    def content_type(self, format_name: str) -> str:
        """Of answers in a format."""
        return self._guard.content_type(format_name)

    def start(self, query: Query) -> RunningQuery:
        """A session for the query, which begins to run at the first `fetch`. To be closed by who asked.

        Raises:
            QueryError: it is wrong or not allowed.
        """
        self._free.acquire()
        session: _Session | None = None
        try:
            verdict = self._guard.judge(query.sql, query.params)
            session = _Session(self._path, query.database or self._database, uuid.uuid4().hex)
            running = RunningQuery(self, session, query, verdict)
            running.ignored_settings = session.restrict(query.settings, is_whole=not running.is_streamed)
            self.watch.began(session.id)
            return running
        except BaseException:
            if session is not None:
                session.close()
            self._free.release()
            raise

    def run(
        self,
        sql: str,
        *,
        default_format: str = "TabSeparated",
        params: Mapping[str, str] = _EMPTY,
        database: str = "",
        settings: Mapping[str, str] = _EMPTY,
    ) -> Answer:
        """Runs one reading statement to its end.

        Raises:
            QueryError: it is wrong, not allowed, or beyond a limit.
        """
        with self.start(Query(sql, default_format, params, database, settings)) as running:
            data = b"".join(running)
            return Answer(data, running.format, running.statistics)

    def kill(self, session_id: str) -> None:
        """Ends the query of a session; nothing happens when it runs none."""
        with self._own_lock:
            self._own.query(f"KILL QUERY WHERE Settings['log_comment'] = '{session_id}' ASYNC")

    def give_back(self, session_id: str) -> None:
        """A session has ended; another query may run."""
        self.watch.ended(session_id)
        self._free.release()

    def _memory(self) -> dict[str, int]:
        """Bytes of every running query by its session."""
        told = self._ask(_MEMORY, "TSVRaw", {}).decode()
        return {name: int(size) for name, _, size in (line.partition("\t") for line in told.splitlines())}

    def _ask(self, sql: str, fmt: str, params: Mapping[str, str]) -> bytes:
        with self._own_lock:
            return self._own.ask(sql, fmt, params)


class _Session:
    """One connection; for one thread at a time. Before `restrict` it can write: nothing of a client runs there."""

    def __init__(self, path: str, database: str, session_id: str) -> None:
        import chdb  # takes a second, and whoever has a server never needs it

        self.id = session_id
        self.is_open = True
        with _told():  # to open one needs memory, too, of which there may be none left
            self._connection = chdb.connect(path)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", database):
            self.close()
            raise QueryError(f"Code: 81. DB::Exception: Database {database} does not exist. (UNKNOWN_DATABASE)", 81)
        try:
            self.query(f"USE `{database}`")
        except QueryError:
            self.close()
            raise

    def restrict(self, wishes: Mapping[str, str], *, is_whole: bool) -> tuple[str, ...]:
        """Sets the limits and the client's choices, then makes the session read-only; returns what was not set."""
        settings = settings_of(wishes, is_whole=is_whole)
        # One statement: `readonly` binds what comes after it.
        values = {**settings.applied, "log_comment": self.id, "readonly": 1}
        self.query("SET " + ", ".join(f"{name} = {_quoted(str(value))}" for name, value in values.items()))
        return settings.ignored

    def query(self, sql: str, fmt: str = "TabSeparated", params: Mapping[str, str] = _EMPTY) -> Any:
        with _told():
            return self._connection.query(sql, fmt, params=dict(params))

    def ask(self, sql: str, fmt: str, params: Mapping[str, str]) -> bytes:
        return self.query(sql, fmt, params).bytes() or b""

    def send(self, query: Query) -> Any:
        with _told():
            return self._connection.send_query(query.sql, query.default_format, params=dict(query.params))

    def fetch(self, stream: Any) -> Any:
        with _told():
            return stream.fetch()

    def abandon(self, stream: Any) -> None:
        with suppress(QueryError), _told():  # it may have ended by itself
            stream.cancel()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            with suppress(QueryError), _told():  # whoever closes it still has its place in the pool to give back
                self._connection.close()


@contextmanager
def _told() -> Iterator[None]:
    """Turns whatever chdb raises into a `QueryError` with the engine's message."""
    try:
        yield
    # chdb raises several unrelated types, and all of them carry the engine's message.
    except Exception as error:
        message = str(error)
        found = re.search(r"Code: (\d+)", message)
        text = message[found.start() :].strip() if found else message
        raise QueryError(text, int(found[1]) if found else 0) from None


def _may_stream(query: Query, verdict: Verdict, format_name: str) -> bool:
    """chDB streams only SELECT, and neither totals nor extremes; JSON as an array is an envelope."""
    if query.is_whole or not verdict.is_select or verdict.has_totals:
        return False
    more = (query.settings.get(name, "0") for name in ("extremes", "output_format_json_array_of_rows"))
    return is_streamed(format_name) and all(value in ("0", "false") for value in more)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

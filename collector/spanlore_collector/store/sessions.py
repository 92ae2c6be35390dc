"""Read-only sessions of the embedded store: a pool of connections that can't write, reach out, or run without bounds.

How a connection is made safe (measured on engine 26.9): the limits are set first, then `readonly = 1`, which freezes
all settings and refuses writes, DDL and every table function that touches files, network or code. What that still lets
through is refused here by asking the engine's own parser before running anything:

- several statements in one text: they would all run, and so would those behind `EXPLAIN AST`. `formatQuerySingleLine`
  parses without running and fails for more than one;
- `INTO OUTFILE`, which writes a file even in readonly mode: a literal directly below the root of the syntax tree;
- `KILL`, `SET param_…`, `USE` and whatever else is no reading: only the roots in `_READING` pass;
- the scalar `file()`, `python()`, the `ai…` functions (they call models over the network) and table functions beyond
  `_HARMLESS_TABLE_FUNCTIONS`: their names stand in the tree;
- `APPLY`, because the tree does not show which function it applies.
"""

from __future__ import annotations

import queue
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMITS: dict[str, int | str] = {
    "max_execution_time": 30,
    "max_memory_usage": 1024**3,
    "max_bytes_before_external_group_by": 256 * 1024**2,
    "max_bytes_before_external_sort": 256 * 1024**2,
    "max_rows_to_read": 2_000_000_000,
    "max_result_rows": 5_000_000,
    "max_result_bytes": 256 * 1024**2,
    "result_overflow_mode": "throw",
    "max_threads": 2,
    "session_timezone": "UTC",
}
"""Settings of every session, before it becomes read-only."""

_READING = frozenset(
    {
        "SelectWithUnionQuery",
        "SelectQuery",
        "SelectIntersectExceptQuery",
        "ShowTables",
        "ShowColumns",
        "ShowFunctions",
        "ShowIndexes",
        "ShowSetting",
        "ShowEngineQuery",
        "ShowProcesslistQuery",
        "ShowCreateTableQuery",
        "ShowCreateViewQuery",
        "ShowCreateDatabaseQuery",
        "DescribeQuery",
        "ExistsTableQuery",
        "ExistsViewQuery",
        "ExistsDatabaseQuery",
        "Explain",
    }
)
_HARMLESS_TABLE_FUNCTIONS = frozenset(
    {"numbers", "numbers_mt", "zeros", "zeros_mt", "generateseries", "generate_series", "values", "view", "null"}
    | {"format", "merge", "generaterandom", "viewexplain"}
)
_REFUSED_FUNCTIONS = frozenset({"file", "python", "catboostevaluate", "eval"})
_MAX_VERDICTS = 512

READONLY_CODE = 164
"""READONLY: what the engine itself says to a refused query."""


class QueryError(RuntimeError):
    """The engine, or this guard, refuses a query. `code` is ClickHouse's number of the error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query: `data` in `format`."""

    data: bytes
    format: str
    rows_read: int
    bytes_read: int
    elapsed_ns: int


class SessionPool:
    """Read-only sessions on the embedded store in `path`; queries beyond `size` at once wait for a session."""

    def __init__(self, path: Path, database: str, size: int = 4) -> None:
        self._database = database
        self._sessions = [_Session(path, database) for _ in range(size)]
        self._free: queue.SimpleQueue[_Session] = queue.SimpleQueue()
        for session in self._sessions:
            self._free.put(session)
        self._refused = _REFUSED_FUNCTIONS | (_table_functions(self._sessions[0]) - _HARMLESS_TABLE_FUNCTIONS)
        self._verdicts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Closes the connections; nothing may run any more."""
        for session in self._sessions:
            session.close()

    def run(
        self,
        sql: str,
        *,
        default_format: str = "TabSeparated",
        params: Mapping[str, str] | None = None,
        database: str = "",
    ) -> Answer:
        """Runs one reading statement. `params` are values of `{name:Type}`, in the engine's text form.

        Raises:
            QueryError: it is wrong, not allowed, or beyond a limit.
        """
        session = self._free.get()
        try:
            session.use(database or self._database)
            named = self._check(session, sql, dict(params or {}))
            try:
                result = session.query(sql, default_format, dict(params or {}))
            except QueryError:
                # What the engine had written before it failed would stand before the next query's answer.
                session.renew()
                raise
            return Answer(
                data=result.bytes() or b"",
                format=named or default_format,
                rows_read=result.rows_read(),
                bytes_read=result.bytes_read(),
                elapsed_ns=int(result.elapsed() * 1e9),
            )
        finally:
            self._free.put(session)

    def _check(self, session: _Session, sql: str, params: dict[str, str]) -> str:
        """The format the query names, '' when it names none; raises when it may not run."""
        with self._lock:
            if sql in self._verdicts:
                self._verdicts.move_to_end(sql)
                return self._verdicts[sql]
        text = sql.replace("\\", "\\\\").replace("'", "\\'")
        session.query(f"SELECT formatQuerySingleLine('{text}')")
        tree = session.query(f"EXPLAIN AST {sql}", "TSVRaw", params).bytes().decode("utf-8", "replace")
        named = self._judge(tree)
        with self._lock:
            self._verdicts[sql] = named
            if len(self._verdicts) > _MAX_VERDICTS:
                self._verdicts.popitem(last=False)
        return named

    def _judge(self, tree: str) -> str:
        root, *lines = tree.splitlines() or [""]
        if root.split(" ")[0] not in _READING:
            raise _refusal(f"only reading is allowed here, not {root.split(' ')[0] or 'this'}")
        named = ""
        for line in lines:
            words = line.split()
            depth = len(line) - len(line.lstrip(" "))
            if not words:
                continue
            if depth == 1 and words[0] == "Literal":
                raise _refusal("INTO OUTFILE is not allowed here")
            if words[0] == "ColumnsApplyTransformer":
                raise _refusal("APPLY is not allowed here")
            if words[0] == "Function" and len(words) > 1 and self._is_refused(words[1]):
                raise _refusal(f"the function {words[1]} is not allowed here")
            if depth == 1 and words[0] == "Identifier" and root.startswith("Select"):
                named = words[1]
        return named

    def _is_refused(self, function: str) -> bool:
        name = function.lower()
        return name in self._refused or name.startswith("ai")


class _Session:
    """One read-only connection; for one thread at a time."""

    def __init__(self, path: Path, database: str) -> None:
        self._path = str(path.resolve())
        self._default = database
        self._open()

    def _open(self) -> None:
        import chdb  # takes a second, and whoever has a server never needs it

        self._connection = chdb.connect(self._path)
        self._database = ""
        self.use(self._default)
        for name, value in LIMITS.items():
            self.query(f"SET {name} = {value!r}")
        self.query("SET readonly = 1")

    def renew(self) -> None:
        """A new connection in place of this one; the other sessions keep the engine open meanwhile."""
        self._connection.close()
        self._open()

    def use(self, database: str) -> None:
        if database == self._database:
            return
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", database):
            raise QueryError(f"Code: 81. DB::Exception: Database {database} does not exist. (UNKNOWN_DATABASE)", 81)
        self.query(f"USE `{database}`")
        self._database = database

    def query(self, sql: str, fmt: str = "TabSeparated", params: dict[str, str] | None = None) -> Any:
        try:
            return self._connection.query(sql, fmt, params=params or {})
        # chdb raises several unrelated types, and all of them carry the engine's message.
        except Exception as error:
            message = str(error)
            found = re.search(r"Code: (\d+)", message)
            text = message[found.start() :].strip() if found else message
            raise QueryError(text, int(found[1]) if found else 0) from None

    def close(self) -> None:
        self._connection.close()


def _table_functions(session: _Session) -> frozenset[str]:
    names = session.query("SELECT lower(name) FROM system.table_functions", "TSVRaw").bytes().decode().split()
    scalars = session.query("SELECT lower(name) FROM system.functions", "TSVRaw").bytes().decode().split()
    # A scalar function may share its name with a table function; readonly mode refuses the latter on its own.
    return frozenset(names) - frozenset(scalars)


def _refusal(reason: str) -> QueryError:
    return QueryError(f"Code: {READONLY_CODE}. DB::Exception: {reason}. (READONLY)", READONLY_CODE)

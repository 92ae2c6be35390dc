"""Which statements a reading session may run: the engine's own parser is asked, SQL is not read here.

What `readonly = 1` still lets through (measured on engine 26.9) is refused before anything runs:

- several statements in one text: they would all run, and so would those behind `EXPLAIN AST`. `formatQuerySingleLine`
  parses without running and fails for more than one;
- `INTO OUTFILE`, which writes a file even in readonly mode: a literal directly below the root of the syntax tree;
- `KILL`, `SET param_…`, `USE` and whatever else is no reading: only the roots in `_READING` pass;
- the scalar `file()`, `python()`, the functions of the engine's category AI (they call models over the network) and
  table functions beyond `_HARMLESS_TABLE_FUNCTIONS` (`eval` runs SQL from a string, `cluster` opens connections): their
  names stand in the tree;
- the same names as identifiers: `arrayMap(file, …)` hands the function itself over, `WITH file AS f` renames it;
- `APPLY`, because the tree does not show which function it applies;
- and the same by a parameter: `{f:Identifier}` is put into the tree, so a verdict holds for its value only;
- expressions in `SHOW … WHERE` and `SHOW … LIMIT`, because the tree of SHOW leaves them out and the engine runs them: a
  bracket among the tokens of its lexer.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

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
    {"numbers", "numbers_mt", "zeros", "zeros_mt", "generateseries", "generate_series", "primes", "values", "null"}
    | {"sqlstandardvalues", "format", "merge", "generaterandom", "view", "viewexplain"}
)
_REFUSED_FUNCTIONS = frozenset(
    {"file", "python", "catboostevaluate", "logtrace", "generateserialid", "reversednsquery", "showcertificate"}
)
"""Scalar functions that reach out of the engine or write: files, code, models, the log, Keeper, DNS, certificates."""
_ENDLESS_FUNCTIONS = frozenset(
    {"arraylevenshteindistance", "arraylevenshteindistanceweighted", "arraysimilarity", "editdistance"}
    | {"editdistanceutf8", "levenshteindistance", "levenshteindistanceutf8", "dameraulevenshteindistance"}
)
"""Their work grows with the square of a value's length, and no limit of time and no `KILL` ends them within a block:
two arrays of the size that memory allows would keep a core for days."""
_REFUSED_CATEGORIES = ("AI", "Introspection")
_INSERT = re.compile(r"\s*INSERT\s+INTO\s", re.I)
"""Behind it stands data, which is no SQL: a driver is told what is the matter, not where parsing ended."""
_MAX_VERDICTS = 512

READONLY_CODE = 164
"""READONLY: what the engine itself says to a refused query."""

type Ask = Callable[[str, str, Mapping[str, str]], bytes]
"""(SQL, format, parameters) → the engine's answer, from a session that can't write; raises `QueryError`."""


class QueryError(RuntimeError):
    """The engine, or this guard, refuses a query. `code` is ClickHouse's number of the error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement that may run."""

    format: str
    """That the query names, '' when it names none."""
    is_select: bool
    has_totals: bool
    """It may have totals, which chDB does not stream."""


class Guard:
    """Judges statements; remembers its verdicts. For use by several threads."""

    def __init__(self, ask: Ask) -> None:
        """`ask` must be a read-only session too: a text that is refused has gone through its parser."""
        self._ask = ask
        reaching = _reaching_functions(ask)
        self._refused = reaching | _table_functions(ask)
        self._refused_names = reaching
        self._content_types = _content_types_of(ask)
        self._verdicts: OrderedDict[bytes, Verdict] = OrderedDict()
        self._lock = threading.Lock()

    def judge(self, sql: str, params: Mapping[str, str]) -> Verdict:
        """The verdict on a statement that may run.

        Raises:
            QueryError: it may not, or the engine can't parse it.
        """
        key = _key(sql, params)
        with self._lock:
            if key in self._verdicts:
                self._verdicts.move_to_end(key)
                return self._verdicts[key]
        text = sql.replace("\\", "\\\\").replace("'", "\\'")
        try:
            self._ask(f"SELECT formatQuerySingleLine('{text}')", "Null", {})
            tree = self._ask(f"EXPLAIN AST {sql}", "TSVRaw", params).decode("utf-8", "replace")
        except QueryError as error:
            if _INSERT.match(sql):
                raise refusal("only reading is allowed here, not InsertQuery") from None
            raise QueryError(_about_the_query(str(error)), error.code) from None
        tokens = self._ask(f"SELECT arrayJoin(tokenizeQuery('{text}')) AS t, t.3, t.1, t.2", "TSVRaw", {})
        verdict = self._judge(tree, _tokens(tokens, sql))
        with self._lock:
            self._verdicts[key] = verdict
            if len(self._verdicts) > _MAX_VERDICTS:
                self._verdicts.popitem(last=False)
        return verdict

    def content_type(self, format_name: str) -> str:
        """Of answers in a format, as the engine has it."""
        return self._content_types.get(format_name.lower(), "text/plain; charset=UTF-8")

    def is_refused(self, function: str) -> bool:
        """Whether a function's name may not stand in a query."""
        name = function.lower()
        return name in self._refused or name.startswith("ai")

    def _judge(self, tree: str, tokens: list[tuple[str, str]]) -> Verdict:
        root, *lines = tree.splitlines() or [""]
        kind = root.split(" ")[0]
        if kind not in _READING:
            raise refusal(f"only reading is allowed here, not {kind or 'this'}")
        for line in lines:
            self._judge_node(line)
        shows = any(line.lstrip(" ").startswith(("Show", "Exists")) for line in [root, *lines])
        if shows and any(name == "OpeningRoundBracket" for name, _ in tokens):
            raise refusal("SHOW with a function or a bracket is not allowed here; ask the system tables instead")
        words = [text.upper() for name, text in tokens if name == "BareWord"]
        return Verdict(
            format=self._format_of(tokens),
            is_select=kind.startswith("Select"),
            has_totals="TOTALS" in words,
        )

    def _format_of(self, tokens: list[tuple[str, str]]) -> str:
        """The last `FORMAT Name` outside brackets that names a format."""
        depth, named = 0, ""
        for (kind, text), (after, name) in pairwise([*tokens, ("", "")]):
            depth += (kind == "OpeningRoundBracket") - (kind == "ClosingRoundBracket")
            is_word = depth == 0 and kind == after == "BareWord" and text.upper() == "FORMAT"
            if is_word and name.lower() in self._content_types:
                named = name
        return named

    def _judge_node(self, line: str) -> None:
        words = line.split()
        if not words:
            return
        depth = len(line) - len(line.lstrip(" "))
        if depth == 1 and words[0] == "Literal":
            raise refusal("INTO OUTFILE is not allowed here")
        if words[0] == "ColumnsApplyTransformer":
            raise refusal("APPLY is not allowed here")
        if words[0] == "Function" and len(words) > 1 and self.is_refused(words[1]):
            raise refusal(f"the function {words[1]} is not allowed here")
        if words[0] == "Identifier" and len(words) > 1 and words[1].lower() in self._refused_names:
            raise refusal(f"the name {words[1]} is that of a function that is not allowed here")


def _key(sql: str, params: Mapping[str, str]) -> bytes:
    """Names a statement in 32 bytes: a text may have megabytes, and hundreds are remembered."""
    named = sorted(params.items()) if "identifier" in sql.lower() else []
    return hashlib.blake2b(repr((sql, named)).encode(), digest_size=32).digest()


def _tokens(listed: bytes, sql: str) -> list[tuple[str, str]]:
    """(kind, text) of the engine's tokens, without blanks and comments."""
    data, out = sql.encode(), []
    for line in listed.decode().splitlines():
        _, kind, start, end = line.rsplit("\t", 3)
        if kind not in ("Whitespace", "Comment"):
            out.append((kind, data[int(start) : int(end)].decode("utf-8", "replace")))
    return out


def _about_the_query(message: str) -> str:
    """The engine's message without our question around the client's query."""
    return re.sub(
        r"(: In scope SELECT formatQuerySingleLine\(| \(in query: EXPLAIN AST ).*(?= \([A-Z_]+\)$)",
        "",
        message,
        flags=re.S,
    )


def _reaching_functions(ask: Ask) -> frozenset[str]:
    """Names, in lower case, of scalar functions that reach out, of which the engine tells some by their category."""
    categories = ", ".join(f"'{name}'" for name in _REFUSED_CATEGORIES)
    reaching = f"SELECT name FROM system.functions WHERE categories IN ({categories})"
    asked = f"SELECT lower(name) FROM system.functions WHERE name IN ({reaching}) OR alias_to IN ({reaching})"
    return _REFUSED_FUNCTIONS | _ENDLESS_FUNCTIONS | _names(ask, asked)


def _table_functions(ask: Ask) -> frozenset[str]:
    """Names, in lower case, of table functions that are not known to be harmless."""
    tables = _names(ask, "SELECT lower(name) FROM system.table_functions") - _HARMLESS_TABLE_FUNCTIONS
    # A scalar function may share its name with a table function; readonly mode refuses the latter on its own.
    return tables - _names(ask, "SELECT lower(name) FROM system.functions")


def _names(ask: Ask, sql: str) -> frozenset[str]:
    return frozenset(ask(sql, "TSVRaw", {}).decode().split())


def _content_types_of(ask: Ask) -> dict[str, str]:
    listed = ask("SELECT lower(name), content_type FROM system.formats WHERE is_output", "TSVRaw", {}).decode()
    return dict(line.split("\t", 1) for line in listed.splitlines())


def refusal(reason: str) -> QueryError:
    """An error as the engine's own in readonly mode."""
    return QueryError(f"Code: {READONLY_CODE}. DB::Exception: {reason}. (READONLY)", READONLY_CODE)

"""Tables that a newer version brings are filled with what was stored before, in pieces, while the collector serves.

A store of a million spans can't be rewritten within the engine's memory in one statement, and nobody should wait for
it. So migrations only make tables, and what moves rows is here: each piece is one job of the writer, between its
inserts, small enough for the engine's bound; a piece too large for it is cut. Whatever is killed, the next start goes
on: facts are looked for where they are missing, texts by the pieces that are recorded in `backfills`.

- `session_facts` (migration 0040): sessions with fewer facts than typed rows, the newest first.
- `texts` (0041): an older store's table `content` is renamed to `content_before`; until all of it is moved, `content`
  shows both. A piece that was moved and not recorded is moved again: merges make one row of the two.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.client import Client

from spanlore_collector.store.client import is_out_of_memory

log = logging.getLogger(__name__)

FACTS: Final = "session_facts"
TEXTS: Final = "texts"
BEFORE: Final = "content_before"
PIECE_SPANS: Final = 20_000
PIECE_IDS: Final = 2_000
PIECE_BYTES: Final = 8 * 1024**2
"""Of content, uncompressed."""
_WHOLE: Final = "*"
"""A piece that is all of it."""
_NO_MERGE: Final = 1
"""Bytes. A merge of what is to be moved is work for nothing, and of half a gigabyte of texts it took all memory there
is, failed and began anew, while inserts were refused."""
_DIGITS: Final = "0123456789abcdef"
_COLUMNS: Final = "hash, body, bytes, first_seen"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a table is: rows that were looked at, of how many in all."""

    table: str
    rows: int
    of_rows: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return min(self.rows / self.of_rows, 1.0) if self.of_rows else 1.0


class BackFill:
    """What is left to do in one store. `step` is for one thread at a time, with the writing connection."""

    def __init__(self, cluster: str = "") -> None:
        self._cluster = cluster
        self._steps: Iterator[None] | None = None
        self._progress: dict[str, Progress] = {}
        self.failure = ""
        """Why the last step failed; '' when it did not."""

    @property
    def progress(self) -> list[Progress]:
        """Of the tables that are being filled; empty before the first step and when nothing is left."""
        return list(self._progress.values())

    def step(self, client: Client) -> bool:
        """Moves one piece; False when nothing is left.

        Raises:
            clickhouse_connect's errors: the store refuses. The next step goes on.
        """
        if self._steps is None:
            self._steps = self._all(client)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = iter(())
            return False
        except BaseException as error:
            # A generator that raised is over: the next step looks anew at what is missing.
            self._steps, self.failure = None, str(error)[:300]
            raise
        self.failure = ""
        return True

    def _all(self, client: Client) -> Iterator[None]:
        for table, pieces in ((FACTS, self.facts), (TEXTS, self._texts)):
            if not _is_done(client, table):
                yield from pieces(client)
                _record(client, table, "", 0)
                self._progress.pop(table, None)

    def facts(self, client: Client) -> Iterator[None]:
        """Fills one piece after another."""
        left = [(str(row[0]), int(row[1])) for row in client.query(_MISSING_FACTS).result_rows]
        total, done = sum(rows for _, rows in left), 0
        for some in _slices(left):
            self._progress[FACTS] = Progress(FACTS, done, total)
            yield from _bisected(client, [name for name, _ in some], _fill_facts)
            done += sum(rows for _, rows in some)

    def _texts(self, client: Client) -> Iterator[None]:
        if not _has_table(client, BEFORE):
            return
        rows, size = client.query(
            "SELECT sum(rows), sum(data_uncompressed_bytes) FROM system.parts "
            f"WHERE active AND database = currentDatabase() AND table = '{BEFORE}'"
        ).result_rows[0]
        sql = "SELECT piece, rows FROM backfills WHERE name = {name:String}"
        recorded = client.query(sql, {"name": TEXTS}).result_rows
        moved, there = sum(int(row[1]) for row in recorded), {str(row[0]) for row in recorded}
        waiting = _prefixes(int(size))
        while waiting:
            piece = waiting.pop()
            if any(prefix in there for prefix in (_WHOLE, *(piece[:end] for end in range(1, len(piece) + 1)))):
                continue
            self._progress[TEXTS] = Progress(TEXTS, moved, int(rows))
            try:
                moved += _move_texts(client, piece)
            # All but one are raised again.
            except Exception as error:
                if not is_out_of_memory(error) or len(piece) > 8:
                    raise
                waiting += [piece + digit for digit in reversed(_DIGITS)]
            yield
        client.command(f"CREATE OR REPLACE VIEW content AS SELECT {_COLUMNS} FROM texts")
        client.command(f"DROP TABLE {BEFORE} SYNC")


def fill(client: Client, tell: Callable[[Sequence[Progress]], None] = lambda progress: None, cluster: str = "") -> None:
    """Moves all that is left, for whoever has the store to himself.

    Raises:
        clickhouse_connect's errors: the store refuses.
    """
    left = BackFill(cluster)
    while left.step(client):
        tell(left.progress)


def fill_facts(client: Client) -> None:
    """Makes the rows of `session_facts` that are missing, of spans that did not come through the writer."""
    for _ in BackFill().facts(client):
        pass


def is_left(client: Client) -> list[str]:
    """The tables that are not filled yet."""
    return [table for table in (FACTS, TEXTS) if not _is_done(client, table)]


def is_moving(client: Client) -> bool:
    """Whether content of an older version waits to be moved."""
    return _has_table(client, BEFORE)


def set_aside(client: Client, cluster: str = "") -> None:
    """Before migration 0041 makes `content` a view: what the table of that name holds is kept under another.

    On a cluster it is moved at once, as servers have the memory for.
    """
    if not _has_table(client, "content") or not client.query("SELECT 1 FROM content LIMIT 1").result_rows:
        return
    if cluster:
        client.command(f"INSERT INTO texts SELECT {_COLUMNS} FROM content WHERE hash NOT IN (SELECT hash FROM texts)")
    else:
        bound_merges_of(client, "content", _NO_MERGE)
        client.command(f"RENAME TABLE content TO {BEFORE}")


def bound_merges_of(client: Client, table: str, size_bytes: int = _NO_MERGE) -> None:
    """Parts that are larger together are not merged any more; of a table that is there and has another bound."""
    setting = f"max_bytes_to_merge_at_max_space_in_pool = {size_bytes}"
    sql = "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = {name:String}"
    engine = client.query(sql, {"name": table}).result_rows
    if engine and not re.search(rf"\b{setting}\b", engine[0][0]):
        client.command(f"ALTER TABLE {table} MODIFY SETTING {setting}")


def show_both(client: Client) -> None:
    """Makes `content` show what is not moved yet, as long as there is any."""
    if _has_table(client, BEFORE):
        both = f"SELECT {_COLUMNS} FROM texts UNION ALL SELECT {_COLUMNS} FROM {BEFORE}"
        client.command(f"CREATE OR REPLACE VIEW content AS {both}")


_SPANS_OF_SESSIONS = """
    SELECT session_id, toInt64(count()) AS spans, max(start_time) AS newest FROM inferences GROUP BY session_id
    UNION ALL
    SELECT session_id, toInt64(count()), max(start_time) FROM tool_calls GROUP BY session_id
    UNION ALL
    SELECT session_id, toInt64(count()), max(start_time) FROM turns WHERE call_class = 'main' GROUP BY session_id
    UNION ALL
    SELECT session_id, -toInt64(sum(inferences) + sum(tool_calls) + sum(turns)), min(start_time) FROM session_facts
    GROUP BY session_id
"""
_MISSING_FACTS = f"""
SELECT session_id, sum(spans) AS missing FROM ({_SPANS_OF_SESSIONS})
GROUP BY session_id HAVING missing > 0 ORDER BY max(newest) DESC
SETTINGS max_bytes_before_external_group_by = 67108864, max_threads = 1
"""
_HERE = "session_id IN {ids:Array(String)}"
_NO_FACT = f"{_HERE} AND span_id NOT IN (SELECT span_id FROM session_facts WHERE {_HERE})"
_FILL_FACTS = (
    f"""
    INSERT INTO session_facts
    SELECT
        i.session_id, i.trace_id, i.span_id, i.start_time, i.end_time, i.harness, i.repository, i.branch, i.source,
        1, 0, 0, 0, i.input_tokens, i.output_tokens, i.cache_read_tokens, i.cache_write_tokens, i.cost_usd, h.title,
        i.ingested_at
    FROM
    (
        SELECT * FROM inferences WHERE {_NO_FACT}
    ) AS i
    LEFT JOIN
    (
        SELECT span_id, argMinIf(substring(text, 1, 200), ordinal, notEmpty(text)) AS title
        FROM human_messages
        WHERE {_HERE} AND channel = 'user_message' AND call_class = 'main' AND turn_index = 0
        GROUP BY span_id
    ) AS h ON h.span_id = i.span_id
    """,
    f"""
    INSERT INTO session_facts
    SELECT
        session_id, trace_id, span_id, start_time, end_time, harness, repository, branch, source,
        0, 1, outcome = 'failure', 0, NULL, NULL, NULL, NULL, NULL, '', ingested_at
    FROM tool_calls
    WHERE {_NO_FACT}
    """,
    f"""
    INSERT INTO session_facts
    SELECT
        session_id, trace_id, span_id, start_time, end_time, harness, repository, branch, source,
        0, 0, 0, 1, NULL, NULL, NULL, NULL, NULL, substring(prompt, 1, 200), ingested_at
    FROM turns
    WHERE call_class = 'main' AND {_NO_FACT}
    """,
)


def _fill_facts(client: Client, ids: Sequence[str]) -> None:
    for statement in _FILL_FACTS:
        client.command(statement, parameters={"ids": list(ids)})


def _bisected(client: Client, ids: Sequence[str], run: Callable[[Client, Sequence[str]], None]) -> Iterator[None]:
    """Runs it for all ids, for halves of them where the engine has not the memory for all."""
    try:
        run(client, ids)
    # All but one are raised again.
    except Exception as error:
        if not is_out_of_memory(error) or len(ids) < 2:
            raise
        yield
        middle = len(ids) // 2
        yield from _bisected(client, ids[:middle], run)
        yield from _bisected(client, ids[middle:], run)
        return
    yield


def _move_texts(client: Client, prefix: str) -> int:
    here = f"startsWith(hash, '{prefix}')" if prefix else "1"
    client.command(
        f"INSERT INTO texts ({_COLUMNS}) SELECT {_COLUMNS} FROM {BEFORE} WHERE {here} SETTINGS max_threads = 1"
    )
    rows = int(client.query(f"SELECT count() FROM {BEFORE} WHERE {here}").result_rows[0][0])
    _record(client, TEXTS, prefix or _WHOLE, rows)
    return rows


def _prefixes(size_bytes: int) -> list[str]:
    """What the hashes of a piece begin with, so that each has about `PIECE_BYTES`; the last is to be done first."""
    out = [""]
    while size_bytes > PIECE_BYTES * len(out) and len(out) < 16**4:
        out = [prefix + digit for prefix in out for digit in _DIGITS]
    return out[::-1]


def _slices(left: Sequence[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    some: list[tuple[str, int]] = []
    for one in left:
        some.append(one)
        if len(some) >= PIECE_IDS or sum(rows for _, rows in some) >= PIECE_SPANS:
            yield some
            some = []
    if some:
        yield some


def _has_table(client: Client, name: str) -> bool:
    """Whether there is one, and no view."""
    sql = (
        "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = {name:String} "
        "AND engine NOT LIKE '%View'"
    )
    return bool(client.query(sql, {"name": name}).result_rows[0][0])


def _is_done(client: Client, table: str) -> bool:
    sql = "SELECT count() FROM backfills WHERE name = {name:String} AND piece = ''"
    return bool(client.query(sql, {"name": table}).result_rows[0][0])


def _record(client: Client, table: str, piece: str, rows: int) -> None:
    client.insert("backfills", [[table, piece, rows]], column_names=["name", "piece", "rows"])

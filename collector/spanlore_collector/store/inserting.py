"""Puts the rows of a group of spans into the tables, each exactly once. Runs on the writer's thread only.

The order is content, parts, typed rows, and `otel_traces` last, so a span that is in `otel_traces` is everywhere. What
is already there is left out before inserting:

- a span in `otel_traces`: the sender repeats itself, in the same batch or in another that overlaps;
- for suspects (see `known`), the rows of each single table;
- content whose hash is known.

A turn's span that comes again with more in it (`lore.TURN_REVISION`) takes the place of what is there: that is deleted
first, which rewrites parts, so nobody sends it without need.

The tables before `otel_traces` have no order among themselves; with a second connection half of them are written beside
the other half, since an insert costs much the same for one row as for thousands and mostly waits.

Each insert carries a deduplication token made from the ids in it, so that an insert of which the server's answer was
lost, and that is repeated, is dropped by the server. What agents report of themselves may give way first (`claims`).
Traces of the newest inserts get their entry in `otel_traces_trace_id_ts` again when a process starts, since a view's
table is committed apart from its source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.datatypes.base import ClickHouseType
from clickhouse_connect.datatypes.registry import get_from_name
from clickhouse_connect.driver.client import Client

from spanlore.semconv import lore
from spanlore_collector.store import signals
from spanlore_collector.store.claims import Claims
from spanlore_collector.store.known import KnownHashes, KnownSpans, SpanKey
from spanlore_collector.store.retellings import Retellings
from spanlore_collector.store.retention import delete_rows, prune_content
from spanlore_collector.store.rows import SpanRows, title_row
from spanlore_collector.store.tables import (
    TRACE_COLUMNS,
    ContentRow,
    HumanMessageRow,
    InferenceRow,
    OpportunityRow,
    PartRow,
    SessionFactRow,
    ToolCallRow,
    TurnRow,
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "texts": ContentRow._fields,
    "message_parts": PartRow._fields,
    "human_messages": HumanMessageRow._fields,
    "tool_calls": ToolCallRow._fields,
    "turns": TurnRow._fields,
    "opportunities": OpportunityRow._fields,
    "session_facts": SessionFactRow._fields,
    "inferences": InferenceRow._fields,
    "otel_traces": TRACE_COLUMNS,
}
"""Tables in the order of insertion."""
_BESIDE = ("message_parts", "tool_calls", "turns", "session_facts")
"""Tables the second connection writes; about half of the work."""
_SEARCH_INDEX = "idx_words"
"""Of `texts`. Merges make it: an insert that did would take longer."""
_TYPED = ("message_parts", "human_messages", "tool_calls", "turns", "opportunities", "session_facts", "inferences")
_REVISED = ("message_parts", "session_facts", "turns")
"""Typed tables with rows of a turn's span that may come again (`lore.TURN_REVISION`)."""
_TYPED_SPAN = "trace_id = '{0.trace_id}' AND span_id = '{0.span_id}'"
_TRACE_SPAN = "TraceId = '{0.trace_id}' AND SpanId = '{0.span_id}'"
_SUSPECT_MINUTES = 15
"""How long before the newest insert a start looks for suspects. A group that died half-way is the newest one; earlier
ones failed while the process lived on, and their senders have tried again since."""
_IDS_PER_QUERY = 2_000
"""An id is 35 bytes in a query, and the engine reads at most 256 KiB of one."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch."""

    spans: int
    """Spans that are new in the store."""
    duplicates: int
    """Spans that were there already."""


class Inserter:
    """The tables, and what is known of them. Its queries and inserts raise clickhouse-connect's errors."""

    def __init__(
        self,
        client: Client,
        spans: KnownSpans | None = None,
        hashes: KnownHashes | None = None,
        beside: Client | None = None,
        cluster: str = "",
    ) -> None:
        """`beside` is a second connection to the same store; without one the tables are written one by one."""
        self._client = client
        self._beside = beside
        self._helper = ThreadPoolExecutor(1, thread_name_prefix="beside") if beside else None
        self._types = _column_types(client)
        self._content_settings = _content_settings(client)
        self._claims = Claims(client, cluster)
        self._retellings = Retellings(client)
        self._cluster = cluster
        self.spans = spans or KnownSpans()
        self.hashes = hashes or KnownHashes()
        self._warm()

    def insert(self, batches: Sequence[Sequence[SpanRows]]) -> list[Receipt]:
        """Inserts several batches as one group; what is returned for each is committed.

        An error leaves the group's spans suspect: repeat the batches.
        """
        self._ask_store(rows.key for batch in batches for rows in batch)
        taken: dict[SpanKey, SpanRows] = {}
        receipts = []
        for batch in batches:
            before = len(taken)
            for rows in batch:
                known = taken.get(rows.key)
                if known is None and rows.key in self.spans and not self._is_newer(rows):
                    continue
                if known is None or rows.revision > known.revision:
                    taken[rows.key] = rows
            receipts.append(Receipt(len(taken) - before, len(batch) - (len(taken) - before)))
        if taken:
            self._make_way([rows for rows in taken.values() if rows.revision and rows.key in self.spans])
            self._insert_spans(self._claims.settle(self._retellings.settle(list(taken.values()))))
        return receipts

    def _is_newer(self, rows: SpanRows) -> bool:
        """Whether a span that is there was told with less in it."""
        if not rows.revision:
            return False
        word = f"SpanAttributes['{lore.TURN_REVISION}']"
        sql = f"SELECT max(toUInt32OrZero({word})) FROM otel_traces WHERE {_TRACE_SPAN.format(rows)}"
        return int(self._client.query(sql).result_rows[0][0]) < rows.revision

    def _make_way(self, revised: Iterable[SpanRows]) -> None:
        """Deletes what is there of spans that come again with more in them; `otel_traces` last, so that a sender who
        repeats it all because we died in between finds the old row, and it begins anew."""
        for rows in revised:
            for table in _REVISED:
                delete_rows(self._client, table, _TYPED_SPAN.format(rows), self._cluster)
            delete_rows(self._client, "otel_traces", _TRACE_SPAN.format(rows), self._cluster)

    def insert_signals(self, rows: signals.SignalRows) -> None:
        """Inserts logs or metrics; the same request again changes nothing."""
        for table, some in rows.tables.items():
            if some:
                self._insert(self._client, table, signals.COLUMNS[table], some, f"{table}-{rows.token}")

    def add_content(self, rows: Sequence[SpanRows]) -> None:
        """Adds parts, contents and human messages to spans that are there already (see `late_content`)."""
        if not rows:
            return
        tables = tables_of(rows)
        parts: Sequence[PartRow] = tables["message_parts"]
        # Not the spans alone: more of the same span may come.
        token = _digest(f"{p.span_id}{p.direction}{p.message_index}.{p.part_index}{p.content_hash}" for p in parts)
        tables["texts"] = self._new_content(tables["texts"], rows)
        tables["session_facts"] = [row for row in map(title_row, rows) if row]
        # The parts come last: while they are missing, all of it is tried again.
        for table in ("texts", "human_messages", "session_facts", "message_parts"):
            self.insert_table(table, tables[table], token)
        self.hashes.stored(row.hash for row in tables["texts"])

    def prune(self) -> int:
        """Deletes content that nothing names any more; returns how many rows went."""
        gone = prune_content(self._client, self._cluster)
        if gone:
            self.hashes = KnownHashes(self.hashes.max_hashes)
        return gone

    def close(self) -> None:
        """Ends the second connection."""
        if self._helper is not None:
            self._helper.shutdown()
        if self._beside is not None:
            self._beside.close()

    def _insert_spans(self, group: list[SpanRows]) -> None:
        suspects = [rows for rows in group if rows.key in self.spans.suspects]
        present = self._present(suspects) if suspects else {}
        tables = tables_of(group)
        tables["texts"] = self._new_content(tables["texts"], suspects)
        for table, there in present.items():
            tables[table] = [row for row in tables[table] if (row.trace_id, row.span_id) not in there]
        self.spans.suspects.update(rows.key for rows in group)
        commit = tables.pop("otel_traces")
        token = token_of(group)
        self._insert_typed(tables, token)
        self.hashes.stored(row.hash for row in tables["texts"])
        self.insert_table("otel_traces", commit, token)
        self.spans.stored(rows.key for rows in group)
        self._claims.stored(group)

    def _insert_typed(self, tables: dict[str, list[Any]], token: str) -> None:
        if self._helper is None or self._beside is None:
            for table, rows in tables.items():
                self.insert_table(table, rows, token)
            return
        other = self._helper.submit(self._insert_some, self._beside, tables, _BESIDE, token)
        try:
            self._insert_some(self._client, tables, [table for table in tables if table not in _BESIDE], token)
        finally:
            failure = other.exception()  # waits: nothing of this group may be under way when it is tried again
        if failure is not None:
            raise failure

    def _insert_some(self, client: Client, tables: dict[str, list[Any]], names: Iterable[str], token: str) -> None:
        for table in names:
            self._insert(client, table, COLUMNS[table], tables[table], _token(table, tables[table], token))

    def insert_table(self, table: str, rows: list[Any], token: str) -> None:
        """Inserts rows as they are, in one block. `token` names the spans they are of."""
        self._insert(self._client, table, COLUMNS[table], rows, _token(table, rows, token))

    def _insert(self, client: Client, table: str, columns: Sequence[str], rows: Sequence[Any], token: str) -> None:
        if not rows:
            return
        settings = {"insert_deduplication_token": token}
        client.insert(
            table,
            list(zip(*rows, strict=True)),
            column_names=columns,
            column_types=self._types[table],
            column_oriented=True,
            settings={**settings, **self._content_settings} if table == "texts" else settings,
        )

    def _new_content(self, contents: Iterable[ContentRow], suspects: Iterable[SpanRows]) -> list[ContentRow]:
        fresh = {row.hash: row for row in contents if row.hash not in self.hashes}
        doubtful = [row.hash for rows in suspects for row in rows.contents if row.hash in fresh]
        for some in _slices(doubtful):
            there = self._client.query(f"SELECT DISTINCT hash FROM content WHERE hash IN ({_quoted(some)})").result_rows
            for (address,) in there:
                fresh.pop(address, None)
        return list(fresh.values())

    def _ask_store(self, keys: Iterable[SpanKey]) -> None:
        """Learns the spans of every trace that is not known yet."""
        for some in _slices(self.spans.unknown_traces(keys)):
            found: dict[str, set[str]] = {trace_id: set() for trace_id in some}
            sql = f"SELECT TraceId, SpanId FROM otel_traces WHERE TraceId IN ({_quoted(some)})"
            for trace_id, span_id in self._client.query(sql).result_rows:
                found[trace_id].add(span_id)
            for trace_id, span_ids in found.items():
                self.spans.learn(trace_id, span_ids)

    def _present(self, suspects: Iterable[SpanRows]) -> dict[str, set[SpanKey]]:
        """By typed table, which of the suspects' traces' spans it holds."""
        traces = sorted({rows.trace_id for rows in suspects})
        out: dict[str, set[SpanKey]] = {}
        for table in _TYPED:
            out[table] = set()
            for some in _slices(traces):
                sql = f"SELECT DISTINCT trace_id, span_id FROM {table} WHERE trace_id IN ({_quoted(some)})"
                out[table].update((row[0], row[1]) for row in self._client.query(sql).result_rows)
        return out

    def _warm(self) -> None:
        """Reads what the last process left: suspects, the newest content hashes, missing trace times."""
        newest = self._client.query(
            f"SELECT hash FROM content ORDER BY first_seen DESC LIMIT {self.hashes.max_hashes}"
        ).result_rows
        self.hashes.stored(address for (address,) in reversed(newest))
        self.spans.suspects.update((row[0], row[1]) for row in self._client.query(_ORPHANS).result_rows)
        self._client.command(_TRACE_TIMES)


def tables_of(group: Sequence[SpanRows]) -> dict[str, list[Any]]:
    """The rows of spans by table, in the order of insertion; content once a hash."""
    return {
        "texts": list({row.hash: row for rows in group for row in rows.contents}.values()),
        "message_parts": [row for rows in group for row in rows.parts],
        "human_messages": [row for rows in group for row in rows.human],
        "tool_calls": [rows.tool_call for rows in group if rows.tool_call],
        "turns": [rows.turn for rows in group if rows.turn],
        "opportunities": [row for rows in group for row in rows.opportunities],
        "session_facts": [rows.fact for rows in group if rows.fact],
        "inferences": [rows.inference for rows in group if rows.inference],
        "otel_traces": [rows.trace for rows in group],
    }


_RECENT = " UNION ALL ".join(
    f"SELECT trace_id, span_id, ingested_at FROM {table} "
    f"WHERE ingested_at >= (SELECT max(ingested_at) - toIntervalMinute({_SUSPECT_MINUTES}) FROM {table})"
    for table in _TYPED
)
_ORPHANS = f"""
WITH recent AS (SELECT DISTINCT trace_id, span_id FROM ({_RECENT}))
SELECT trace_id, span_id FROM recent
WHERE (trace_id, span_id) NOT IN
    (SELECT TraceId, SpanId FROM otel_traces WHERE TraceId IN (SELECT trace_id FROM recent))
"""
_TRACE_TIMES = f"""
INSERT INTO otel_traces_trace_id_ts
SELECT TraceId, min(toDateTime(Timestamp)) AS Start, max(toDateTime(Timestamp)) AS End
FROM otel_traces
WHERE TraceId IN
(
    WITH recent AS ({_RECENT})
    SELECT DISTINCT trace_id FROM recent
    WHERE ingested_at >= (SELECT max(ingested_at) FROM recent) - toIntervalSecond(10)
)
GROUP BY TraceId
"""


def _column_types(client: Client) -> dict[str, list[ClickHouseType]]:
    sql = "SELECT table, name, type FROM system.columns WHERE database = currentDatabase()"
    types = {(row[0], row[1]): row[2] for row in client.query(sql).result_rows}
    return {
        table: [get_from_name(types[table, column]) for column in columns]
        for table, columns in {**COLUMNS, **signals.COLUMNS}.items()
    }


def token_of(group: Iterable[SpanRows]) -> str:
    """Names a group by its spans."""
    return _digest(f"{rows.trace_id}{rows.span_id}{rows.revision or ''}" for rows in group)


def _content_settings(client: Client) -> dict[str, str]:
    name = "exclude_materialize_skip_indexes_on_insert"
    is_known = client.query(f"SELECT count() FROM system.settings WHERE name = '{name}'").result_rows[0][0]
    return {name: _SEARCH_INDEX} if is_known else {}


def _token(table: str, rows: Sequence[Any], group: str) -> str:
    """Names an insert by what is in it: the group's spans, the table, and what of them is left to insert."""
    words = _digest(row.hash for row in rows) if table == "texts" else f"{group}-{len(rows)}"
    return f"{table}-{words}"


def _digest(ids: Iterable[str]) -> str:
    return hashlib.blake2b("".join(ids).encode(), digest_size=16).hexdigest()


def _slices(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _IDS_PER_QUERY):
        yield ids[start : start + _IDS_PER_QUERY]


def _quoted(ids: Iterable[str]) -> str:
    """Ids are hex digits that we made from bytes: nothing to escape."""
    return ",".join(f"'{word}'" for word in ids)

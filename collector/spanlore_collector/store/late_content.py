"""Content that came apart from its span, in log records, is put where a span's own content is.

The records stand in `otel_logs`, so nothing is lost whatever comes first. When both the records and the span are there,
parts, content and what a person typed are made as if the span had carried them. A span whose records came before it is
*waiting*; the newest waiting ones are found again when a process starts. Content that a span has of its own stays.

Runs on the writer's thread. Costs nothing while nobody sends such records.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from spanlore.spans.record import SpanKind, SpanRecord, StatusCode
from spanlore_collector.store.known import SpanKey
from spanlore_collector.store.retention import delete_rows
from spanlore_collector.store.rows import SpanRows, rows_of
from spanlore_collector.store.tables import PartRow

__all__ = ["EVENT_NAMES", "LateContent", "SpanKey", "ToldEvent"]

EVENT_NAMES = frozenset(
    {"gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message"}
    | {"gen_ai.choice", "gen_ai.client.inference.operation.details"}
)
"""Log records that tell a span's content."""
MAX_WAITING = 50_000
_START_DAYS = 1
"""How old records may be that a start looks at."""
_STATUS = {"Ok": StatusCode.OK, "Error": StatusCode.ERROR}
_MAX_KEYS = 1_000
"""In one query."""


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """One log record that tells content."""

    time_ns: int
    name: str
    body: str
    attributes: tuple[tuple[str, str], ...]


type Complete = Callable[[SpanRecord, Sequence[ToldEvent]], SpanRecord]
"""(span without content, events in order) → span with the content that they tell."""


class LateContent:
    """Knows which spans wait. Its methods but `waits` may raise clickhouse-connect's errors."""

    def __init__(self, complete: Complete, cluster: str = "") -> None:
        self._complete = complete
        self._cluster = cluster
        self._waiting: OrderedDict[SpanKey, None] = OrderedDict()

    def waits(self, keys: Iterable[SpanKey]) -> list[SpanKey]:
        """Those of the spans whose content is there already. From any thread."""
        return [key for key in keys if key in self._waiting] if self._waiting else []

    def left(self, client: Client) -> list[SpanKey]:
        """Spans of recent records that have no content, for a process that starts."""
        sql = (
            "SELECT DISTINCT TraceId, SpanId FROM otel_logs "
            f"WHERE Timestamp > now() - toIntervalDay({_START_DAYS}) AND EventName IN ({_quoted(EVENT_NAMES)}) "
            "AND TraceId != '' AND SpanId NOT IN "
            f"(SELECT span_id FROM message_parts WHERE time > now() - toIntervalDay({_START_DAYS})) "
            f"LIMIT {MAX_WAITING}"
        )
        return [(row[0], row[1]) for row in client.query(sql).result_rows]

    def found(self, client: Client, keys: Sequence[SpanKey], now_ms: int) -> list[SpanRows]:
        """The rows to add for these spans: only parts, contents and human messages count. The others wait.

        Rows that are made anew, because more messages of a span came, are deleted before this returns.
        """
        out: list[SpanRows] = []
        for start in range(0, len(keys), _MAX_KEYS):
            some = keys[start : start + _MAX_KEYS]
            spans = _spans(client, some)
            self._wait(key for key in some if key not in spans)
            if spans:
                out += self._content(client, spans, now_ms)
                for key in spans:
                    self._waiting.pop(key, None)
        return out

    def _content(self, client: Client, spans: Mapping[SpanKey, SpanRecord], now_ms: int) -> list[SpanRows]:
        events = _events(client, spans)
        there = _parts_of(client, spans)
        out = []
        for key, span in spans.items():
            rows = rows_of(self._complete(span, events[key]), now_ms)
            told = _by_direction(rows.parts)
            missing = {direction for direction, parts in told.items() if _is_more(parts, there[key].get(direction, {}))}
            for direction in missing & there[key].keys():
                self._make_way(client, key, direction)
            rows.parts = tuple(part for part in rows.parts if part.direction in missing)
            named = {part.content_hash for part in rows.parts}
            rows.contents = tuple(row for row in rows.contents if row.hash in named)
            if "input" not in missing:
                rows.human = ()
            if rows.parts:
                out.append(rows)
        return out

    def _make_way(self, client: Client, key: SpanKey, direction: str) -> None:
        """Deletes what was made of fewer records."""
        where = f"trace_id = '{key[0]}' AND span_id = '{key[1]}'"
        if direction == "input":
            delete_rows(client, "human_messages", where, self._cluster)
        delete_rows(client, "message_parts", f"{where} AND direction = '{direction}'", self._cluster)

    def _wait(self, keys: Iterable[SpanKey]) -> None:
        for key in keys:
            self._waiting[key] = None
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)


def _spans(client: Client, keys: Sequence[SpanKey]) -> dict[SpanKey, SpanRecord]:
    """The spans among them that are typed as inferences, without content. Others tell none, or gave way to the wire."""
    traces = _quoted({trace for trace, _ in keys})
    wanted = _quoted({span for _, span in keys})
    typed = f"SELECT trace_id, span_id FROM inferences WHERE trace_id IN ({traces})"
    sql = (
        "SELECT TraceId, SpanId, ParentSpanId, SpanName, SpanKind, toUnixTimestamp64Nano(Timestamp), Duration, "
        "SpanAttributes, ResourceAttributes, ScopeName, StatusCode, StatusMessage FROM otel_traces "
        f"WHERE TraceId IN ({traces}) AND SpanId IN ({wanted}) AND (TraceId, SpanId) IN ({typed})"
    )
    asked, out = set(keys), {}
    for row in client.query(sql).result_rows:
        if (row[0], row[1]) in asked:
            out[row[0], row[1]] = _record(row)
    return out


def _record(row: Sequence[Any]) -> SpanRecord:
    kind, start_ns = row[4], int(row[5])
    return SpanRecord(
        trace_id=bytes.fromhex(row[0]),
        span_id=bytes.fromhex(row[1]),
        parent_span_id=bytes.fromhex(row[2]) or None,
        name=row[3],
        kind=SpanKind(kind) if kind in SpanKind else SpanKind.UNSPECIFIED,
        start_time_ns=start_ns,
        end_time_ns=start_ns + int(row[6]),
        attributes=dict(row[7]),
        resource=dict(row[8]),
        scope_name=row[9],
        status_code=_STATUS.get(row[10], StatusCode.UNSET),
        status_message=row[11],
    )


def _events(client: Client, keys: Iterable[SpanKey]) -> dict[SpanKey, list[ToldEvent]]:
    wanted = set(keys)
    sql = (
        "SELECT TraceId, SpanId, toUnixTimestamp64Nano(Timestamp) AS at, EventName, Body, LogAttributes FROM otel_logs "
        f"WHERE TraceId IN ({_quoted({trace for trace, _ in wanted})}) "
        f"AND SpanId IN ({_quoted({span for _, span in wanted})}) AND EventName IN ({_quoted(EVENT_NAMES)}) ORDER BY at"
    )
    out: dict[SpanKey, list[ToldEvent]] = defaultdict(list)
    for trace, span, at, name, body, attributes in client.query(sql).result_rows:
        if (trace, span) in wanted:
            out[trace, span].append(ToldEvent(int(at), name, body, tuple(attributes.items())))
    return out


type Parts = dict[tuple[int, int], str]
"""(message, part) → content hash."""


def _by_direction(parts: Iterable[PartRow]) -> dict[str, Parts]:
    out: dict[str, Parts] = defaultdict(dict)
    for part in parts:
        out[part.direction][part.message_index, part.part_index] = part.content_hash
    return out


def _is_more(told: Parts, there: Parts) -> bool:
    """Whether what is told holds all that is there, and more: else a span's own content stands."""
    return Counter(there.values()) < Counter(told.values())


def _parts_of(client: Client, keys: Iterable[SpanKey]) -> dict[SpanKey, dict[str, Parts]]:
    sql = (
        "SELECT trace_id, span_id, direction, message_index, part_index, content_hash FROM message_parts "
        f"WHERE trace_id IN ({_quoted({trace for trace, _ in keys})})"
    )
    out: dict[SpanKey, dict[str, Parts]] = defaultdict(lambda: defaultdict(dict))
    for trace, span, direction, message, part, address in client.query(sql).result_rows:
        out[trace, span][direction][message, part] = address
    return out


def _quoted(words: Iterable[str]) -> str:
    """Ids are hex digits that we made from bytes, names our own: nothing to escape."""
    return ", ".join(f"'{word}'" for word in sorted(words))

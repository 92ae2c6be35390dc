"""What the views ask the store: whole rows as dictionaries, times as integer nanoseconds since the epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spanlore_collector.store.attributes import MAX_INT64

type Row = dict[str, Any]
type Asked = tuple[str, dict[str, Any]]
"""SQL with its parameters."""

_TIMES = "toUnixTimestamp64Nano(start_time) AS start_time_ns, toUnixTimestamp64Nano(end_time) AS end_time_ns"
_SESSION = f"* EXCEPT (start_time, end_time, cost_usd), {_TIMES}, toFloat64(cost_usd) AS cost_usd"
_DAY_NS = 86_400 * 10**9
MAX_SPANS = 20_000
"""Of one kind in one session; a tree larger than that is cut, and says so."""


class RowSource(Protocol):
    """The reading side of the store."""

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[Row]: ...


class SessionSource(RowSource, Protocol):
    """One that answers several questions beside each other."""

    def each(self, asked: Sequence[Asked]) -> list[list[Row]]: ...


@dataclass(frozen=True, slots=True)
class SessionSpans:
    """The typed rows of one session, each in order of time."""

    turns: list[Row]
    inferences: list[Row]
    tool_calls: list[Row]


def list_sessions(
    source: RowSource,
    *,
    limit: int,
    repository: str = "",
    agent: str = "",
    only_failed: bool = False,
    since_ns: int = 0,
) -> list[Row]:
    """Newest sessions first; `repository` is any part of the scope key, `agent` a harness."""
    # Without a filter the newest are known from two columns, and only theirs are added up.
    newest = "" if repository or agent or only_failed or since_ns else f"session_id IN ({_NEWEST}) AND "
    return source.rows(
        f"SELECT {_SESSION} FROM sessions "
        f"WHERE {newest}({{repository:String}} = '' OR position(repository, {{repository:String}}) > 0) "
        "AND ({agent:String} = '' OR harness = {agent:String}) "
        "AND end_time >= fromUnixTimestamp64Nano({since:Int64}) "
        "AND (NOT {failed:Bool} OR failures > 0) "
        "ORDER BY start_time_ns DESC LIMIT {limit:UInt32}",
        {"repository": repository, "agent": agent, "failed": only_failed, "since": since_ns, "limit": limit},
    )


_NEWEST = "SELECT session_id FROM session_facts GROUP BY session_id ORDER BY min(start_time) DESC LIMIT {limit:UInt32}"


def sessions_named(source: RowSource, prefix: str) -> list[Row]:
    """The session of that id, else those whose id begins so; at most 6, since more than one is an error anyway."""
    exact = _session(source, prefix)
    return [exact] if exact else source.rows(_BEGINS_SO, {"prefix": prefix})


def session_spans(source: SessionSource, session: Row) -> SessionSpans:
    """All typed rows of a session, of which `session` is the row."""
    session_id = session["session_id"]
    found = source.each([_spans(session, table) for table in _COLUMNS])
    whole = [
        rows if len(rows) <= MAX_SPANS else source.rows(*_first_spans(session, table))
        for table, rows in zip(_COLUMNS, found, strict=True)
    ]
    turns, inferences, calls = (_one_a_span(rows) for rows in whole)
    return SessionSpans(turns, inferences, _in_order_of_answers(source, session_id, calls))


def one_session(source: SessionSource, session_id: str) -> tuple[Row, SessionSpans] | None:
    """The session of exactly that id with its rows; None when there is none."""
    found = _session(source, session_id)
    return (found, session_spans(source, found)) if found else None


def _session(source: RowSource, session_id: str) -> Row | None:
    row = source.rows(_EXACTLY, {"session": session_id})[0]
    return row if row.pop("spans") else None


# As the view `sessions` adds up, but from the rows: finding them takes a third of planning with the view and its kept
# sums, which can't be used here because of `count()`.
_EXACTLY = """
SELECT
    {session:String} AS session_id, max(f.harness) AS harness, max(f.repository) AS repository,
    max(f.branch) AS branch, sum(f.inferences) AS inferences, sum(f.tool_calls) AS tool_calls,
    sum(f.failures) AS failures, sum(f.turns) AS turns, sum(f.input_tokens) AS input_tokens,
    sum(f.output_tokens) AS output_tokens, sum(f.cache_read_tokens) AS cache_read_tokens,
    sum(f.cache_write_tokens) AS cache_write_tokens, argMinIf(f.title, f.start_time, notEmpty(f.title)) AS title,
    toUnixTimestamp64Nano(min(f.start_time)) AS start_time_ns, toUnixTimestamp64Nano(max(f.end_time)) AS end_time_ns,
    toFloat64(sum(f.cost_usd)) AS cost_usd, count() AS spans
FROM session_facts AS f
WHERE f.session_id = {session:String}
"""
_BEGINS_SO = f"""
SELECT {_SESSION} FROM sessions
WHERE startsWith(session_id, {{prefix:String}}) ORDER BY start_time_ns DESC LIMIT 6
"""
_COLUMNS = {
    "turns": "span_id, parent_span_id, trace_id, conversation, parent_conversation, turn_index, prompt, inferences, "
    "tool_calls, failures, end, call_class, duration_ns",
    "inferences": "span_id, parent_span_id, trace_id, conversation, parent_conversation, turn_index, step_index, "
    "attempt, call_class, request_model, response_model, duration_ns, ttft_ns, status_code, error_type, is_complete, "
    "finish_reason, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, "
    "toFloat64(cost_usd) AS cost_usd, injected_memory_ids, injected_bytes, injected_placements, injection_skipped, "
    "compacted, overhead_ns",
    "tool_calls": "span_id, parent_span_id, trace_id, conversation, tool_call_id, tool_name, turn_index, step_index, "
    "duration_ns, outcome, outcome_reason, exit_code, program, command, signature, error_class, error_line",
}


def _in_order_of_answers(source: RowSource, session_id: str, calls: list[Row]) -> list[Row]:
    """Calls of one answer began at the same moment; their order is that in the answer."""
    moments = Counter(int(row["start_time_ns"]) for row in calls)
    tied = [row["tool_call_id"] for row in calls if moments[int(row["start_time_ns"])] > 1 and row["tool_call_id"]]
    if not tied:
        return calls
    asked = source.rows(
        "SELECT tool_call_id, min(part_index) AS position FROM message_parts "
        "WHERE session_id = {session:String} AND direction = 'output' AND tool_call_id != '' GROUP BY tool_call_id",
        {"session": session_id},
    )
    positions = {row["tool_call_id"]: int(row["position"]) for row in asked}
    return sorted(calls, key=lambda row: (int(row["start_time_ns"]), positions.get(row["tool_call_id"], 0)))


def _one_a_span(rows: list[Row]) -> list[Row]:
    """In order of time. Typed tables may hold a span twice until ClickHouse merges them: one is enough to look at."""
    once = {row["span_id"]: row for row in rows}
    return sorted(once.values(), key=lambda row: int(row["start_time_ns"]))


def _spans(session: Row, table: str) -> Asked:
    """One row more than may be shows that there are too many; ordering is left to who asks, since planning it takes the
    engine longer than finding the rows."""
    # The times tell which months' parts can hold the session; a sub-agent's turn has no fact, so they are but about.
    sql = (
        f"SELECT {_TIMES}, {_COLUMNS[table]} FROM {table} WHERE session_id = {{session:String}} "
        "AND start_time >= fromUnixTimestamp64Nano({since:Int64}) "
        f"AND start_time <= fromUnixTimestamp64Nano({{until:Int64}}) LIMIT {MAX_SPANS + 1}"
    )
    since, until = int(session["start_time_ns"]) - _DAY_NS, int(session["end_time_ns"]) + _DAY_NS
    return sql, {"session": session["session_id"], "since": max(since, 0), "until": min(until, MAX_INT64)}


def _first_spans(session: Row, table: str) -> Asked:
    sql, parameters = _spans(session, table)
    ordered = f"ORDER BY start_time, ingested_at LIMIT 1 BY span_id LIMIT {MAX_SPANS}"
    return sql.replace(f"LIMIT {MAX_SPANS + 1}", ordered), parameters

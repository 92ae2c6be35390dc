"""What the views ask the store: whole rows as dictionaries, times as integer nanoseconds since the epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

type Row = dict[str, Any]
type Asked = tuple[str, dict[str, Any]]
"""SQL with its parameters."""

_TIMES = "toUnixTimestamp64Nano(start_time) AS start_time_ns, toUnixTimestamp64Nano(end_time) AS end_time_ns"
_SESSION = f"* EXCEPT (start_time, end_time, cost_usd), {_TIMES}, toFloat64(cost_usd) AS cost_usd"
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
    for condition in ("session_id = {prefix:String}", "startsWith(session_id, {prefix:String})"):
        if found := source.rows(_SESSIONS_WHERE.format(condition), {"prefix": prefix}):
            return found
    return []


def session_spans(source: SessionSource, session_id: str) -> SessionSpans:
    """All typed rows of a session."""
    turns, inferences, calls = source.each([_spans(session_id, table) for table in _COLUMNS])
    return SessionSpans(turns, inferences, _in_order_of_answers(source, session_id, calls))


def one_session(source: SessionSource, session_id: str) -> tuple[Row, SessionSpans] | None:
    """The session of exactly that id with its rows, asked for at once; None when there is none."""
    named = (_SESSIONS_WHERE.format("session_id = {prefix:String}"), {"prefix": session_id})
    found, turns, inferences, calls = source.each([named, *(_spans(session_id, table) for table in _COLUMNS)])
    if not found:
        return None
    return found[0], SessionSpans(turns, inferences, _in_order_of_answers(source, session_id, calls))


_SESSIONS_WHERE = f"SELECT {_SESSION} FROM sessions WHERE {{}} ORDER BY start_time_ns DESC LIMIT 6"
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


def _spans(session_id: str, table: str) -> Asked:
    # Typed tables may hold a span twice until ClickHouse merges them; one row a span is enough to look at.
    sql = (
        f"SELECT {_TIMES}, {_COLUMNS[table]} FROM {table} WHERE session_id = {{session:String}} "
        f"ORDER BY start_time, ingested_at LIMIT 1 BY span_id LIMIT {MAX_SPANS}"
    )
    return sql, {"session": session_id}

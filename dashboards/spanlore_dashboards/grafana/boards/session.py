"""Session explorer: one session's turns, and the trace of each in the trace panel."""

from __future__ import annotations

from typing import Any, Final

from spanlore_dashboards.grafana.board import WEB, Board, Chart, Column, Kind, Link, Variable

_IS_THIS: Final = "session_id = ${session:singlequote}"
_TRACE: Final = (
    "if(${trace:singlequote} != '', ${trace:singlequote}, "
    f"(SELECT argMin(trace_id, start_time) FROM turns WHERE {_IS_THIS} AND call_class = 'main'))"
)
_TAGS: Final = "arrayMap(key -> map('key', key, 'value', {0}[key]), mapKeys({0}))"

_SPANS: Final = f"""
WITH
    {_TRACE} AS wanted,
    (SELECT min(Start) FROM otel_traces_trace_id_ts WHERE TraceId = wanted) AS trace_start,
    (SELECT max(End) + 1 FROM otel_traces_trace_id_ts WHERE TraceId = wanted) AS trace_end
SELECT
    TraceId AS traceID, SpanId AS spanID, ParentSpanId AS parentSpanID, ServiceName AS serviceName,
    SpanName AS operationName, Timestamp AS startTime, Duration / 1000000 AS duration,
    {_TAGS.format("SpanAttributes")} AS tags, {_TAGS.format("ResourceAttributes")} AS serviceTags,
    if(StatusCode IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) AS statusCode, StatusMessage AS statusMessage,
    SpanKind AS kind
FROM otel_traces
WHERE TraceId = wanted AND Timestamp >= trace_start AND Timestamp <= trace_end
ORDER BY Timestamp
LIMIT 1 BY SpanId
LIMIT 5000"""

OTEL_MODE: Final[dict[str, Any]] = {
    "builderOptions": {
        "database": "",
        "table": "otel_traces",
        "queryType": "traces",
        "mode": "list",
        "columns": [
            {"name": "TraceId", "hint": "trace_id"},
            {"name": "SpanId", "hint": "trace_span_id"},
            {"name": "ParentSpanId", "hint": "trace_parent_span_id"},
            {"name": "ServiceName", "hint": "trace_service_name"},
            {"name": "SpanName", "hint": "trace_operation_name"},
            {"name": "Timestamp", "hint": "time"},
            {"name": "Duration", "hint": "trace_duration_time"},
            {"name": "SpanAttributes", "hint": "trace_tags"},
            {"name": "ResourceAttributes", "hint": "trace_service_tags"},
            {"name": "StatusCode", "hint": "trace_status_code"},
        ],
        "filters": [],
        "meta": {
            "otelEnabled": True,
            "otelVersion": "latest",
            "traceDurationUnit": "nanoseconds",
            "isTraceIdMode": True,
            "traceId": "${trace}",
        },
        "limit": 1000,
    }
}
"""What the datasource's builder needs to show the same trace in OTel mode, and to go on from there in Explore."""

_OTEL_SQL: Final = f"""
WITH
    ${{trace:singlequote}} AS trace_id,
    (SELECT min(Start) FROM "otel_traces_trace_id_ts" WHERE TraceId = trace_id) AS trace_start,
    (SELECT max(End) + 1 FROM "otel_traces_trace_id_ts" WHERE TraceId = trace_id) AS trace_end
SELECT
    "TraceId" AS traceID, "SpanId" AS spanID, "ParentSpanId" AS parentSpanID, "ServiceName" AS serviceName,
    "SpanName" AS operationName, "Timestamp" AS startTime, multiply("Duration", 0.000001) AS duration,
    {_TAGS.format('"SpanAttributes"')} AS tags, {_TAGS.format('"ResourceAttributes"')} AS serviceTags,
    if("StatusCode" IN ('Error', 'STATUS_CODE_ERROR'), 2, 0) AS statusCode
FROM "otel_traces"
WHERE traceID = trace_id AND "Timestamp" >= trace_start AND "Timestamp" <= trace_end
LIMIT 1000"""

_TRACE_LINKS: Final = (
    Link(
        "Show its trace",
        "/d/spanlore-session?${__url_time_range}&${session:queryparam}&${web:queryparam}"
        "&var-trace=${__data.fields.trace}",
    ),
    Link("Open in spanlore", "${web}/traces/${__data.fields.trace}", new_tab=True),
)

BOARD: Final = Board(
    uid="spanlore-session",
    title="spanlore / Session explorer",
    about="One session: what was asked, what the agent did, how long each step took, what was given to it.",
    variables=(
        Variable("session", "Session", about="A session's id; the sessions dashboard leads here with one."),
        Variable("trace", "Trace", about="A turn's trace; empty shows the session's first."),
        WEB,
    ),
    time_from="now-30d",
    rows=(
        (
            "The session",
            (
                Chart(
                    "Model calls",
                    "How many calls of a model did it take?",
                    Kind.STAT,
                    f"SELECT uniqExact(span_id) AS calls FROM inferences WHERE {_IS_THIS}",
                    ("calls",),
                    width=6,
                    height=4,
                ),
                Chart(
                    "Cost",
                    "What did it cost?",
                    Kind.STAT,
                    f"SELECT toFloat64(sum(cost_usd)) AS cost FROM inferences WHERE {_IS_THIS}",
                    ("cost",),
                    unit="currencyUSD",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Failed tool calls",
                    "How many tool calls failed?",
                    Kind.STAT,
                    f"SELECT uniqExactIf(span_id, outcome = 'failure') AS failed FROM tool_calls WHERE {_IS_THIS}",
                    ("failed",),
                    width=6,
                    height=4,
                    warn_at=1,
                    bad_at=5,
                ),
                Chart(
                    "Memories given",
                    "How many different memories stood in its requests?",
                    Kind.STAT,
                    "SELECT length(groupUniqArrayArray(injected_memory_ids)) AS memories "
                    f"FROM inferences WHERE {_IS_THIS}",
                    ("memories",),
                    width=6,
                    height=4,
                ),
                Chart(
                    "Turns",
                    "What was asked, how long did it take, and how did it end? A click shows the turn's trace.",
                    Kind.TABLE,
                    "SELECT trace_id AS trace, start_time AS started, turn_index + 1 AS turn, call_class AS class, "
                    "duration_ns / 1e9 AS duration, inferences AS calls, tool_calls AS tools, failures AS failed, end, "
                    f"substring(prompt, 1, 300) AS prompt FROM turns WHERE {_IS_THIS} "
                    "ORDER BY started, ingested_at LIMIT 1 BY span_id LIMIT 500",
                    ("trace", "started", "turn", "class", "duration", "calls", "tools", "failed", "end", "prompt"),
                    width=24,
                    formats={"trace": Column(links=_TRACE_LINKS, width=120), "duration": Column(unit="s")},
                ),
            ),
        ),
        (
            "Trace",
            (
                Chart(
                    "Trace of the turn",
                    "What happened in the turn, in which order and at the same time as what, sub-agents included?",
                    Kind.TRACES,
                    _SPANS,
                    (
                        "traceID",
                        "spanID",
                        "parentSpanID",
                        "serviceName",
                        "operationName",
                        "startTime",
                        "duration",
                        "tags",
                        "serviceTags",
                        "statusCode",
                        "statusMessage",
                        "kind",
                    ),
                    unit="ms",
                    width=24,
                    height=18,
                ),
            ),
        ),
        (
            "Steps",
            (
                Chart(
                    "Tool calls",
                    "Which tools ran, how long, and what went wrong?",
                    Kind.TABLE,
                    "SELECT start_time AS started, tool_name AS tool, program, command, duration_ns / 1e9 AS duration, "
                    f"outcome, exit_code, error_line AS error FROM tool_calls WHERE {_IS_THIS} "
                    "ORDER BY started, ingested_at LIMIT 1 BY span_id LIMIT 1000",
                    ("started", "tool", "program", "command", "duration", "outcome", "exit_code", "error"),
                    width=24,
                    height=10,
                    formats={
                        "duration": Column(unit="s"),
                        "outcome": Column(colors={"failure": "red", "rejected": "orange", "success": "green"}),
                    },
                ),
                Chart(
                    "Context over the session",
                    "How did the input grow from call to call, and how much of it came from the cache?",
                    Kind.TREND,
                    "SELECT row_number() OVER (ORDER BY start_time, span_id) AS call, input, `from the cache`, "
                    "`to the cache` FROM (SELECT start_time, span_id, input_tokens AS input, "
                    "cache_read_tokens AS `from the cache`, cache_write_tokens AS `to the cache` "
                    f"FROM inferences WHERE {_IS_THIS} AND call_class = 'main' "
                    "ORDER BY start_time, ingested_at LIMIT 1 BY span_id LIMIT 5000) ORDER BY call",
                    ("call", "input", "from the cache", "to the cache"),
                ),
                Chart(
                    "Memories shown, withheld and skipped",
                    "Which memories could have been given, and why were some not?",
                    Kind.TABLE,
                    "SELECT time, memory_id AS memory, kind, state, reason, tokens FROM opportunities "
                    f"WHERE {_IS_THIS} ORDER BY time, ordinal LIMIT 500",
                    ("time", "memory", "kind", "state", "reason", "tokens"),
                    formats={
                        "memory": Column(
                            links=(Link("Open in spanlore", "${web}/memories/${__data.fields.memory}", new_tab=True),)
                        )
                    },
                ),
            ),
        ),
        (
            "OpenTelemetry",
            (
                Chart(
                    "Trace in OTel mode",
                    "The chosen trace as the datasource's own builder asks for it; Explore goes on from here.",
                    Kind.TRACES,
                    _OTEL_SQL,
                    (
                        "traceID",
                        "spanID",
                        "parentSpanID",
                        "serviceName",
                        "operationName",
                        "startTime",
                        "duration",
                        "tags",
                        "serviceTags",
                        "statusCode",
                    ),
                    unit="ms",
                    width=24,
                    height=14,
                    meta=OTEL_MODE,
                ),
            ),
        ),
    ),
)

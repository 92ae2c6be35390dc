"""Capture health: whether everything arrives, whole and in time, and what spanlore itself costs."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import AGENT, REPOSITORY, SESSION_LINKS, SHOWN, WEB, Board, Chart, Column, Kind

BOARD: Final = Board(
    uid="spanlore-health",
    title="spanlore / Capture health",
    about="Whether everything arrives, whole and in time. What was lost before the store, `spanlore status` counts.",
    variables=(REPOSITORY, AGENT, WEB),
    time_from="now-24h",
    refresh="1m",
    rows=(
        (
            "Now",
            (
                Chart(
                    "Last captured",
                    "How long ago was the newest request captured?",
                    Kind.STAT,
                    "SELECT dateDiff('second', max(end_time), now64(9)) AS age FROM inferences "
                    f"WHERE {SHOWN} HAVING count() > 0",
                    ("age",),
                    unit="s",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Whole answers",
                    "What share of answers was captured to its end?",
                    Kind.STAT,
                    f"SELECT countIf(is_complete) / count() AS share FROM inferences WHERE {SHOWN}",
                    ("share",),
                    unit="percentunit",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Way to the store",
                    "How long does a captured request take from its end to its row? 95 of 100 take no longer.",
                    Kind.STAT,
                    "SELECT quantile(0.95)(greatest(dateDiff('millisecond', end_time, ingested_at), 0)) AS p95 "
                    f"FROM inferences WHERE {SHOWN} AND overhead_ns > 0 HAVING count() > 0",
                    ("p95",),
                    unit="ms",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Secrets replaced",
                    "How many secrets were replaced before anything was written?",
                    Kind.STAT,
                    f"SELECT sum(redactions) AS secrets FROM inferences WHERE {SHOWN}",
                    ("secrets",),
                    width=6,
                    height=4,
                ),
            ),
        ),
        (
            "Over time",
            (
                Chart(
                    "Requests captured, by agent",
                    "Does every agent's traffic arrive? A gap is a daemon that was down or an agent that goes past.",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, harness AS agent, count() AS requests "
                    f"FROM inferences WHERE {SHOWN} GROUP BY time, agent ORDER BY time, agent",
                    ("time", "agent", "requests"),
                    stacked=True,
                ),
                Chart(
                    "What spanlore adds to a request",
                    "How long does a request wait for spanlore?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, quantile(0.5)(overhead_ns) / 1e6 AS p50, "
                    "quantile(0.95)(overhead_ns) / 1e6 AS p95, quantile(0.99)(overhead_ns) / 1e6 AS p99 "
                    f"FROM inferences WHERE {SHOWN} AND overhead_ns > 0 GROUP BY time ORDER BY time",
                    ("time", "p50", "p95", "p99"),
                    unit="ms",
                ),
                Chart(
                    "Errors of the provider",
                    "Which errors do model calls end with?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, error_type AS error, count() AS calls "
                    f"FROM inferences WHERE {SHOWN} AND error_type != '' GROUP BY time, error ORDER BY time, error",
                    ("time", "error", "calls"),
                    stacked=True,
                ),
                Chart(
                    "Time to the first token",
                    "How long do agents wait for the model to begin?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, request_model AS model, "
                    "quantile(0.5)(ttft_ns) / 1e9 AS median "
                    f"FROM inferences WHERE {SHOWN} AND ttft_ns > 0 GROUP BY time, model ORDER BY time, model",
                    ("time", "model", "median"),
                    unit="s",
                ),
            ),
        ),
        (
            "What is not as it should be",
            (
                Chart(
                    "Agents",
                    "When was each agent last captured, and last given a memory?",
                    Kind.TABLE,
                    "SELECT harness AS agent, any(harness_version) AS version, max(end_time) AS last_captured, "
                    "maxOrNullIf(end_time, notEmpty(injected_memory_ids)) AS last_memory, "
                    "uniqExact(session_id) AS sessions, "
                    "countIf(NOT is_complete) AS cut_off, uniqExactIf(session_id, injection_skipped = 'attested') "
                    f"AS signed FROM inferences WHERE {SHOWN} GROUP BY agent ORDER BY last_captured DESC",
                    ("agent", "version", "last_captured", "last_memory", "sessions", "cut_off", "signed"),
                ),
                Chart(
                    "Answers that were cut off",
                    "Which answers did not come to their end, and why?",
                    Kind.TABLE,
                    "SELECT session_id AS session, start_time AS started, request_model AS model, error_type AS error, "
                    f"finish_reason AS finish, attempt FROM inferences WHERE {SHOWN} AND NOT is_complete "
                    "ORDER BY started DESC LIMIT 200",
                    ("session", "started", "model", "error", "finish", "attempt"),
                    formats={"session": Column(links=SESSION_LINKS, width=120)},
                ),
            ),
        ),
    ),
)

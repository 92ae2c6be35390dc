"""Tools and failures: what runs, how long it takes, what fails again and again."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import (
    AGENT,
    OUTCOME_COLORS,
    REPOSITORY,
    SESSION_LINKS,
    SHOWN,
    WEB,
    Board,
    Chart,
    Column,
    Kind,
)

BOARD: Final = Board(
    uid="spanlore-tools",
    title="spanlore / Tools and failures",
    about="Which tools run, how long they take, and which failures come back.",
    variables=(REPOSITORY, AGENT, WEB),
    rows=(
        (
            "Over time",
            (
                Chart(
                    "Tool calls by outcome",
                    "How do tool calls end?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, outcome, count() AS calls "
                    f"FROM tool_calls WHERE {SHOWN} GROUP BY time, outcome ORDER BY time, outcome",
                    ("time", "outcome", "calls"),
                    stacked=True,
                    colors=OUTCOME_COLORS,
                ),
                Chart(
                    "Share that failed, by agent",
                    "Do agents fail less as time goes by?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, harness AS agent, "
                    "countIf(outcome = 'failure') / count() AS share "
                    f"FROM tool_calls WHERE {SHOWN} GROUP BY time, agent ORDER BY time, agent",
                    ("time", "agent", "share"),
                    unit="percentunit",
                ),
            ),
        ),
        (
            "Failures",
            (
                Chart(
                    "Failures that came back",
                    "Which failure was met in several sessions? That is what a memory is worth most for.",
                    Kind.TABLE,
                    "SELECT any(program) AS what, any(error_class) AS class, any(error_line) AS error, "
                    "uniqExact(session_id) AS sessions, count() AS times, sum(duration_ns) / 1e9 AS time_lost, "
                    "max(start_time) AS last_seen, argMax(session_id, start_time) AS session, signature "
                    f"FROM tool_calls WHERE {SHOWN} AND outcome = 'failure' AND signature != '' "
                    "GROUP BY signature ORDER BY sessions DESC, times DESC LIMIT 100",
                    (
                        "what",
                        "class",
                        "error",
                        "sessions",
                        "times",
                        "time_lost",
                        "last_seen",
                        "session",
                        "signature",
                    ),
                    width=24,
                    height=10,
                    formats={
                        "session": Column(links=SESSION_LINKS, width=120),
                        "time_lost": Column(unit="s"),
                        "signature": Column(is_hidden=True),
                    },
                ),
                Chart(
                    "Failing programs",
                    "Which programs fail most?",
                    Kind.BARS,
                    "SELECT if(program = '', tool_name, program) AS what, count() AS failures "
                    f"FROM tool_calls WHERE {SHOWN} AND outcome = 'failure' "
                    "GROUP BY what ORDER BY failures DESC LIMIT 15",
                    ("what", "failures"),
                ),
                Chart(
                    "Sessions that went in circles",
                    "Where did the same failure come three times or more in one session?",
                    Kind.TABLE,
                    "SELECT session_id AS session, any(program) AS what, any(error_line) AS error, count() AS times, "
                    f"sum(duration_ns) / 1e9 AS time_lost FROM tool_calls WHERE {SHOWN} AND outcome = 'failure' "
                    "AND signature != '' GROUP BY session, signature HAVING times >= 3 "
                    "ORDER BY times DESC LIMIT 50",
                    ("session", "what", "error", "times", "time_lost"),
                    formats={"session": Column(links=SESSION_LINKS, width=120), "time_lost": Column(unit="s")},
                ),
            ),
        ),
        (
            "Time",
            (
                Chart(
                    "Tools",
                    "How often is each tool used, how often does it fail, and how long does it take?",
                    Kind.TABLE,
                    "SELECT tool_name AS tool, count() AS calls, countIf(outcome = 'failure') / calls AS failed, "
                    "quantile(0.5)(duration_ns) / 1e9 AS p50, quantile(0.95)(duration_ns) / 1e9 AS p95, "
                    f"sum(duration_ns) / 1e9 AS total FROM tool_calls WHERE {SHOWN} "
                    "GROUP BY tool ORDER BY calls DESC LIMIT 100",
                    ("tool", "calls", "failed", "p50", "p95", "total"),
                    formats={
                        "failed": Column(unit="percentunit"),
                        "p50": Column(unit="s"),
                        "p95": Column(unit="s"),
                        "total": Column(unit="s"),
                    },
                ),
                Chart(
                    "Programs that take time",
                    "Which programs do agents wait for?",
                    Kind.TABLE,
                    "SELECT program, count() AS calls, sum(duration_ns) / 1e9 AS total, "
                    "quantile(0.95)(duration_ns) / 1e9 AS p95, any(command) AS example "
                    f"FROM tool_calls WHERE {SHOWN} AND program != '' GROUP BY program ORDER BY total DESC LIMIT 50",
                    ("program", "calls", "total", "p95", "example"),
                    formats={"total": Column(unit="s"), "p95": Column(unit="s")},
                ),
            ),
        ),
    ),
)

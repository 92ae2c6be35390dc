"""Memories and their effect: what was learned, what became of it, and whether it pays."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import AGENT, HERE, MEMORY_LINKS, REPOSITORY, WEB, Board, Chart, Column, Kind

_SHOWN: Final = f"$__timeFilter(time) AND {HERE}"
_SCOPE: Final = "$__conditionalAll(scope IN (${repository:singlequote}, 'user'), $repository)"

_EFFECT: Final = f"""
SELECT
    o.memory_id AS memory, any(m.text) AS text, any(m.status) AS status,
    countIf(o.given = 'shown') AS shown, countIf(o.given = 'withheld') AS withheld,
    sumIf(f.failures, o.given = 'shown') / greatest(shown, 1) AS failures_with,
    sumIf(f.failures, o.given = 'withheld') / greatest(withheld, 1) AS failures_without,
    if(least(shown, withheld) < 10, 'too few', if(failures_with < failures_without, 'fewer', 'not fewer')) AS verdict
FROM
(
    SELECT session_id, memory_id, any(state) AS given
    FROM opportunities WHERE {_SHOWN} AND state IN ('shown', 'withheld') GROUP BY session_id, memory_id
) AS o
LEFT JOIN
(
    SELECT session_id, countIf(outcome = 'failure') AS failures FROM tool_calls
    WHERE $__timeFilter(start_time) GROUP BY session_id
) AS f ON f.session_id = o.session_id
LEFT JOIN (SELECT id, text, status FROM memories FINAL) AS m ON m.id = o.memory_id
GROUP BY memory
ORDER BY shown DESC
LIMIT 200"""

BOARD: Final = Board(
    uid="spanlore-memories",
    title="spanlore / Memories and their effect",
    about="What was learned, where it was shown, withheld or skipped, and whether sessions that got it fail less.",
    variables=(REPOSITORY, AGENT, WEB),
    time_from="now-30d",
    rows=(
        (
            "Now",
            (
                Chart(
                    "Memories by status",
                    "How many memories are shown, on trial, or waiting for review?",
                    Kind.BARS,
                    f"SELECT status, count() AS memories FROM memories FINAL WHERE {_SCOPE} "
                    "GROUP BY status ORDER BY memories DESC",
                    ("status", "memories"),
                    width=8,
                ),
                Chart(
                    "Memories by kind",
                    "What sort of things were learned?",
                    Kind.BARS,
                    f"SELECT kind, count() AS memories FROM memories FINAL WHERE {_SCOPE} "
                    "AND status IN ('active', 'trial') GROUP BY kind ORDER BY memories DESC",
                    ("kind", "memories"),
                    width=8,
                ),
                Chart(
                    "Tokens of memory a request",
                    "How many tokens do memories add to a request that carries any?",
                    Kind.STAT,
                    "SELECT avg(injected_bytes) / 4 AS tokens FROM inferences "
                    f"WHERE $__timeFilter(start_time) AND {HERE} AND injected_bytes > 0",
                    ("tokens",),
                    width=8,
                ),
            ),
        ),
        (
            "Over time",
            (
                Chart(
                    "What happened to memories",
                    "What was added, reinforced, superseded, forgotten?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(at) AS time, verb, count() AS events FROM memory_events "
                    "WHERE $__timeFilter(at) GROUP BY time, verb ORDER BY time, verb",
                    ("time", "verb", "events"),
                    stacked=True,
                ),
                Chart(
                    "Opportunities",
                    "Where a memory fitted: was it shown, withheld to measure, or skipped?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(time) AS t, state, count() AS opportunities FROM opportunities "
                    f"WHERE {_SHOWN} GROUP BY t, state ORDER BY t, state",
                    ("t", "state", "opportunities"),
                    stacked=True,
                    colors={"shown": "green", "withheld": "blue", "skipped": "gray"},
                ),
                Chart(
                    "Why memories were skipped",
                    "What keeps memories from being shown?",
                    Kind.BARS,
                    "SELECT reason, count() AS opportunities FROM opportunities "
                    f"WHERE {_SHOWN} AND state = 'skipped' GROUP BY reason ORDER BY opportunities DESC",
                    ("reason", "opportunities"),
                ),
                Chart(
                    "Requests without memories, by reason",
                    "Why did requests go out as they came?",
                    Kind.BARS,
                    "SELECT injection_skipped AS reason, count() AS requests FROM inferences "
                    f"WHERE $__timeFilter(start_time) AND {HERE} AND injection_skipped != '' "
                    "GROUP BY reason ORDER BY requests DESC",
                    ("reason", "requests"),
                ),
            ),
        ),
        (
            "Each memory",
            (
                Chart(
                    "Effect",
                    "Do sessions in which a memory was shown have fewer failed calls than those in which it was "
                    "withheld by lot? The memory's own effect, with its interval, is in spanlore's page.",
                    Kind.TABLE,
                    _EFFECT,
                    (
                        "memory",
                        "text",
                        "status",
                        "shown",
                        "withheld",
                        "failures_with",
                        "failures_without",
                        "verdict",
                    ),
                    width=24,
                    height=12,
                    formats={
                        "memory": Column(links=MEMORY_LINKS, width=140),
                        "verdict": Column(colors={"fewer": "green", "not fewer": "orange", "too few": "text"}),
                    },
                ),
                Chart(
                    "Memories",
                    "What is remembered, on how much evidence?",
                    Kind.TABLE,
                    "SELECT id AS memory, status, kind, source, scope, text, confidence, session_count AS sessions, "
                    f"pinned, updated_at AS updated FROM memories FINAL WHERE {_SCOPE} "
                    "AND status NOT IN ('superseded', 'retired', 'forgotten') ORDER BY updated DESC LIMIT 500",
                    (
                        "memory",
                        "status",
                        "kind",
                        "source",
                        "scope",
                        "text",
                        "confidence",
                        "sessions",
                        "pinned",
                        "updated",
                    ),
                    width=24,
                    height=12,
                    formats={
                        "memory": Column(links=MEMORY_LINKS, width=140),
                        "confidence": Column(unit="percentunit"),
                    },
                ),
            ),
        ),
    ),
)

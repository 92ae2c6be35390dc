"""Sessions overview: what agents did, where, and how it went."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import (
    AGENT,
    REPOSITORY,
    SESSION_LINKS,
    SHOWN,
    WEB,
    Board,
    Chart,
    Column,
    Kind,
    cost_by_repository,
)

_SESSIONS: Final = f"""
SELECT
    i.session_id AS session, i.started AS started, p.title AS first_prompt, i.agent AS agent,
    i.repository AS repository, i.branch AS branch,
    dateDiff('second', i.started, i.ended) AS duration, i.turns AS turns, t.calls AS tool_calls, t.failed AS failed,
    i.tokens AS tokens, i.cost AS cost, i.memories AS memories
FROM
(
    SELECT
        session_id, min(start_time) AS started, max(end_time) AS ended, any(harness) AS agent,
        any(repository) AS repository, any(branch) AS branch, uniqExact(conversation, turn_index) AS turns,
        sum(ifNull(input_tokens, 0) + ifNull(output_tokens, 0)) AS tokens, toFloat64(sum(cost_usd)) AS cost,
        length(groupUniqArrayArray(injected_memory_ids)) AS memories
    FROM (SELECT * FROM inferences WHERE {SHOWN})
    GROUP BY session_id
) AS i
LEFT JOIN
(
    SELECT session_id, count() AS calls, countIf(outcome = 'failure') AS failed
    FROM tool_calls WHERE {SHOWN} GROUP BY session_id
) AS t ON t.session_id = i.session_id
LEFT JOIN
(
    SELECT session_id, argMin(substring(text, 1, 160), time) AS title
    FROM human_messages WHERE $__timeFilter(time) AND channel = 'user_message' AND call_class = 'main'
    GROUP BY session_id
) AS p ON p.session_id = i.session_id
ORDER BY started DESC
LIMIT 500"""

BOARD: Final = Board(
    uid="spanlore-sessions",
    title="spanlore / Sessions",
    about="What agents did: sessions, their cost, what failed in them.",
    variables=(REPOSITORY, AGENT, WEB),
    rows=(
        (
            "In this time",
            (
                Chart(
                    "Sessions",
                    "How many sessions did agents have?",
                    Kind.STAT,
                    f"SELECT uniqExact(session_id) AS sessions FROM inferences WHERE {SHOWN}",
                    ("sessions",),
                    width=4,
                    height=4,
                ),
                Chart(
                    "Cost",
                    "What did they cost? Calls whose price is not known are left out; the cost dashboard counts them.",
                    Kind.STAT,
                    f"SELECT toFloat64(sum(cost_usd)) AS cost FROM inferences WHERE {SHOWN}",
                    ("cost",),
                    unit="currencyUSD",
                    width=4,
                    height=4,
                ),
                Chart(
                    "Tokens",
                    "How many tokens went in and out, cache included?",
                    Kind.STAT,
                    "SELECT sum(ifNull(input_tokens, 0) + ifNull(output_tokens, 0)) AS tokens "
                    f"FROM inferences WHERE {SHOWN}",
                    ("tokens",),
                    width=4,
                    height=4,
                ),
                Chart(
                    "Failed tool calls",
                    "What share of tool calls failed?",
                    Kind.STAT,
                    f"SELECT countIf(outcome = 'failure') / count() AS share FROM tool_calls WHERE {SHOWN}",
                    ("share",),
                    unit="percentunit",
                    width=4,
                    height=4,
                    warn_at=0.15,
                    bad_at=0.3,
                ),
                Chart(
                    "Input from the cache",
                    "What share of the input tokens did the provider read from its prompt cache?",
                    Kind.STAT,
                    "SELECT sum(cache_read_tokens) / sum(input_tokens) AS share "
                    f"FROM inferences WHERE {SHOWN} AND input_tokens > 0",
                    ("share",),
                    unit="percentunit",
                    width=4,
                    height=4,
                ),
                Chart(
                    "Sessions with memories",
                    "In what share of sessions was at least one memory given?",
                    Kind.STAT,
                    "SELECT uniqExactIf(session_id, notEmpty(injected_memory_ids)) / uniqExact(session_id) AS share "
                    f"FROM inferences WHERE {SHOWN}",
                    ("share",),
                    unit="percentunit",
                    width=4,
                    height=4,
                ),
            ),
        ),
        (
            "Over time",
            (
                Chart(
                    "Sessions by agent",
                    "Which agents were at work, and when?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, harness AS agent, uniqExact(session_id) AS sessions "
                    f"FROM inferences WHERE {SHOWN} GROUP BY time, agent ORDER BY time, agent",
                    ("time", "agent", "sessions"),
                    stacked=True,
                    width=8,
                ),
                Chart(
                    "Cost by repository",
                    "Where was money spent?",
                    Kind.TIMESERIES,
                    cost_by_repository(SHOWN),
                    ("time", "what", "cost"),
                    unit="currencyUSD",
                    stacked=True,
                    width=8,
                ),
                Chart(
                    "Failed tool calls by program",
                    "Which programs failed, and when?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, if(program = '', tool_name, program) AS what, "
                    f"count() AS failed FROM tool_calls WHERE {SHOWN} AND outcome = 'failure' "
                    "GROUP BY time, what ORDER BY time, what",
                    ("time", "what", "failed"),
                    stacked=True,
                    width=8,
                ),
            ),
        ),
        (
            "Sessions",
            (
                Chart(
                    "All sessions",
                    "Which sessions were there? A click on one opens it, here or in spanlore's own page.",
                    Kind.TABLE,
                    _SESSIONS,
                    (
                        "session",
                        "started",
                        "first_prompt",
                        "agent",
                        "repository",
                        "branch",
                        "duration",
                        "turns",
                        "tool_calls",
                        "failed",
                        "tokens",
                        "cost",
                        "memories",
                    ),
                    width=24,
                    height=14,
                    formats={
                        "session": Column(links=SESSION_LINKS, width=120),
                        "duration": Column(unit="s"),
                        "cost": Column(unit="currencyUSD"),
                        "tokens": Column(unit="short"),
                    },
                ),
            ),
        ),
    ),
)

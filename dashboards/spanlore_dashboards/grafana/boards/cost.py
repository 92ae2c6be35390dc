"""Cost and cache: what was spent on what, and what the prompt cache saved."""

from __future__ import annotations

from typing import Final

from spanlore_dashboards.grafana.board import (
    AGENT,
    MODEL,
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

_SHOWN: Final = f"{SHOWN} AND $__conditionalAll(request_model IN (${{model:singlequote}}), $model)"


def _by_time(what: str) -> str:
    return (
        f"SELECT $__timeInterval(start_time) AS time, {what} AS what, toFloat64(sum(cost_usd)) AS cost "
        f"FROM inferences WHERE {_SHOWN} GROUP BY time, what ORDER BY time, what"
    )


BOARD: Final = Board(
    uid="spanlore-cost",
    title="spanlore / Cost and cache",
    about="What was spent on which model, repository and agent, and how much the prompt cache saved.",
    variables=(REPOSITORY, AGENT, MODEL, WEB),
    time_from="now-30d",
    rows=(
        (
            "In this time",
            (
                Chart(
                    "Cost",
                    "What did all calls with a known price cost?",
                    Kind.STAT,
                    f"SELECT toFloat64(sum(cost_usd)) AS cost FROM inferences WHERE {_SHOWN}",
                    ("cost",),
                    unit="currencyUSD",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Cost of a session",
                    "What does the session in the middle cost?",
                    Kind.STAT,
                    "SELECT quantileExact(0.5)(cost) AS median FROM (SELECT toFloat64(sum(cost_usd)) AS cost "
                    f"FROM inferences WHERE {_SHOWN} GROUP BY session_id HAVING cost > 0)",
                    ("median",),
                    unit="currencyUSD",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Input from the cache",
                    "What share of the input tokens came from the prompt cache, at a tenth of the price?",
                    Kind.STAT,
                    "SELECT sum(cache_read_tokens) / sum(input_tokens) AS share "
                    f"FROM inferences WHERE {_SHOWN} AND input_tokens > 0",
                    ("share",),
                    unit="percentunit",
                    width=6,
                    height=4,
                ),
                Chart(
                    "Calls without a price",
                    "How many calls used tokens but have no known price, and so are missing from the cost?",
                    Kind.STAT,
                    f"SELECT countIf(cost_usd IS NULL AND input_tokens > 0) AS calls FROM inferences WHERE {_SHOWN}",
                    ("calls",),
                    width=6,
                    height=4,
                    warn_at=1,
                ),
            ),
        ),
        (
            "Over time",
            (
                Chart(
                    "Cost by model",
                    "Which models is money spent on?",
                    Kind.TIMESERIES,
                    _by_time("if(request_model = '', 'unknown', request_model)"),
                    ("time", "what", "cost"),
                    unit="currencyUSD",
                    stacked=True,
                ),
                Chart(
                    "Cost by repository",
                    "Which repositories is money spent on?",
                    Kind.TIMESERIES,
                    cost_by_repository(_SHOWN),
                    ("time", "what", "cost"),
                    unit="currencyUSD",
                    stacked=True,
                ),
                Chart(
                    "Tokens by kind",
                    "What are tokens spent on: fresh input, cache writes, cache reads or output?",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, "
                    "sum(greatest(toInt64(ifNull(input_tokens, 0)) - toInt64(ifNull(cache_read_tokens, 0)) "
                    "- toInt64(ifNull(cache_write_tokens, 0)), 0)) AS fresh, sum(ifNull(cache_write_tokens, 0)) "
                    "AS `cache writes`, sum(ifNull(cache_read_tokens, 0)) AS `cache reads`, "
                    f"sum(ifNull(output_tokens, 0)) AS output FROM inferences WHERE {_SHOWN} "
                    "GROUP BY time ORDER BY time",
                    ("time", "fresh", "cache writes", "cache reads", "output"),
                    stacked=True,
                ),
                Chart(
                    "Cache share by agent",
                    "Does an agent's cache go on working? A fall shows a prefix that changes.",
                    Kind.TIMESERIES,
                    "SELECT $__timeInterval(start_time) AS time, harness AS agent, "
                    "sum(cache_read_tokens) / sum(input_tokens) AS share "
                    f"FROM inferences WHERE {_SHOWN} AND input_tokens > 0 AND call_class = 'main' "
                    "GROUP BY time, agent ORDER BY time, agent",
                    ("time", "agent", "share"),
                    unit="percentunit",
                ),
            ),
        ),
        (
            "What for",
            (
                Chart(
                    "Models",
                    "What did each model do, and what did a million of its tokens cost on average?",
                    Kind.TABLE,
                    "SELECT request_model AS model, count() AS calls, sum(ifNull(input_tokens, 0)) AS input, "
                    "sum(ifNull(output_tokens, 0)) AS output, "
                    "sum(ifNull(cache_read_tokens, 0)) / greatest(sum(ifNull(input_tokens, 0)), 1) AS from_cache, "
                    "toFloat64(sum(cost_usd)) AS total, total * 1e6 / "
                    "greatest(sum(ifNull(input_tokens, 0) + ifNull(output_tokens, 0)), 1) AS per_million, "
                    "countIf(cost_usd IS NULL AND ifNull(input_tokens, 0) > 0) AS unpriced, "
                    f"arrayStringConcat(groupUniqArray(price_version), ', ') AS prices FROM inferences WHERE {_SHOWN} "
                    "GROUP BY model ORDER BY total DESC NULLS LAST, calls DESC LIMIT 100",
                    (
                        "model",
                        "calls",
                        "input",
                        "output",
                        "from_cache",
                        "total",
                        "per_million",
                        "unpriced",
                        "prices",
                    ),
                    formats={
                        "from_cache": Column(unit="percentunit"),
                        "total": Column(unit="currencyUSD"),
                        "per_million": Column(unit="currencyUSD"),
                    },
                ),
                Chart(
                    "The most expensive sessions",
                    "Which sessions cost most? A click opens one.",
                    Kind.TABLE,
                    "SELECT session_id AS session, any(harness) AS agent, any(repository) AS project, "
                    "toFloat64(sum(cost_usd)) AS cost, sum(ifNull(input_tokens, 0)) AS input, "
                    "sum(ifNull(cache_read_tokens, 0)) / greatest(input, 1) AS from_cache, "
                    f"countIf(call_class != 'main') AS side_calls FROM inferences WHERE {_SHOWN} "
                    "GROUP BY session ORDER BY cost DESC NULLS LAST LIMIT 50",
                    ("session", "agent", "project", "cost", "input", "from_cache", "side_calls"),
                    formats={
                        "session": Column(links=SESSION_LINKS, width=120),
                        "cost": Column(unit="currencyUSD"),
                        "from_cache": Column(unit="percentunit"),
                    },
                ),
            ),
        ),
    ),
)

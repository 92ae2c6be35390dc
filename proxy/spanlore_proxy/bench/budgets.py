"""The rows of `bench proxy`, their budgets (README, Measured), and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from spanlore_proxy.bench.percentiles import Estimate

OURS: Final = "spanlore"
BARE: Final = "bare mitmdump"
SIZES: Final = {"10 KB": 10_000, "200 KB": 200_000, "1 MB": 1_000_000}
ADDED_BUDGET_MS: Final = {"10 KB": 0.7, "200 KB": 1.0, "1 MB": 3.0}
"""Request p50 added over bare mitmdump, everything on."""
ADDED_BUDGET_X: Final = {"10 KB": 1.2, "200 KB": 1.25, "1 MB": 1.4}
"""The same for a machine of another speed: what spanlore adds to a direct request, against what
bare mitmdump adds in the same run. One of the two must hold."""
RATE_BUDGET: Final = 0.7
DELAY_BUDGET: Final = 1.15
FLAT_BUDGET: Final = 0.8
WORK: Final = "what spanlore did of these requests"
RATE: Final = "requests/s, 20 connections, 200 KB"
DELAY: Final = "streamed chunk delay, 3 streams, 5 ms apart"
FLAT: Final = "streamed chunks/s flat out, 10 streams"
FRAME_DELAY: Final = "WebSocket frame delay, 3 connections, 5 ms apart"
FRAMES: Final = "WebSocket frames/s flat out, 10 connections"
RESIDENT_BUDGET_MB: Final = {"proxy": 200, "collector": 900}
RISE_BUDGET_MB: Final = 15
"""What counts as flat: the allocator's own breathing stays below."""

ADDED: Final = "added_over_bare_p50_ms"
ADDED_X: Final = "x_bare_added"
_AT_MOST: Final = {
    **{f"request {size}": (ADDED, limit) for size, limit in ADDED_BUDGET_MS.items()},
    DELAY: ("x_bare_p50", DELAY_BUDGET),
    FRAME_DELAY: ("x_bare_p50", DELAY_BUDGET),
}
_AT_LEAST: Final = {
    RATE: ("x_bare", RATE_BUDGET),
    FLAT: ("x_bare", FLAT_BUDGET),
    FRAMES: ("x_bare", FLAT_BUDGET),
}


def estimate_fields(what: str, estimate: Estimate) -> dict[str, Any]:
    """The compared figure of a row, its interval, and whether that leaves the verdict open."""
    key, limit = {**_AT_MOST, **_AT_LEAST}[what]
    return {
        key: round(estimate.value, 3),
        f"{key} low": round(estimate.low, 3),
        f"{key} high": round(estimate.high, 3),
        "interval_straddles_budget": estimate.straddles(limit),
    }


def judge(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows with the budgets and whether every one was kept, by the point estimates."""
    by_what = {row["what"]: row for row in rows}
    kept = [
        row[ADDED] <= ADDED_BUDGET_MS[size] or row[ADDED_X] <= ADDED_BUDGET_X[size]
        for size in SIZES
        if (row := by_what[f"request {size}"])
    ]
    kept += [by_what[what]["x_bare_p50"] <= DELAY_BUDGET for what in (DELAY, FRAME_DELAY)]
    kept += [by_what[what][key] >= limit for what, (key, limit) in _AT_LEAST.items()]
    work = by_what[WORK]
    kept.append(work["injected count"] == work["captured count"] == work["shipped count"] == work["requests count"])
    soaked: dict[str, float] = {}
    for row in rows:
        for name, limit in RESIDENT_BUDGET_MB.items() if "proxy rise_mb" in row else ():
            kept.append(row[f"{name} highest_mb"] <= limit and row[f"{name} rise_mb"] <= RISE_BUDGET_MB)
            soaked |= {f"{name} highest_mb at most": limit, f"{name} rise_mb at most": RISE_BUDGET_MB}
    return {
        "bench": "proxy",
        "rows": list(rows),
        "budgets": {
            **{f"request {size} {ADDED} at most": ms for size, ms in ADDED_BUDGET_MS.items()},
            **{f"or request {size} {ADDED_X} at most": limit for size, limit in ADDED_BUDGET_X.items()},
            "requests/s x_bare at least": RATE_BUDGET,
            "share of requests injected, captured and stored": 1.0,
            "chunk delay x_bare_p50 at most": DELAY_BUDGET,
            "chunks/s flat out x_bare at least": FLAT_BUDGET,
            "WebSocket frame delay x_bare_p50 at most": DELAY_BUDGET,
            "WebSocket frames/s flat out x_bare at least": FLAT_BUDGET,
            **soaked,
        },
        "within_budget": all(kept),
    }


def table(result: Mapping[str, Any]) -> str:
    """The rows for people."""
    lines = [line for row in result["rows"] for line in (row["what"], *_row_lines(row))]
    lines.append("budgets")
    lines += [f"    {what:60} {limit:>8}" for what, limit in result["budgets"].items()]
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)


def _row_lines(row: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, bool):
            if value:
                yield "    the interval includes the budget: this run does not decide"
        elif key != "what" and value == value:  # NaN: nothing was measured
            yield f"    {key:32} {value if isinstance(value, list) else format(value, '>12')}"

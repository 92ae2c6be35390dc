"""Judging a benchmark's rows."""

from typing import Any

from spanlore_proxy.bench.budgets import (
    DELAY,
    FLAT,
    FRAME_DELAY,
    FRAMES,
    RATE,
    SIZES,
    WORK,
    estimate_fields,
    judge,
    table,
)
from spanlore_proxy.bench.percentiles import Estimate


def _rows(added_ms: float, stored: int = 5, x_bare: float = 1.5) -> list[dict[str, Any]]:
    done = {"requests count": 5, "injected count": 5, "captured count": 5, "shipped count": stored}
    return [
        {"what": WORK, **done},
        *({"what": f"request {size}", "added_over_bare_p50_ms": added_ms, "x_bare_added": x_bare} for size in SIZES),
        {"what": RATE, "x_bare": 0.9},
        {"what": DELAY, "x_bare_p50": 1.0},
        {"what": FLAT, "x_bare": 0.95},
        {"what": FRAME_DELAY, "x_bare_p50": 0.9},
        {"what": FRAMES, "x_bare": 1.1},
    ]


def test_within_budget_only_when_every_row_is() -> None:
    """One row over its budget makes the whole benchmark fail."""
    assert judge(_rows(0.5))["within_budget"] is True
    assert judge(_rows(0.8))["within_budget"] is False
    assert judge(_rows(0.5, stored=4))["within_budget"] is False


def test_a_slow_machine_is_judged_by_the_ratio() -> None:
    """Milliseconds that a budget does not allow are no fault where mitmdump itself takes so long; both are told."""
    assert judge(_rows(9.0, x_bare=1.2))["within_budget"] is True
    assert judge(_rows(9.0, x_bare=1.22))["within_budget"] is False
    assert "or request 10 KB x_bare_added at most" in table(judge(_rows(0.5)))


def test_a_soak_is_judged_where_there_was_one() -> None:
    """Memory that is too high, or rises."""
    fine = {"proxy mb": [1.0], "collector highest_mb": 400.0, "collector rise_mb": 3.0, "what": "resident memory"}

    def judged(highest: float, rise: float) -> bool:
        soaked = {**fine, "proxy highest_mb": highest, "proxy rise_mb": rise}
        return bool(judge([*_rows(0.5), soaked])["within_budget"])

    assert judged(150, 2) and not judged(250, 2) and not judged(150, 40)
    assert "[1.0]" in table(judge([*_rows(0.5), {**fine, "proxy highest_mb": 1, "proxy rise_mb": 0}]))


def test_table_names_the_verdict() -> None:
    """A reader sees at the end whether the budgets were kept."""
    assert table(judge(_rows(9.0))).endswith("NOT within budget")


def test_an_interval_that_includes_the_budget_is_told() -> None:
    """The point decides; that the rounds would allow the other verdict, too, stands in the row and in the table."""
    open_, clear = Estimate(0.65, 0.5, 0.9), Estimate(0.65, 0.6, 0.69)
    row = {"what": "request 10 KB", **estimate_fields("request 10 KB", open_)}

    assert row["added_over_bare_p50_ms"] == 0.65
    assert row["interval_straddles_budget"] is True
    assert estimate_fields("request 10 KB", clear)["interval_straddles_budget"] is False
    assert "does not decide" in table({"rows": [row], "budgets": {}, "within_budget": True})

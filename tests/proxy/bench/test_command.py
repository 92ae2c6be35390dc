"""Judging a benchmark's rows."""

from typing import Any

from spanlore_proxy.bench.command import DELAY, FLAT, RATE, SIZES, WORK, judge, table


def _rows(added_ms: float, stored: int = 5) -> list[dict[str, Any]]:
    done = {"requests count": 5, "injected count": 5, "captured count": 5, "shipped count": stored}
    return [
        {"what": WORK, **done},
        *({"what": f"request {size}", "added_over_bare_p50_ms": added_ms} for size in SIZES),
        {"what": RATE, "x_bare": 0.9},
        {"what": DELAY, "x_bare_p50": 1.0},
        {"what": FLAT, "x_bare": 0.95},
    ]


def test_within_budget_only_when_every_row_is() -> None:
    """One row over its budget makes the whole benchmark fail."""
    assert judge(_rows(0.5))["within_budget"] is True
    assert judge(_rows(0.8))["within_budget"] is False
    assert judge(_rows(0.5, stored=4))["within_budget"] is False


def test_table_names_the_verdict() -> None:
    """A reader sees at the end whether the budgets were kept."""
    assert table(judge(_rows(9.0))).endswith("NOT within budget")

"""Percentiles and ratios of timings."""

from __future__ import annotations

from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie, nearest rank; NaN when there are none."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def ratio(value: float, base: float) -> float:
    """value / base, rounded to three digits; NaN for a base of 0."""
    return round(value / base, 3) if base else float("nan")

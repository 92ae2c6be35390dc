"""Shares with intervals, and differences between two arms over the same lessons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Z: Final = 1.959963984540054
"""Standard normal quantile of 95 %, two-sided."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of lessons, with Wilson's 95 % interval."""

    hits: int
    count: int

    @property
    def value(self) -> float:
        """0 to 1; 0 of no lessons."""
        return self.hits / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high; everything is possible where nothing was asked."""
        if not self.count:
            return 0.0, 1.0
        square = Z * Z
        middle = (self.hits + square / 2) / (self.count + square)
        spread = Z / (self.count + square) * math.sqrt(self.hits * (self.count - self.hits) / self.count + square / 4)
        return max(middle - spread, 0.0), min(middle + spread, 1.0)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of the same lessons in two arms, one minus other: the value, its 95 % interval, and McNemar's exact p."""

    value: float
    low: float
    high: float
    p: float
    count: int


def paired(one: Sequence[bool], other: Sequence[bool]) -> Difference:
    """The difference of two arms, lesson by lesson in the same order.

    The interval is Newcombe's for paired shares (his method 10, without its continuity correction), the p value that of
    the exact binomial test on the lessons that differ.
    """
    both = list(zip(one, other, strict=True))
    count = len(both)
    if not count:
        return Difference(0.0, -1.0, 1.0, 1.0, 0)
    gained = sum(a and not b for a, b in both)
    lost = sum(b and not a for a, b in both)
    agreed = sum(a and b for a, b in both)
    neither = count - gained - lost - agreed
    first, second = Share(agreed + gained, count), Share(agreed + lost, count)
    value = first.value - second.value
    correlation = _phi(agreed, gained, lost, neither)
    below = _distance(first.value - first.interval[0], second.interval[1] - second.value, correlation)
    above = _distance(first.interval[1] - first.value, second.value - second.interval[0], correlation)
    return Difference(value, max(value - below, -1.0), min(value + above, 1.0), _exact(gained, lost), count)


def _phi(agreed: int, gained: int, lost: int, neither: int) -> float:
    margins = (agreed + gained) * (lost + neither) * (agreed + lost) * (gained + neither)
    return (agreed * neither - gained * lost) / math.sqrt(margins) if margins else 0.0


def _distance(one: float, other: float, correlation: float) -> float:
    return math.sqrt(max(one * one - 2 * correlation * one * other + other * other, 0.0))


def _exact(gained: int, lost: int) -> float:
    """Two-sided binomial test of `gained` among `gained + lost` at one half."""
    count, least = gained + lost, min(gained, lost)
    tail = sum(math.comb(count, hits) for hits in range(least + 1))
    return min(2.0 * tail / math.pow(2.0, count), 1.0)

"""Percentiles and ratios of timings."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RESAMPLES: Final = 2_000
SHARE_INSIDE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """The median of rounds, and how far other rounds could have moved it."""

    value: float
    low: float
    high: float

    def straddles(self, limit: float) -> bool:
        """Whether the measurement leaves open on which side of the limit the truth lies."""
        return self.low <= limit <= self.high


def median_of_rounds(rounds: Sequence[float], seed: int = 1) -> Estimate:
    """The median and its 95 % interval by the percentile bootstrap, the same for the same rounds; NaN for none."""
    if not rounds:
        nan = float("nan")
        return Estimate(nan, nan, nan)
    chance = random.Random(seed)
    found = sorted(statistics.median(chance.choices(rounds, k=len(rounds))) for _ in range(RESAMPLES))
    cut = round(RESAMPLES * (1 - SHARE_INSIDE) / 2)
    return Estimate(statistics.median(rounds), found[cut], found[-1 - cut])


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of `values` lie, nearest rank; NaN when there are none."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def ratio(value: float, base: float) -> float:
    """value / base, rounded to three digits; NaN for a base of 0."""
    return round(value / base, 3) if base else float("nan")

"""From sessions in which a memory was shown or withheld to its effect, with an interval, or "too few".

The unit is a session in which the memory had an opportunity. Which arm it is in, a fixed hash of session and memory
decided, so the two arms differ by chance and by the memory. The outcome is whether what the memory speaks of came back
after the opportunity: the failure's signature, or the user's correction. The effect is the difference of the two
shares, shown minus withheld: below 0 the memory helps. Its interval is Newcombe's (Wilson's for each share, combined),
which holds its level for small numbers and shares near 0.

The level is 99 %, not 95 %: an installation looks at hundreds of memories, and looks again and again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LEVEL: Final = 0.99
Z: Final = 2.5758293035489004
"""Standard normal quantile of that level, two-sided."""
MIN_SESSIONS: Final = 10
"""Of each arm; with fewer, no number is told."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One session in which one memory had an opportunity."""

    memory_id: str
    session_id: str
    is_shown: bool
    """Else it was withheld."""
    has_recurred: bool
    """What the memory speaks of came back after the opportunity."""
    is_used: bool
    """The command or path the memory names was used after it."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """0 to 1; 0 of nothing is 0."""
        return self.hits / self.of if self.of else 0.0

    def interval(self, z: float = Z) -> tuple[float, float]:
        """Wilson's score interval; (0, 1) of nothing."""
        if not self.of:
            return 0.0, 1.0
        n, p = self.of, self.value
        middle = p + z * z / (2 * n)
        spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class Effect:
    """What is known of one memory's effect."""

    shown: Share
    """Sessions in which it came back, of those in which the memory was shown."""
    withheld: Share
    used: Share
    """Sessions in which the named command or path was used, of those in which the memory was shown."""
    used_withheld: Share

    @property
    def is_enough(self) -> bool:
        """Whether there are sessions enough to tell a number."""
        return min(self.shown.of, self.withheld.of) >= MIN_SESSIONS

    @property
    def difference(self) -> float:
        """Share of sessions with a recurrence, shown minus withheld; below 0 it helps."""
        return self.shown.value - self.withheld.value

    @property
    def interval(self) -> tuple[float, float]:
        """Of the difference, at `LEVEL`."""
        return difference_interval(self.shown, self.withheld)

    @property
    def verdict(self) -> str:
        """too few, helps, harms, or open."""
        if not self.is_enough:
            return "too few"
        low, high = self.interval
        return "helps" if high < 0 else "harms" if low > 0 else "open"


def difference_interval(one: Share, other: Share, z: float = Z) -> tuple[float, float]:
    """Newcombe's interval of `one` minus `other`."""
    (low_one, high_one), (low_other, high_other) = one.interval(z), other.interval(z)
    apart = one.value - other.value
    low = apart - math.hypot(one.value - low_one, high_other - other.value)
    high = apart + math.hypot(high_one - one.value, other.value - low_other)
    return max(-1.0, low), min(1.0, high)


def estimate(units: Iterable[Unit]) -> Effect:
    """The effect shown by the units, which must be of one memory, a session once."""
    shown: list[Unit] = []
    withheld: list[Unit] = []
    for unit in units:
        (shown if unit.is_shown else withheld).append(unit)
    return Effect(
        Share(sum(unit.has_recurred for unit in shown), len(shown)),
        Share(sum(unit.has_recurred for unit in withheld), len(withheld)),
        Share(sum(unit.is_used for unit in shown), len(shown)),
        Share(sum(unit.is_used for unit in withheld), len(withheld)),
    )


def estimates(units: Iterable[Unit]) -> dict[str, Effect]:
    """The effect of each memory, by id."""
    by_memory: dict[str, list[Unit]] = {}
    for unit in units:
        by_memory.setdefault(unit.memory_id, []).append(unit)
    return {memory_id: estimate(found) for memory_id, found in sorted(by_memory.items())}

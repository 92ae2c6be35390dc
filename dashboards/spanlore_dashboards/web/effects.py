"""What memories do, as the extractor last measured it, and the opportunities that it was measured on.

Without and with: in so many sessions it was withheld by a fixed split, and what it speaks of came back in some of them;
in so many it was shown. The difference is told only where both arms have sessions enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanlore_collector.store.views import RowSource

KEY: Final = "effects"
"""Of mining's state; the extractor writes it."""


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """One memory's."""

    verdict: str
    """helps, harms, open, or too few."""
    shown: tuple[int, int]
    """(sessions in which it came back, sessions in which the memory was shown)."""
    withheld: tuple[int, int]
    difference: float | None
    """Share shown minus share withheld, -1 to 1; below 0 it helps. None while there are too few."""
    interval: tuple[float, float] | None
    level: float
    """Of the interval, 0 to 1."""
    min_sessions: int
    """Of each arm, before a number is told."""
    measured_at_ns: int

    @property
    def bar(self) -> tuple[float, float, float]:
        """(start, width, where the difference is) of the interval on a line from -1 to 1, percent."""
        low, high = self.interval or (-1.0, 1.0)
        return round(50 * (low + 1), 2), round(50 * (high - low), 2), round(50 * ((self.difference or 0.0) + 1), 2)


@dataclass(frozen=True, slots=True)
class Opportunity:
    """How often a memory could have been placed, and what became of it."""

    kind: str
    state: str
    reason: str
    requests: int
    sessions: int


def parse_effects(text: str | None) -> dict[str, MemoryEffect]:
    """Memory id → its effect; what is not understood (a newer version's) is left out."""
    try:
        document = orjson.loads(text or "{}")
        common = {key: document[key] for key in ("level", "min_sessions", "measured_at_ns")}
        return {memory_id: _effect(found, common) for memory_id, found in document["effects"].items()}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return {}


def read_opportunities(source: RowSource, memory_id: str) -> list[Opportunity]:
    """Of one memory, most frequent first."""
    rows = source.rows(
        "SELECT kind, state, reason, uniqExact(span_id) AS requests, uniqExact(session_id) AS sessions "
        "FROM opportunities WHERE memory_id = {id:String} GROUP BY kind, state, reason "
        "ORDER BY requests DESC, kind, state, reason",
        {"id": memory_id},
    )
    return [Opportunity(**row) for row in rows]


def _effect(found: dict[str, Any], common: dict[str, Any]) -> MemoryEffect:
    interval = found["interval"]
    return MemoryEffect(
        verdict=str(found["verdict"]),
        shown=(int(found["shown"][0]), int(found["shown"][1])),
        withheld=(int(found["withheld"][0]), int(found["withheld"][1])),
        difference=found["difference"],
        interval=(float(interval[0]), float(interval[1])) if interval else None,
        level=float(common["level"]),
        min_sessions=int(common["min_sessions"]),
        measured_at_ns=int(common["measured_at_ns"]),
    )

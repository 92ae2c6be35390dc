"""How much a memory is believed at a moment: Beta counts that fade with the age of their evidence.

Counts for and against are kept as they were counted; what fades is their weight, by half-lives of the kind
(research: environment and paths change within weeks, usage within months, what a person asked for never). The faded
mean moves towards `DOUBT`, so that a memory nobody has seen confirmed falls below what may be shown, the later the
more sessions stood behind it. Being shown is no evidence; only new evidence makes a memory young again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source

DAY_NS: Final = 86_400 * 10**9

HALF_LIFE_DAYS: Final[Mapping[Kind, float | None]] = {
    Kind.ENVIRONMENT: 21,
    Kind.LOCATION: 21,
    Kind.USAGE: 60,
    Kind.HARNESS: 60,
    Kind.TRAP: 60,
    Kind.DEAD_END: 21,
    Kind.CORRECTION: 180,
    Kind.EXPLICIT: None,
}
"""After how long evidence counts half; None: it does not fade."""

PRIORS: Final[Mapping[Kind, tuple[float, float]]] = {
    Kind.EXPLICIT: (9, 1),
    Kind.CORRECTION: (4, 1),
    Kind.USAGE: (3, 2),
    Kind.HARNESS: (3, 2),
}
"""Beta counts that a kind starts with; `PRIOR` for the rest."""
PRIOR: Final = (2.0, 2.0)
DOUBT: Final = (1.0, 2.0)
"""Beta counts towards which evidence fades."""


def prior_of(kind: Kind) -> tuple[float, float]:
    """(alpha, beta) of a memory with one session behind it and nothing else."""
    return PRIORS.get(kind, PRIOR)


def weight_at(memory: Memory, now_ns: int) -> float:
    """What the memory's evidence still counts, 0 to 1. Pinned ones and those of the user's own asking do not fade."""
    half_life = HALF_LIFE_DAYS.get(memory.kind)
    if half_life is None or memory.pinned or memory.source is Source.EXPLICIT:
        return 1.0
    age_days = max(0, now_ns - memory.updated_at_ns) / DAY_NS
    return float(0.5 ** (age_days / half_life))


def confidence_at(memory: Memory, now_ns: int) -> float:
    """The faded mean, 0 to 1."""
    weight = weight_at(memory, now_ns)
    alpha = DOUBT[0] + (memory.alpha - DOUBT[0]) * weight
    beta = DOUBT[1] + (memory.beta - DOUBT[1]) * weight
    return alpha / (alpha + beta)

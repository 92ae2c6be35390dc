"""Which memories come first, and which answer a failure.

Order of standing, used for the session block: pinned, then active before trial, then authority (what the user asked to
have remembered, what the user corrected, what a failure and its fix showed, what was inferred), then the measured
effect (what was seen to help first), then confidence in steps of 0.05, then the newest evidence, then the id. Nothing
in it depends on the time of asking, so a snapshot is sorted once and equal snapshots always give equal bytes.

A failure is answered in two tiers only: the very same signature, else the same program with the same error class; and
of both only by what fits it (`fit`).
Similarity of words is never enough to put a memory beside a failing tool result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source, Status

MIN_CONFIDENCE: Final = 0.5
"""Below it a memory is not shown, unless its user pinned it."""

AUTHORITY: Final[dict[Source, int]] = {
    Source.EXPLICIT: 4,
    Source.CORRECTION: 3,
    Source.FAILURE_DELTA: 2,
    Source.MERGED: 1,
    Source.REPEATED_LOOKUP: 1,
}
"""Whose word weighs more. The user's own files stand above all of these and are not memories."""

type SortKey = tuple[bool, bool, int, float, float, int, str]


class Tier(IntEnum):
    """How exactly a memory's trigger fits a failure; less is better."""

    SIGNATURE = 1
    PROGRAM_AND_CLASS = 2


@dataclass(frozen=True, slots=True)
class Match:
    """A memory that answers a failure."""

    memory: Memory
    tier: Tier


def standing(memory: Memory) -> SortKey:
    """Sort key: the memory that is to be shown first has the smallest."""
    return (
        not memory.pinned,
        memory.status is not Status.ACTIVE,
        -AUTHORITY[memory.source],
        memory.measured_effect,
        -round(memory.confidence * 20) / 20,
        -memory.updated_at_ns,
        memory.id,
    )


def is_eligible(memory: Memory) -> bool:
    """Whether an agent may be shown it at all: trial or active, and confident enough or pinned."""
    return memory.is_shown and (memory.pinned or memory.confidence >= MIN_CONFIDENCE)


def is_for_block(memory: Memory) -> bool:
    """Whether it may stand in a session block. What an agent's own tool refuses is put right at once, and it is told
    beside the refusal: of 79 such lessons in the blocks of real sessions none came up (`spanlore eval hints`)."""
    return memory.pinned or memory.kind is not Kind.HARNESS or not memory.trigger.signatures


def suits(memory: Memory, harness: str) -> bool:
    """Whether it holds for this harness; facts hold for all, what is bound to one stays with it."""
    return not memory.harness or memory.harness == harness


def order_matches(matches: Iterable[Match]) -> tuple[Match, ...]:
    """The matches, most exact first, then by standing; each memory once."""
    found: dict[str, Match] = {}
    for match in sorted(matches, key=lambda match: (match.tier, standing(match.memory))):
        found.setdefault(match.memory.id, match)
    return tuple(found.values())

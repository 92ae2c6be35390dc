"""What waits for a person: quarantined memories first, then candidates, those worth most first."""

from __future__ import annotations

from collections.abc import Iterable

from spanlore.memory.memory import Memory, Source, Status
from spanlore_extractor.memories.life import expected_value


def is_only_counted(memory: Memory) -> bool:
    """Whether a candidate is there only to be counted: one look-up is nothing that a person need see."""
    return memory.status is Status.CANDIDATE and memory.source is Source.REPEATED_LOOKUP


def waiting(memories: Iterable[Memory], now_ns: int) -> list[Memory]:
    """The queue, in the order in which a person's time is spent best."""
    queue = [memory for memory in memories if memory.status in (Status.QUARANTINED, Status.CANDIDATE)]
    queue = [memory for memory in queue if not is_only_counted(memory)]
    return sorted(
        queue,
        key=lambda memory: (
            memory.status is not Status.QUARANTINED, "conflicts with" not in memory.note,
            -expected_value(memory, now_ns), memory.id,
        ),
    )  # fmt: skip

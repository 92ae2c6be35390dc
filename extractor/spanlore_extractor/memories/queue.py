"""What waits for a person: quarantined memories first, then candidates, those worth most first."""

from __future__ import annotations

from collections.abc import Iterable

from spanlore.memory.memory import Memory, Status
from spanlore_extractor.memories.life import expected_value


def waiting(memories: Iterable[Memory], now_ns: int) -> list[Memory]:
    """The queue, in the order in which a person's time is spent best."""
    queue = [memory for memory in memories if memory.status in (Status.QUARANTINED, Status.CANDIDATE)]
    return sorted(
        queue,
        key=lambda memory: (
            memory.status is not Status.QUARANTINED, "conflicts with" not in memory.note,
            -expected_value(memory, now_ns), memory.id,
        ),
    )  # fmt: skip

"""One run of the rules against the daemon: effects are measured, and what they make due is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spanlore.memory.memory import Memory
from spanlore.memory.operations import Operation
from spanlore_extractor.effect.estimate import estimates
from spanlore_extractor.effect.reading import Rows, read_units
from spanlore_extractor.effect.rules import apply_rules


class Memories(Protocol):
    """What `spanlore_collector.store.api_client.MemoryClient` offers."""

    def memories(self) -> list[Memory]: ...

    def apply(self, operations: Sequence[Operation]) -> int: ...


def apply_effects(reader: Rows, client: Memories) -> list[Operation]:
    """Promotes, demotes and retires by measured effect; the operations that were applied.

    Raises:
        StoreUnavailableError: the daemon is down.
        VersionConflictError: a memory was changed meanwhile; the next run does it.
    """
    known = client.memories()
    operations = apply_rules(known, estimates(read_units(reader, known)))
    if operations:
        client.apply(operations)
    return operations

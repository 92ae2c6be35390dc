"""One run of the rules against the daemon: effects are measured, and what they make due is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import orjson

from spanlore.memory.memory import Memory
from spanlore.memory.operations import Operation
from spanlore_extractor.effect.estimate import LEVEL, MIN_SESSIONS, Effect, Share, estimates
from spanlore_extractor.effect.reading import Rows, read_units
from spanlore_extractor.effect.rules import apply_rules

EFFECTS_KEY: Final = "effects"
"""Of mining's state."""


class Memories(Protocol):
    """What `spanlore_collector.store.api_client.MemoryClient` offers."""

    def memories(self) -> list[Memory]: ...

    def apply(self, operations: Sequence[Operation]) -> int: ...

    def set_mining_state(self, key: str, value: str) -> None: ...


def apply_effects(reader: Rows, client: Memories, now_ns: int) -> list[Operation]:
    """Promotes, demotes and retires by measured effect; the operations that were applied. What was measured is left
    under `EFFECTS_KEY`, for those who only show it.

    Raises:
        StoreUnavailableError: the daemon is down.
        VersionConflictError: a memory was changed meanwhile; the next run does it.
    """
    known = client.memories()
    effects = estimates(read_units(reader, known))
    client.set_mining_state(EFFECTS_KEY, effects_to_json(effects, now_ns))
    operations = apply_rules(known, effects)
    if operations:
        client.apply(operations)
    return operations


def effects_to_json(effects: Mapping[str, Effect], now_ns: int) -> str:
    """{measured_at_ns, level, min_sessions, effects: {memory id: {verdict, shown, withheld, difference, interval}}}.

    Shares are [sessions in which it came back, of so many]; difference and interval are null while there are too few.
    """
    document = {
        "measured_at_ns": now_ns,
        "level": LEVEL,
        "min_sessions": MIN_SESSIONS,
        "effects": {memory_id: _effect(effect) for memory_id, effect in effects.items()},
    }
    return orjson.dumps(document).decode()


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "verdict": effect.verdict,
        "shown": _share(effect.shown),
        "withheld": _share(effect.withheld),
        "difference": round(effect.difference, 4) if effect.is_enough else None,
        "interval": [round(end, 4) for end in effect.interval] if effect.is_enough else None,
    }


def _share(share: Share) -> list[int]:
    return [share.hits, share.of]

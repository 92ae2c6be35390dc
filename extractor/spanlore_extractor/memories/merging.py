"""Merging two memories of which a judge says that they say the same, once a person has said yes. By rule, and pure.

No model writes a text: the one whose source counts more is kept as it is, with the evidence, triggers and counts of
both; the other is superseded by it, and what mining finds for that from then on counts for the one that was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from spanlore.memory.changes import ACTOR
from spanlore.memory.memory import Memory, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.recall.rank import AUTHORITY
from spanlore_extractor.memories.consolidate import unite

MERGED: Final = "the user merged"
"""How the notes of two memories begin that a person made one of."""
_RANK: Final = (Status.CANDIDATE, Status.TRIAL, Status.ACTIVE)


def twin_of(memory: Memory, known: Sequence[Memory]) -> Memory | None:
    """The memory that a judge says it repeats, where both are live and hold for the same; None otherwise."""
    twin = next((other for other in known if other.id == memory.duplicate_of), None)
    if twin is None or not (memory.is_live and twin.is_live) or twin.id == memory.id:
        return None
    has_same_reach = (memory.scope, memory.harness) == (twin.scope, twin.harness)
    return twin if has_same_reach and not (memory.valid_to_ns or twin.valid_to_ns) else None


def merge(memory: Memory, known: Sequence[Memory], now_ns: int) -> list[Operation]:
    """Operations that make one of a memory and its twin.

    Raises:
        ValueError: no judge named one, or it is no longer there to be merged with.
    """
    twin = twin_of(memory, known)
    if twin is None:
        told = f"what the judge named ({memory.duplicate_of}) can't be merged with it any more"
        raise ValueError(f"{memory.id}: {told if memory.duplicate_of else 'no judge says that another says the same'}")
    kept, other = sorted((twin, memory), key=_weight, reverse=True)
    note = f"{MERGED} {other.id} into it"
    status = max(kept.status, other.status, key=_RANK.index)
    made = replace(unite(kept, other), status=status, pinned=kept.pinned or other.pinned, duplicate_of="", note=note)
    ended = replace(
        other,
        status=Status.SUPERSEDED,
        pinned=False,
        superseded_by=kept.id,
        duplicate_of=kept.id,
        valid_to_ns=max(now_ns, other.valid_from_ns),
        note=f"{MERGED} it into {kept.id}",
        version=other.version + 1,
    )
    return [Operation(Verb.UPDATED, made, note, ACTOR), Operation(Verb.SUPERSEDED, ended, ended.note, ACTOR)]


def _weight(memory: Memory) -> tuple[bool, int, bool, float, str]:
    """Whose text is kept: a person's own, then by source, then what is shown, then what is believed more."""
    return memory.is_edited, AUTHORITY[memory.source], memory.is_shown, memory.confidence, memory.id

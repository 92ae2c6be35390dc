"""Undo: memories go back to the state before a change. Nothing is taken out of the history; going back is a change of
its own, and is never undone by the next undo, which goes one further back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from spanlore.memory.memory import Memory, Status, memory_from_json
from spanlore.memory.operations import Operation, Verb

ACTOR: Final = "user"
_MARK: Final = "undo of "
_LOOKS: Final = Verb.CHECKED.value
"""Looking for what a memory names is no change that anybody wants undone."""


class Changed(Protocol):
    """One memory's change."""

    @property
    def at_ns(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def verb(self) -> str: ...
    @property
    def reason(self) -> str: ...


class UndoError(ValueError):
    """It can't be undone; the message says why and what to do."""


def last_batch[C: Changed](batches: Sequence[Sequence[C]]) -> Sequence[C]:
    """The newest list of changes that is neither an undo nor undone; `batches` newest first.

    Raises:
        UndoError: there is none.
    """
    undone: set[str] = set()
    for batch in batches:
        if batch[0].verb == Verb.RESTORED and batch[0].reason.startswith(_MARK):
            undone.add(batch[0].reason)
        elif f"{_MARK}{batch[0].at_ns}" not in undone and any(change.verb != _LOOKS for change in batch):
            return batch
    raise UndoError("there is nothing to undo")


def undo_batch[C: Changed](
    batch: Sequence[C], states: Mapping[tuple[str, int], Memory], current: Mapping[str, Memory]
) -> list[Operation]:
    """Operations that take back what one list changed.

    Raises:
        UndoError: a memory was changed again since.
    """
    out = []
    for memory_id in sorted({change.id for change in batch}):
        versions = sorted(change.version for change in batch if change.id == memory_id)
        now = current[memory_id]
        since = [states.get((memory_id, version)) for version in range(versions[-1] + 1, now.version + 1)]
        if any(state is None or not _only_looked(states[memory_id, versions[-1]], state) for state in since):
            raise UndoError(f"{memory_id} was changed again since. Name it to undo its last change: undo {memory_id}")
        before = states.get((memory_id, versions[0] - 1))
        out.append(_back(now, before, f"{_MARK}{batch[0].at_ns}"))
    return out


def standing_changes(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The changes of a memory that were not taken back, oldest first; each with the looks that came after it."""
    standing: list[Mapping[str, Any]] = []
    for event in events:
        if event["verb"] == Verb.RESTORED:
            standing = standing[:-1]
        elif event["verb"] == _LOOKS and standing:
            standing[-1] = event
        else:
            standing.append(event)
    return standing


def undo_one(memory: Memory, events: Sequence[Mapping[str, Any]]) -> Operation:
    """The operation that takes back a memory's last change that stands. `events` oldest first, as the API tells them.

    Raises:
        UndoError: there is none.
    """
    standing = standing_changes(events)
    if not standing:
        raise UndoError(f"nothing of {memory.id} is left to undo")
    before = memory_from_json(standing[-2]["memory"]) if len(standing) > 1 else None
    return _back(memory, before, f"{_MARK}version {standing[-1]['version']}")


def _back(now: Memory, before: Memory | None, reason: str) -> Operation:
    note = "it was undone right after it was made"
    after = before or replace(now, status=Status.RETIRED, pinned=False, note=note)
    return Operation(Verb.RESTORED, replace(after, version=now.version + 1), reason, ACTOR)


def _only_looked(one: Memory, other: Memory) -> bool:
    return replace(one, anchors=(), version=0) == replace(other, anchors=(), version=0)

"""What mining all sessions afresh would change: the regression test of a new miner on one's own history. Pure.

What people did stays out of it: forgotten, edited and hand-made memories are where mining starts from, and a status
that a person gave is no difference. Anchors, verdicts, versions and the time of recording are no part of what was
learned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spanlore.memory.memory import Kind, Memory, Status
from spanlore.memory.operations import Operation, Verb

LOST: Final = "the miner no longer finds it"
_SAID: Final = ("text", "why", "kind", "source", "harness", "sub_path", "trigger", "origins")
_BY_PERSON: Final = "the user"
_MINED: Final = (Status.CANDIDATE, Status.TRIAL, Status.ACTIVE, Status.QUARANTINED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory that would say something else, or would be shown otherwise."""

    before: Memory
    after: Memory
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """What would be added, changed and dropped, each by id."""

    added: tuple[Memory, ...] = ()
    changed: tuple[Changed, ...] = ()
    dropped: tuple[Memory, ...] = ()
    out_of_reach: tuple[Memory, ...] = ()
    """Memories whose sessions, or parts of them, are no longer in the store: nothing can be said of them."""
    unchanged: int = 0


def baseline(known: Iterable[Memory]) -> list[Memory]:
    """What mining starts from: what people made, edited, merged or put an end to."""
    memories = list(known)
    merged_into = {memory.superseded_by for memory in memories if is_merged(memory)}
    return [memory for memory in memories if memory.id in merged_into or _is_by_hand(memory) or _is_ended(memory)]


def is_merged(memory: Memory) -> bool:
    """Whether a person made it one with another, which stands for it since (`superseded_by`)."""
    is_ended = memory.status is Status.SUPERSEDED
    return is_ended and bool(memory.superseded_by) and memory.duplicate_of == memory.superseded_by


def differ(known: Iterable[Memory], mined: Iterable[Memory], sessions: frozenset[str]) -> Diff:
    """The difference between what is kept and what was mined from `sessions` on top of `baseline(known)`."""
    before = {memory.id: memory for memory in known}
    start = {memory.id for memory in baseline(before.values())}
    after = {memory.id: memory for memory in mined if memory.id not in start}
    old = {key: memory for key, memory in before.items() if key not in start}
    pairs = [(old[key], after[key]) for key in sorted(old.keys() & after.keys())]
    changed = [Changed(one, other, fields) for one, other in pairs if (fields := _fields(one, other))]
    gone = [old[key] for key in sorted(old.keys() - after.keys()) if old[key].status is not Status.RETIRED]
    in_reach = [memory for memory in gone if any(item.session_id in sessions for item in memory.evidence)]
    return Diff(
        added=tuple(after[key] for key in sorted(after.keys() - old.keys())),
        changed=tuple(changed),
        dropped=tuple(in_reach),
        out_of_reach=tuple(memory for memory in gone if memory not in in_reach),
        unchanged=len(pairs) - len(changed),
    )


def within_reach(diff: Diff, present: Collection[str]) -> Diff:
    """Without what can't be said any more: a memory some of whose cited spans are past their days would be found to be
    less than it is. `present` are the cited spans that are there."""

    def is_lost(memory: Memory) -> bool:
        return any(item.span_id not in present for item in memory.evidence)

    lost = [item.before for item in diff.changed if is_lost(item.before)] + list(filter(is_lost, diff.dropped))
    return replace(
        diff,
        changed=tuple(item for item in diff.changed if not is_lost(item.before)),
        dropped=tuple(memory for memory in diff.dropped if not is_lost(memory)),
        out_of_reach=tuple(sorted((*diff.out_of_reach, *lost), key=lambda memory: memory.id)),
    )


def operations_of(diff: Diff) -> list[Operation]:
    """The operations that make the difference true."""
    out = [Operation(Verb.ADDED, replace(memory, version=1), memory.note) for memory in diff.added]
    for item in diff.changed:
        kept: Mapping[str, Any] = {
            "pinned": item.before.pinned,
            "created_at_ns": item.before.created_at_ns,
            "anchors": item.before.anchors,
            "verdict": item.before.verdict,
        }
        status = item.before.status if _has_persons_status(item.before) else item.after.status
        made = replace(item.after, version=item.before.version + 1, status=status, **kept)
        out.append(Operation(Verb.UPDATED, made, f"mined afresh: {', '.join(item.fields)}"))
    for memory in diff.dropped:
        ended = replace(memory, status=Status.RETIRED, note=LOST, version=memory.version + 1)
        out.append(Operation(Verb.RETIRED, ended, LOST))
    return out


def _fields(before: Memory, after: Memory) -> tuple[str, ...]:
    names: Sequence[str] = _SAID if _has_persons_status(before) else (*_SAID, "status")
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def _is_by_hand(memory: Memory) -> bool:
    is_persons = memory.kind is Kind.EXPLICIT and memory.note.startswith(_BY_PERSON)
    return memory.is_edited or not memory.evidence or is_persons


def _is_ended(memory: Memory) -> bool:
    return is_merged(memory) or (memory.status not in _MINED and memory.note != LOST)


def _has_persons_status(memory: Memory) -> bool:
    return memory.pinned or memory.note.startswith(_BY_PERSON)

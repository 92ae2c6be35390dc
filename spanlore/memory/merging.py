"""Merging two memories of which a judge says that they say the same, once a person has said yes. By rule, and pure.

The one whose source counts more is kept, with the evidence, triggers and counts of both; the other is superseded by it,
and what mining finds for that from then on counts for the one that was kept. The text that is kept stays as it is,
unless the person takes one that says both: the judge's, where it names nothing that neither names, else one put
together by rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from spanlore.memory.changes import ACTOR, MAX_TEXT_CHARS, shape_of
from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Status, Trigger
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.shapes import names_in
from spanlore.recall.rank import AUTHORITY
from spanlore.recall.terms import terms

MERGED: Final = "the user merged"
"""How the notes of two memories begin that a person made one of."""
MAX_EVIDENCE: Final = 24
MAX_SIGNATURES: Final = 16
HELD_TO_A_PLACE: Final = frozenset({Kind.USAGE, Kind.ENVIRONMENT, Kind.LOCATION})
"""Kinds whose commands mean something else in another directory of the repository."""
_RANK: Final = (Status.CANDIDATE, Status.TRIAL, Status.ACTIVE)


def twin_of(memory: Memory, known: Sequence[Memory]) -> Memory | None:
    """The memory that a judge says it repeats, where both are live and hold for the same; None otherwise."""
    twin = next((other for other in known if other.id == memory.duplicate_of), None)
    if twin is None or not (memory.is_live and twin.is_live) or twin.id == memory.id:
        return None
    has_same_reach = (memory.scope, memory.harness) == (twin.scope, twin.harness)
    return twin if has_same_reach and not (memory.valid_to_ns or twin.valid_to_ns) else None


def text_for_both(memory: Memory, twin: Memory) -> str:
    """A text that says what both say; '' where one says it all, or both together are too long for a memory."""
    kept, other = sorted((twin, memory), key=_weight, reverse=True)
    proposed = memory.merged_text
    if proposed and proposed not in (kept.text, other.text) and not _fault(proposed, kept, other):
        return proposed
    if set(terms(other.text)) <= set(terms(kept.text)):
        return ""
    both = f"{kept.text.rstrip()} Also: {other.text.strip()}"
    return both if len(both) <= MAX_TEXT_CHARS else ""


def _fault(text: str, kept: Memory, other: Memory) -> str:
    """What is wrong with a proposed text. A name counts as known where it stands in either memory."""
    source = "\n".join(text for one in (kept, other) for text in (one.text, one.why, one.value)).casefold()
    if len(text) > MAX_TEXT_CHARS:
        return "it is too long"
    if shape := shape_of(text):
        return shape
    return next((name for name in names_in(text) if name.casefold() not in source), "")


def merge(memory: Memory, known: Sequence[Memory], now_ns: int, *, both_texts: bool = False) -> list[Operation]:
    """Operations that make one of a memory and its twin; with `both_texts` in a text that says both, which is the
    person's word from then on.

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
    text = text_for_both(memory, twin) if both_texts else ""
    made = replace(
        unite(kept, other),
        status=status,
        pinned=kept.pinned or other.pinned,
        text=text or kept.text,
        is_edited=kept.is_edited or bool(text),
        duplicate_of="",
        merged_text="",
        note=note,
    )
    ended = replace(
        other,
        status=Status.SUPERSEDED,
        pinned=False,
        superseded_by=kept.id,
        duplicate_of=kept.id,
        merged_text="",
        valid_to_ns=max(now_ns, other.valid_from_ns),
        note=f"{MERGED} it into {kept.id}",
        version=other.version + 1,
    )
    return [Operation(Verb.UPDATED, made, note, ACTOR), Operation(Verb.SUPERSEDED, ended, ended.note, ACTOR)]


def _weight(memory: Memory) -> tuple[bool, int, bool, float, str]:
    """Whose text is kept: a person's own, then by source, then what is shown, then what is believed more."""
    return memory.is_edited, AUTHORITY[memory.source], memory.is_shown, memory.confidence, memory.id


def unite(kept: Memory, other: Memory) -> Memory:
    """`kept`, with what speaks for `other` and against it, and the failures that it answers."""
    fresh = [item for item in other.evidence if not is_counted(kept, item.session_id)]
    counted = {*kept.seen, *map(digest_of, sessions_of(kept.evidence))}
    seen = [digest for digest in other.seen if digest not in counted]
    against = sessions_of([item for item in fresh if item.role is EvidenceRole.AGAINST])
    new = len(sessions_of(fresh) - against) + len(seen)
    cited = citing(kept, sorted(fresh, key=lambda item: item.time_ns))
    return next_version(
        kept,
        session_count=kept.session_count + new,
        alpha=kept.alpha + new,
        beta=kept.beta + len(against),
        updated_at_ns=max(kept.updated_at_ns, other.updated_at_ns),
        valid_from_ns=min(filter(None, (kept.valid_from_ns, other.valid_from_ns)), default=0),
        trigger=merged_trigger(kept.trigger, other.trigger),
        sub_path=common_path(kept.sub_path, other.sub_path) if kept.kind in HELD_TO_A_PLACE else kept.sub_path,
        lost_ns=max(kept.lost_ns, other.lost_ns),
        lost_calls=max(kept.lost_calls, other.lost_calls),
        **{**cited, "seen": tuple(dict.fromkeys((*cited["seen"], *seen)))},
    )


def next_version(memory: Memory, **changes: object) -> Memory:
    """The memory with these changes, one version on."""
    return replace(memory, version=memory.version + 1, **changes)  # type: ignore[arg-type]  # names checked by tests


def sessions_of(evidence: Iterable[Evidence]) -> frozenset[str]:
    """The sessions that the evidence is from."""
    return frozenset(item.session_id for item in evidence)


def is_counted(known: Memory, session_id: str) -> bool:
    """Whether a session speaks for the memory already."""
    return session_id in sessions_of(known.evidence) or digest_of(session_id) in known.seen


def citing(known: Memory, fresh: Sequence[Evidence]) -> dict[str, tuple[Evidence, ...] | tuple[str, ...]]:
    """Fields of a memory that cites this too: `evidence` and `seen`."""
    evidence, left_out = bounded((*known.evidence, *fresh))
    return {"evidence": evidence, "seen": tuple(dict.fromkeys((*known.seen, *left_out)))}


def bounded(evidence: Sequence[Evidence]) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """(the first third and the newest, digests of the sessions that are no longer cited)."""
    if len(evidence) <= MAX_EVIDENCE:
        return tuple(evidence), ()
    first = MAX_EVIDENCE // 3
    kept = (*evidence[:first], *evidence[first - MAX_EVIDENCE :])
    return kept, tuple(digest_of(session) for session in sorted(sessions_of(evidence) - sessions_of(kept)))


def digest_of(session_id: str) -> str:
    """What is remembered of a session that is no longer cited."""
    return hashlib.blake2b(session_id.encode("utf-8", "replace"), digest_size=5).hexdigest()


def common_path(one: str, other: str) -> str:
    """The directory that holds both."""
    shared = []
    for word, other_word in zip(one.split("/"), other.split("/"), strict=False):
        if word != other_word:
            break
        shared.append(word)
    return "/".join(shared)


def merged_trigger(one: Trigger, other: Trigger) -> Trigger:
    """The failures that either answers."""
    signatures = tuple(dict.fromkeys((*one.signatures, *other.signatures)))[:MAX_SIGNATURES]
    return Trigger(signatures, one.program or other.program, one.error_class or other.error_class)

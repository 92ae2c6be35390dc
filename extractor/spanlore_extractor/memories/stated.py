"""What the user does to memories by hand (remember, edit, confirm, pin, forget), or an agent by MCP (remember, forget).
Neither word needs evidence, only the shape check: an agent can run `spanlore remember` too. An agent's word is told as
such and believed less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source, Status, memory_id
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.trust import prior_of
from spanlore_extractor.memories.shapes import asks_to_fetch, suspicious
from spanlore_extractor.memories.wording import MAX_TEXT_CHARS, clip, day_of
from spanlore_extractor.mining.rules import rule_of

ACTOR: Final = "user"
_ASKED: Final = {"user": "The user asked", "agent": "An agent asked"}
MAX_STATEMENT_CHARS: Final = 340
"""So that the words fit into a memory's text with the date before them."""
_PRIOR: Final = {"user": prior_of(Kind.EXPLICIT), "agent": (4.0, 1.0)}
CONFIRMED: Final = 4.0
"""What a person's yes adds to the counts for a memory."""


def remember(
    text: str, scope: str, known: Sequence[Memory], now_ns: int, branch: str = "", by: str = ACTOR
) -> list[Operation]:
    """Operations for "remember TEXT": the memory is added, or comes back; what says otherwise is superseded.

    `by` is `user` or `agent`. Empty when it is remembered already.

    Raises:
        ValueError: nothing to remember, or too much.
    """
    words = " ".join(text.split())
    if not words:
        raise ValueError("there is nothing to remember")
    if len(words) > MAX_STATEMENT_CHARS:
        raise ValueError(f"{len(words)} characters are too many for one memory; say it in {MAX_STATEMENT_CHARS}")
    rule = rule_of(words)
    identity = memory_id(scope, Kind.EXPLICIT, rule.subject, rule.slot, rule.value)
    before = next((memory for memory in known if memory.id == identity), None)
    if before is not None and (before.is_shown or before.status is Status.QUARANTINED):
        return []
    shape = _shape(words)
    status = Status.QUARANTINED if shape else Status.ACTIVE
    made = Memory(
        id=identity,
        kind=Kind.EXPLICIT,
        source=Source.EXPLICIT,
        status=status,
        scope=scope,
        text=clip(f'{_ASKED[by]} to have this remembered ({day_of(now_ns)}): "{words}"', MAX_TEXT_CHARS),
        subject=rule.subject,
        slot=rule.slot,
        value=rule.value,
        why=words,
        branch=branch,
        alpha=_PRIOR[by][0],
        beta=_PRIOR[by][1],
        created_at_ns=before.created_at_ns if before else now_ns,
        updated_at_ns=now_ns,
        valid_from_ns=now_ns,
        note=f"waits for review: {shape}" if shape else f"the {by} said so",
        version=before.version + 1 if before else 1,
    )
    verb = Verb.QUARANTINED if shape else Verb.UPDATED if before else Verb.ADDED
    operations = [Operation(verb, made, made.note, by)]
    return operations if shape else [*operations, *_supersede(made, known, by)]


def forget(memory: Memory, by: str = ACTOR) -> Operation:
    """The operation that has a memory forgotten, and never learned again."""
    note = f"the {by} had it forgotten"
    after = replace(memory, status=Status.FORGOTTEN, pinned=False, note=note, version=memory.version + 1)
    return Operation(Verb.FORGOTTEN, after, note, by)


def edit(memory: Memory, text: str, known: Sequence[Memory], now_ns: int, by: str = ACTOR) -> list[Operation]:
    """Operations that give a memory another text: from then on it is the user's word, shown, and never rewritten.

    Empty when it says so already. What the text may not have is quarantined.

    Raises:
        ValueError: no text, too much of it, or the memory was forgotten.
    """
    words = " ".join(text.split())
    if not words:
        raise ValueError("there is no text; `spanlore forget` takes a memory away")
    if len(words) > MAX_TEXT_CHARS:
        raise ValueError(f"{len(words)} characters are too many for one memory; say it in {MAX_TEXT_CHARS}")
    if memory.status is Status.FORGOTTEN:
        raise ValueError(f"{memory.id} was forgotten; `spanlore confirm {memory.id}` brings it back")
    if words == memory.text:
        return []
    shape = _shape(words)
    changed = replace(
        memory,
        text=words,
        status=Status.QUARANTINED if shape else Status.ACTIVE,
        source=Source.EXPLICIT,
        alpha=_PRIOR[ACTOR][0],
        beta=_PRIOR[ACTOR][1],
        anchors=(),
        updated_at_ns=now_ns,
        superseded_by="",
        valid_to_ns=0,
        is_edited=True,
        note=f"waits for review: {shape}" if shape else "the user's own words",
        version=memory.version + 1,
    )
    operation = Operation(Verb.EDITED, changed, f"it said: {memory.text}", by)
    return [operation] if shape else [operation, *_supersede(changed, known)]


def confirm(memory: Memory, known: Sequence[Memory], now_ns: int) -> list[Operation]:
    """Operations for the user's yes: it is shown, whatever it was before, and what says otherwise is superseded."""
    note = "the user confirmed it"
    changed = replace(
        memory,
        status=Status.ACTIVE,
        alpha=memory.alpha + CONFIRMED,
        updated_at_ns=max(memory.updated_at_ns, now_ns),
        superseded_by="",
        valid_to_ns=0,
        note=note,
        version=memory.version + 1,
    )
    return [Operation(Verb.CONFIRMED, changed, note, ACTOR), *_supersede(changed, known)]


def pin(memory: Memory, pinned: bool) -> Operation | None:
    """The operation that pins a memory or lets go of it; None when it is so already. A pin holds against age, conflicts
    and caps.

    Raises:
        ValueError: what is not shown can't be pinned.
    """
    if memory.pinned == pinned:
        return None
    if pinned and memory.status not in (Status.ACTIVE, Status.TRIAL):
        raise ValueError(f"{memory.id} is {memory.status}; `spanlore confirm {memory.id}` first")
    changed = replace(memory, pinned=pinned, version=memory.version + 1)
    return Operation(Verb.PINNED if pinned else Verb.UNPINNED, changed, "", ACTOR)


def _shape(words: str) -> str:
    return suspicious(words) or ("an address to fetch" if asks_to_fetch(words) else "")


def _supersede(made: Memory, known: Sequence[Memory], by: str = ACTOR) -> list[Operation]:
    if made.slot in ("", "statement"):
        return []
    out = []
    for rival in sorted(known, key=lambda memory: memory.id):
        same = (rival.scope, rival.subject, rival.slot) == (made.scope, made.subject, made.slot)
        is_live = rival.status in (Status.CANDIDATE, Status.TRIAL, Status.ACTIVE)
        outranks = by == ACTOR or rival.source is not Source.EXPLICIT
        if same and is_live and rival.value != made.value and not rival.pinned and outranks:
            note = f"superseded by {made.id}"
            version = rival.version + 1
            ended = replace(
                rival,
                status=Status.SUPERSEDED,
                superseded_by=made.id,
                valid_to_ns=max(made.updated_at_ns, rival.valid_from_ns),
                note=note,
                version=version,
            )
            out.append(Operation(Verb.SUPERSEDED, ended, f"{made.id} says otherwise of the same thing", by))
    return out

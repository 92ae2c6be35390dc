"""What a person does to a memory by hand, on the command line, in a note or on the web page: edit, confirm, reject,
pin, forget. What a text may not have is checked here too, since an agent can run commands. Pure.

A change carries the version it was made from, so one made meanwhile by somebody else is never overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.shapes import asks_to_fetch, suspicious
from spanlore.memory.trust import prior_of

ACTOR: Final = "user"
CONFIRMED_NOTE: Final = "the user confirmed it"
"""Note of a memory that a person said yes to."""
CONFIRMED: Final = 4.0
"""What a person's yes adds to the counts for a memory, and a no to those against it."""
_UNTIL: Final = re.compile(r"^(The user asked to have this remembered) until \d{4}-\d\d-\d\d(?= \()")
MAX_TEXT_CHARS: Final = 400
"""Of a memory."""


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
    shape = shape_of(words)
    changed = replace(
        memory,
        text=words,
        status=Status.QUARANTINED if shape else Status.ACTIVE,
        source=Source.EXPLICIT,
        alpha=prior_of(Kind.EXPLICIT)[0],
        beta=prior_of(Kind.EXPLICIT)[1],
        anchors=(),
        updated_at_ns=now_ns,
        superseded_by="",
        valid_to_ns=_end_of(memory, now_ns),
        is_edited=True,
        note=f"waits for review: {shape}" if shape else "the user's own words",
        version=memory.version + 1,
    )
    operation = Operation(Verb.EDITED, changed, f"it said: {memory.text}", by)
    return [operation] if shape else [operation, *supersede(changed, known)]


def confirm(memory: Memory, known: Sequence[Memory], now_ns: int) -> list[Operation]:
    """Operations for the user's yes: it is shown, whatever it was before, and what says otherwise is superseded."""
    note = CONFIRMED_NOTE
    end_ns = _end_of(memory, now_ns)
    changed = replace(
        memory,
        status=Status.ACTIVE,
        text=memory.text if end_ns else _UNTIL.sub(r"\1", memory.text),
        alpha=memory.alpha + CONFIRMED,
        updated_at_ns=max(memory.updated_at_ns, now_ns),
        superseded_by="",
        valid_to_ns=end_ns,
        duplicate_of="",
        merged_text="",
        note=note,
        version=memory.version + 1,
    )
    return [Operation(Verb.CONFIRMED, changed, note, ACTOR), *supersede(changed, known)]


def _end_of(memory: Memory, now_ns: int) -> int:
    """The end its user set, where that is still to come: who changes it later wants it for good."""
    has_end = memory.status is not Status.SUPERSEDED and memory.valid_to_ns > now_ns
    return memory.valid_to_ns if has_end else 0


def reject(memory: Memory) -> Operation:
    """The operation for the user's no: it is not shown any more, and counts against it. It may be learned again."""
    note = "the user rejected it"
    changed = replace(
        memory,
        status=Status.RETIRED,
        pinned=False,
        beta=memory.beta + CONFIRMED,
        note=note,
        version=memory.version + 1,
    )
    return Operation(Verb.RETIRED, changed, note, ACTOR)


def pin(memory: Memory, pinned: bool) -> Operation | None:
    """The operation that pins a memory or lets go of it; None when it is so already. A pin holds against age, conflicts
    and caps.

    Raises:
        ValueError: what is not shown can't be pinned.
    """
    if memory.pinned == pinned:
        return None
    if pinned and not memory.status.is_shown:
        raise ValueError(f"{memory.id} is {memory.status}; `spanlore confirm {memory.id}` first")
    changed = replace(memory, pinned=pinned, version=memory.version + 1)
    return Operation(Verb.PINNED if pinned else Verb.UNPINNED, changed, "", ACTOR)


def shape_of(words: str) -> str:
    """What of the text keeps it from being shown until a person has looked; '' when nothing does."""
    return suspicious(words) or ("an address to fetch" if asks_to_fetch(words) else "")


def supersede(made: Memory, known: Sequence[Memory], by: str = ACTOR) -> list[Operation]:
    """Operations that end what says otherwise of the same thing, as far as `by` outranks it."""
    if made.slot in ("", "statement"):
        return []
    out = []
    for rival in sorted(known, key=lambda memory: memory.id):
        same = (rival.scope, rival.subject, rival.slot) == (made.scope, made.subject, made.slot)
        outranks = by == ACTOR or rival.source is not Source.EXPLICIT
        if same and rival.is_live and rival.value != made.value and not rival.pinned and outranks:
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

"""What the user does to memories by hand (remember, edit, confirm, pin, forget), or an agent by MCP (remember, forget).

The user's word needs no evidence, only the shape check. An agent's word is no evidence at all: a tool's output, a file
or a web page may have put it into the agent's mouth. It waits as a candidate, which is shown to nobody, until the user
says yes, or says the same in a prompt. It supersedes nothing, and brings nothing back that was ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from spanlore.figures import one_line
from spanlore.memory.changes import ACTOR, MAX_TEXT_CHARS, confirm, edit, forget, pin, shape_of, supersede
from spanlore.memory.memory import Kind, Memory, Source, Status, memory_id
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.rules import rule_of
from spanlore.memory.trust import prior_of

__all__ = ["ACTOR", "MAX_STATEMENT_CHARS", "confirm", "day_of", "edit", "forget", "pin", "remember"]

_ASKED: Final = {"user": "The user asked", "agent": "An agent asked"}
_SAID: Final = {"user": "the user said so", "agent": "an agent's word; waits for the user's yes"}
MAX_STATEMENT_CHARS: Final = 340
"""So that the words fit into a memory's text with the date before them."""
_PRIOR: Final = {"user": prior_of(Kind.EXPLICIT), "agent": (4.0, 1.0)}


def remember(
    text: str,
    scope: str,
    known: Sequence[Memory],
    now_ns: int,
    branch: str = "",
    by: str = ACTOR,
    until_ns: int = 0,
) -> list[Operation]:
    """Operations for "remember TEXT": the memory is added, or comes back; what says otherwise is superseded.

    `by` is `user` or `agent`, whose words become a candidate. Empty when it is remembered already, or waits already.
    With `until_ns` it is episodic: shown until then, never after, and it ends nothing that is to outlast it.

    Raises:
        ValueError: nothing to remember, or too much; or an agent wants back what was ended.
    """
    words = _fitting(text, until_ns)
    rule = rule_of(words)
    identity = memory_id(scope, Kind.EXPLICIT, rule.subject, rule.slot, rule.value)
    before = next((memory for memory in known if memory.id == identity), None)
    if before is not None and _stands(before, words, by):
        return []
    shape = shape_of(words)
    status = Status.QUARANTINED if shape else Status.ACTIVE if by == ACTOR else Status.CANDIDATE
    made = Memory(
        id=identity,
        kind=Kind.EXPLICIT,
        source=Source.EXPLICIT,
        status=status,
        scope=scope,
        text=_told(words, now_ns, by, until_ns),
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
        valid_to_ns=until_ns,
        note=f"waits for review: {shape}" if shape else _SAID[by],
        pinned=before is not None and before.pinned and not shape,
        version=before.version + 1 if before else 1,
    )
    verb = Verb.QUARANTINED if shape else Verb.UPDATED if before else Verb.ADDED
    operations = [Operation(verb, made, made.note, by)]
    return [*operations, *supersede(made, known, by)] if status is Status.ACTIVE and not until_ns else operations


def _fitting(text: str, until_ns: int) -> str:
    words = " ".join(text.split())
    if not words:
        raise ValueError("there is nothing to remember")
    limit = MAX_STATEMENT_CHARS - len(_until(until_ns))
    if len(words) > limit:
        raise ValueError(f"{len(words)} characters are too many for one memory; say it in {limit}")
    return words


def _stands(before: Memory, words: str, by: str) -> bool:
    """Whether saying it again changes nothing."""
    has_end = before.is_live and before.valid_to_ns > 0
    says_so = not before.is_edited or words in before.text
    if (before.is_shown or before.status is Status.QUARANTINED) and says_so and not has_end:
        return True
    if by == ACTOR:
        return False
    if before.status is Status.CANDIDATE:
        return True
    raise ValueError(f"it was remembered before and is {before.status.value}; only the user brings it back")


def _told(words: str, now_ns: int, by: str, until_ns: int) -> str:
    when = f"{_until(until_ns)} ({day_of(now_ns)})"
    return one_line(f'{_ASKED[by]} to have this remembered{when}: "{words}"', MAX_TEXT_CHARS)


def _until(until_ns: int) -> str:
    return f" until {day_of(until_ns)}" if until_ns else ""


def day_of(time_ns: int) -> str:
    """The UTC day, `2026-11-30`."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d")

"""Memories out of one installation and into another, as JSON lines.

A file may come from anybody. What it says is held to the same checks as what a tool printed, and unless its user says
that it is their own, nothing of it is shown before they have reviewed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from spanlore.memory.memory import Memory, Status, memory_from_json, memory_id, memory_to_json
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.shapes import asks_to_fetch, is_refusal, suspicious
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.wording import MAX_TEXT_CHARS

FORMAT: Final = "spanlore memories"
VERSION: Final = 1
ACTOR: Final = "user"
_SAID: Final = ("text", "why", "subject", "slot", "value", "note")
"""Fields in which somebody's words stand."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What taking in a file does."""

    operations: tuple[Operation, ...]
    known: int
    refused: tuple[tuple[str, str], ...]
    """(id, reason)."""


def to_lines(memories: Iterable[Memory]) -> list[str]:
    """A heading and one line a memory, by id: the same memories give the same bytes."""
    head = orjson.dumps({"format": FORMAT, "version": VERSION}).decode()
    ordered = sorted(memories, key=lambda memory: memory.id)
    return [head, *(orjson.dumps(memory_to_json(memory)).decode() for memory in ordered)]


def from_lines(text: str) -> list[Memory]:
    """The memories of a file.

    Raises:
        ValueError: a line is not what `to_lines` writes; the message says which.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    head = _json(*lines[0]) if lines else None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f'the first line must be {{"format": "{FORMAT}", "version": {VERSION}}}')
    if head.get("version") != VERSION:
        raise ValueError(f"version {head.get('version')!r} of the format is not known here, only {VERSION}")
    return [_memory(number, line) for number, line in lines[1:]]


def take(carried: Iterable[Memory], known: Iterable[Memory], redactor: Redactor, is_trusted: bool) -> Taken:
    """What to do with memories of a file; those known here stay as they are."""
    have = {memory.id for memory in known}
    operations: list[Operation] = []
    refused: list[tuple[str, str]] = []
    count = 0
    for memory in carried:
        reason = _refusal(memory, redactor)
        if memory.id in have:
            count += 1
        elif reason:
            refused.append((memory.id, reason))
        else:
            have.add(memory.id)
            operations.append(_added(memory, is_trusted))
    return Taken(tuple(operations), count, tuple(refused))


def _added(memory: Memory, is_trusted: bool) -> Operation:
    shape = suspicious(memory.text) or ("an address to fetch" if asks_to_fetch(memory.text) else "")
    status, note = memory.status, memory.note
    if shape and status not in (Status.FORGOTTEN, Status.RETIRED, Status.SUPERSEDED):
        status, note = Status.QUARANTINED, f"waits for review: {shape}"
    elif not is_trusted and status.is_shown:
        status, note = Status.CANDIDATE, "from a file; waits for review"
    is_pinned = memory.pinned and status is memory.status
    made = replace(memory, status=status, note=note, pinned=is_pinned, version=1)
    return Operation(Verb.ADDED, made, "taken in from a file", ACTOR)


def _refusal(memory: Memory, redactor: Redactor) -> str:
    own = memory_id(memory.scope, memory.kind, memory.subject, memory.slot, memory.value, memory.harness)
    if memory.id != own:
        return "its id is not that of what it says"
    if not memory.scope or not memory.text.strip() or len(memory.text) > MAX_TEXT_CHARS:
        return "it has no scope, no text, or too much of it"
    if redactor.redact("\n".join(getattr(memory, name) for name in _SAID)).count:
        return "a secret stands in it"
    return "a refusal, not a fact" if is_refusal(memory.text) else ""


def _memory(number: int, line: str) -> Memory:
    data = _json(number, line)
    try:
        memory = memory_from_json(data)
        is_text = all(isinstance(getattr(memory, name), str) for name in ("scope", *_SAID))
        if not is_text or not all(isinstance(item, int | float) for item in (memory.alpha, memory.beta)):
            raise ValueError("a field has the wrong type")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"line {number} is no memory ({error})") from None
    return memory


def _json(number: int, line: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"line {number} is not JSON ({error})") from None

"""Operations on memories: the only way they change.

The extractor and the CLI post a list of these to the collector, which applies them in order and appends one event for
each. An operation carries the whole new state of the memory it changes, so the table can be rebuilt from the events.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spanlore.memory.memory import Memory, memory_from_json, memory_to_json


class Verb(StrEnum):
    """What happened to a memory."""

    ADDED = "added"
    REINFORCED = "reinforced"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    QUARANTINED = "quarantined"
    FORGOTTEN = "forgotten"
    CONFIRMED = "confirmed"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    EDITED = "edited"
    """A person changed what it says."""
    WEAKENED = "weakened"
    """Evidence against it came."""
    DEMOTED = "demoted"
    """No longer shown, and back among the candidates: its evidence is old, or others are worth more."""
    CHECKED = "checked"
    """What it names was looked for in a working tree."""
    RESTORED = "restored"
    """A change was undone."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change. `memory` is the state after it, with `version` one higher than the state it was made from."""

    verb: Verb
    memory: Memory
    reason: str = ""
    actor: str = "extractor"
    """extractor, user (CLI, notes, web) or agent (MCP)."""


def operation_to_json(operation: Operation) -> dict[str, Any]:
    """JSON object {verb, memory, reason, actor}."""
    return {
        "verb": operation.verb.value,
        "memory": memory_to_json(operation.memory),
        "reason": operation.reason,
        "actor": operation.actor,
    }


def operation_from_json(data: dict[str, Any]) -> Operation:
    """The inverse of `operation_to_json`.

    Raises:
        ValueError: not an operation.
    """
    try:
        return Operation(
            verb=Verb(data["verb"]),
            memory=memory_from_json(data["memory"]),
            reason=str(data.get("reason", "")),
            actor=str(data.get("actor", "extractor")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an operation: {error}") from error

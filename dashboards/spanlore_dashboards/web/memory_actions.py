"""What a person does to a memory on the page → the operations that do it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanlore.memory import changes, merging, stated, undoing
from spanlore.memory.memory import USER_SCOPE, Memory, Status
from spanlore.memory.operations import Operation

ALWAYS: Final = frozenset({"edit", "undo", "merge"})
"""Actions that say by themselves why they can't be done."""
DONE: Final[Mapping[str, str]] = {
    "edit": "Saved. From an agent's next conversation on it says so.",
    "pin": "Pinned.",
    "unpin": "The pin is off.",
    "confirm": "Confirmed: agents may be shown it.",
    "reject": "Rejected: agents are no longer shown it.",
    "forget": "Forgotten: agents are no longer shown it, and it is never learned again.",
    "merge": "Merged: one of the two is kept, with the evidence of both.",
    "undo": "Taken back: it is as it was before.",
    "remember": "Remembered: agents are shown it from their next conversation on.",
}


class ActionError(ValueError):
    """That can't be done to this memory, or not with this text. The message is for people."""


def act(
    memory: Memory,
    action: str,
    known: Sequence[Memory],
    now_ns: int,
    text: str = "",
    events: Sequence[Mapping[str, Any]] = (),
) -> list[Operation]:
    """The operations of an action, first that of the memory, or of the one that is kept of two; `known` are all
    memories, `events` this one's, oldest first, as the API tells them: `undo` needs them.

    Raises:
        ActionError: it makes no sense for this memory.
    """
    if action not in ALWAYS and action not in offered(memory):
        raise ActionError(f"a memory that is {memory.status.value} can't be asked to {action}")
    try:
        operations = _operations(memory, action, known, now_ns, text, events)
    except ValueError as error:
        raise ActionError(str(error)) from None
    if not operations:
        raise ActionError("The text is the same as before.")
    return operations


def remember(text: str, scope: str, known: Sequence[Memory], scopes: Sequence[str], now_ns: int) -> list[Operation]:
    """The operations for the user's own words, the memory they become first.

    Raises:
        ActionError: nothing to remember or too much, no such scope, or it is remembered already.
    """
    if scope != USER_SCOPE and scope not in scopes:
        raise ActionError("Say for which repository: one that an agent has worked in, or all of them.")
    try:
        operations = stated.remember(text, scope, known, now_ns)
    except ValueError as error:
        raise ActionError(str(error)) from None
    if not operations:
        raise ActionError("That is remembered already, or waits for your review.")
    return operations


def undoable(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The event that `undo` would take back. None when nothing is left of it, or only what mining made of the sessions
    in the first place: that is rejected, not undone."""
    standing = undoing.standing_changes(events)
    if not standing or (len(standing) == 1 and standing[0]["actor"] != changes.ACTOR):
        return None
    return standing[-1]


def _operations(
    memory: Memory,
    action: str,
    known: Sequence[Memory],
    now_ns: int,
    text: str,
    events: Sequence[Mapping[str, Any]],
) -> list[Operation]:
    match action:
        case "undo":
            return [undoing.undo_one(memory, events)]
        case "merge":
            return merging.merge(memory, known, now_ns)
        case "edit":
            return changes.edit(memory, text, known, now_ns)
        case "confirm":
            return changes.confirm(memory, known, now_ns)
        case "reject":
            return [changes.reject(memory)]
        case "forget":
            return [changes.forget(memory)]
        case _:
            done = changes.pin(memory, action == "pin")
            return [done] if done else []


def offered(memory: Memory) -> tuple[str, ...]:
    """The actions that make sense, most likely first."""
    if memory.status is Status.FORGOTTEN:
        return ("confirm",)
    if memory.status is Status.ACTIVE:
        return ("unpin" if memory.pinned else "pin", "confirm", "reject", "forget")
    if memory.status is Status.TRIAL:
        return ("confirm", "unpin" if memory.pinned else "pin", "reject", "forget")
    if memory.status in (Status.RETIRED, Status.SUPERSEDED):
        return ("confirm", "forget")
    return ("confirm", "reject", "forget")

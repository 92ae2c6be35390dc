"""What a person does to a memory on the page → the operations that do it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from spanlore.memory import changes
from spanlore.memory.memory import Memory, Status
from spanlore.memory.operations import Operation

ACTIONS: Final = ("edit", "pin", "unpin", "confirm", "reject", "forget")
DONE: Final[Mapping[str, str]] = {
    "edit": "Saved. From an agent's next conversation on it says so.",
    "pin": "Pinned.",
    "unpin": "The pin is off.",
    "confirm": "Confirmed: agents may be shown it.",
    "reject": "Rejected: agents are no longer shown it.",
    "forget": "Forgotten: agents are no longer shown it, and it is never learned again.",
}


class ActionError(ValueError):
    """That can't be done to this memory, or not with this text. The message is for people."""


def act(memory: Memory, action: str, known: Sequence[Memory], now_ns: int, text: str = "") -> list[Operation]:
    """The operations of an action, the memory's own first; `known` are all memories.

    Raises:
        ActionError: it makes no sense for this memory.
    """
    if action != "edit" and action not in offered(memory):
        raise ActionError(f"a memory that is {memory.status.value} can't be asked to {action}")
    try:
        operations = _operations(memory, action, known, now_ns, text)
    except ValueError as error:
        raise ActionError(str(error)) from None
    if not operations:
        raise ActionError("The text is the same as before.")
    return operations


def _operations(memory: Memory, action: str, known: Sequence[Memory], now_ns: int, text: str) -> list[Operation]:
    match action:
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

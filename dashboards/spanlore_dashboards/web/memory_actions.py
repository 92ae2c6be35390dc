"""What a person does to a memory on the page → the operation that does it. Pure: the version it was made from is in it,
so a change made meanwhile by somebody else is never overwritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Memory, Status
from spanlore.memory.operations import Operation, Verb

ACTOR: Final = "user"
MAX_TEXT_CHARS: Final = 400


class ActionError(ValueError):
    """That can't be done to this memory, or not with this text. The message is for people."""


def edit(memory: Memory, text: str) -> Operation:
    """The same memory in the user's words.

    Raises:
        ActionError: there is no text, too much of it, or it is the same.
    """
    words = " ".join(text.split())
    if not words:
        raise ActionError("A memory needs a text. To have it gone, forget it.")
    if len(words) > MAX_TEXT_CHARS:
        raise ActionError(f"A memory has at most {MAX_TEXT_CHARS} characters; this has {len(words)}.")
    if words == memory.text:
        raise ActionError("The text is the same as before.")
    return _operation(Verb.EDITED, replace(memory, text=words, note="the user worded it"), "the user worded it")


def pin(memory: Memory) -> Operation:
    """Shown first, and immune against being superseded or retired by rule."""
    return _operation(Verb.PINNED, replace(memory, pinned=True), "the user pinned it")


def unpin(memory: Memory) -> Operation:
    """Takes the pin off."""
    return _operation(Verb.UNPINNED, replace(memory, pinned=False), "the user took the pin off")


def confirm(memory: Memory) -> Operation:
    """The user says that it is right: one more count for it, and agents are shown it from now on."""
    note = "the user confirmed it"
    after = replace(memory, status=Status.ACTIVE, alpha=memory.alpha + 1, superseded_by="", note=note)
    return _operation(Verb.CONFIRMED, after, note)


def reject(memory: Memory) -> Operation:
    """The user says that it is wrong: one more count against it, and not shown; it may be learned again."""
    note = "the user rejected it"
    after = replace(memory, status=Status.RETIRED, beta=memory.beta + 1, pinned=False, note=note)
    return _operation(Verb.RETIRED, after, note)


def forget(memory: Memory) -> Operation:
    """Gone, and never learned again."""
    note = "the user had it forgotten"
    return _operation(Verb.FORGOTTEN, replace(memory, status=Status.FORGOTTEN, pinned=False, note=note), note)


_PLAIN: Final[Mapping[str, Callable[[Memory], Operation]]] = {
    "pin": pin,
    "unpin": unpin,
    "confirm": confirm,
    "reject": reject,
    "forget": forget,
}
ACTIONS: Final = ("edit", *_PLAIN)
DONE: Final[Mapping[str, str]] = {
    "edit": "Saved. Agents are shown the new text from their next conversation on.",
    "pin": "Pinned.",
    "unpin": "The pin is off.",
    "confirm": "Confirmed: agents may be shown it.",
    "reject": "Rejected: agents are no longer shown it.",
    "forget": "Forgotten: agents are no longer shown it, and it is never learned again.",
}


def act(memory: Memory, action: str, text: str = "") -> Operation:
    """The operation of an action.

    Raises:
        ActionError: it makes no sense for this memory.
    """
    if action == "edit":
        return edit(memory, text)
    if action not in offered(memory):
        raise ActionError(f"a memory that is {memory.status.value} can't be asked to {action}")
    return _PLAIN[action](memory)


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


def _operation(verb: Verb, after: Memory, reason: str) -> Operation:
    return Operation(verb, replace(after, version=after.version + 1), reason, ACTOR)

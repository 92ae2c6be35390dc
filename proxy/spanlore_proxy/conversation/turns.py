"""Where turns begin, told from the messages alone.

A turn begins with the first message; with words of a person (or a slash command) after the model had stopped asking for
tools, or after the person stopped it; and with a notification that wakes a model that had stopped. Tool results, words
typed while the agent works, and reminders continue a turn. Since only messages decide, a proxy that joins in the middle
finds the same boundaries, and so the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spanlore.genai.messages import Message, Role, ToolCall
from spanlore_proxy.conversation.human import scan


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the messages seen so far leave the conversation."""

    has_stopped: bool = True
    """The model's last message asked for no tool (or there is none yet)."""
    is_working: bool = False
    """Tool results have come since the model's last message, and nobody has stopped it."""


@dataclass(frozen=True, slots=True)
class Start:
    """One message that begins a turn."""

    index: int
    """In the request."""
    is_interruption: bool
    """The person had stopped what was going on."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a run of messages did."""

    starts: tuple[Start, ...]
    """At most one between two messages of the model: of several in a row the last counts."""
    standing: Standing


def walk(messages: Iterable[Message], first_index: int, standing: Standing, *, is_first: bool) -> Walk:
    """Walks over messages. `is_first`: the first of them is the first of its conversation, and begins a turn."""
    starts: list[Start] = []
    has_stopped, is_working = standing.has_stopped, standing.is_working
    is_interrupted = False
    since_answer = 0
    for index, message in enumerate(messages, start=first_index):
        if message.role is Role.ASSISTANT:
            has_stopped = not any(isinstance(part, ToolCall) for part in message.parts)
            is_working = is_interrupted = False
            since_answer = len(starts)
            continue
        found = scan(message)
        is_interrupted = is_interrupted or found.is_interrupted
        is_working = (is_working or found.has_results) and not is_interrupted
        is_called = bool(found.texts) or found.is_command
        begins = (
            (is_first and index == first_index)
            or (is_called and (is_interrupted or not is_working))
            or (found.is_notification and has_stopped and not is_working)
        )
        if begins:
            starts = [*starts[:since_answer], Start(index, is_interrupted)]
    return Walk(tuple(starts), Standing(has_stopped, is_working))


def stands_after(has_stopped: bool) -> Standing:
    """The standing right after a message of the model."""
    return Standing(has_stopped=has_stopped, is_working=False)

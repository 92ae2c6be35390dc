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
from spanlore.harness.human import scan


@dataclass(frozen=True, slots=True)
class Start:
    """One message that begins a turn."""

    index: int
    """In the request."""
    is_interruption: bool
    """The person had stopped what was going on."""


def turn_starts(
    messages: Iterable[Message],
    first_index: int,
    *,
    has_stopped: bool = True,
    is_first: bool = False,
    is_stopped: bool = False,
) -> tuple[Start, ...]:
    """The messages that begin turns; between two messages of the model at most one, of several in a row the last.

    Args:
        messages: a run that begins right after a message of the model, or with the conversation's first message.
        first_index: index of the run's first message in the request.
        has_stopped: the model's message before the run asked for no tool.
        is_first: the run begins with the conversation's first message, which always begins a turn.
        is_stopped: the person is known to have stopped the model, though no message says so.
    """
    starts: list[Start] = []
    is_working = False
    is_interrupted = is_stopped
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
    return tuple(starts)

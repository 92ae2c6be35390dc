"""What a model is asked, and what it is shown with it.

Each arm is a conversation of its own in a repository of its own, whose memories decide what the proxy inserts:

| arm | memory | requests |
|---|---|---|
| none | – | the question; then, the command having failed, what works |
| block | the lesson's, without a trigger: in the session block | the same two |
| hint | the lesson's, with its trigger: beside the failing result | the second only, so that no block is due |
| placebo block, placebo hint | another lesson's in the same place | the first; the second |

The client's body of a moment is the same in every arm, to the byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from spanlore.memory.memory import Memory
from spanlore_proxy.uptake.lessons import TOOL, Lesson


class Moment(StrEnum):
    """When the model is asked."""

    TASK = "task"
    """The user has just asked."""
    FAILURE = "failure"
    """The obvious command has failed."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One treatment."""

    name: str
    moments: tuple[Moment, ...]
    is_shown: bool = True
    """Something is inserted."""
    is_placebo: bool = False
    """It is another lesson's memory."""
    is_triggered: bool = False
    """It answers the failure, and so stands beside it."""


BOTH: Final = (Moment.TASK, Moment.FAILURE)
NONE: Final = Arm("none", BOTH, is_shown=False)
BLOCK: Final = Arm("block", BOTH)
HINT: Final = Arm("hint", (Moment.FAILURE,), is_triggered=True)
PLACEBO_BLOCK: Final = Arm("placebo block", (Moment.TASK,), is_placebo=True)
PLACEBO_HINT: Final = Arm("placebo hint", (Moment.FAILURE,), is_placebo=True, is_triggered=True)
ARMS: Final = (NONE, HINT, PLACEBO_HINT, BLOCK, PLACEBO_BLOCK)
"""Those that share a beginning follow each other: a model's server that keeps it need not read it again."""

SYSTEM_PROMPT: Final = (
    "You are a coding agent that works in a repository by shell commands. Answer with one command or path."
)
FOLLOW_UP: Final = "That failed. What works instead?"
CALL_ID: Final = "call_1"
_TOOLS: Final = (
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Run a command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        },
    },
)


def scope_of(lesson: Lesson, arm: Arm) -> str:
    """The repository of that arm's conversation about that lesson."""
    return f"uptake.example/{arm.name.replace(' ', '-')}/{lesson.number}"


def run_id_of(lesson: Lesson, arm: Arm) -> str:
    """The run's name, as the proxy expects it."""
    return f"run-{hashlib.blake2b(scope_of(lesson, arm).encode(), digest_size=6).hexdigest()}"


def placebo_of(lesson: Lesson, lessons: Sequence[Lesson]) -> Lesson:
    """Another lesson, of another failing command: half of the list away, or the next that differs."""
    count = len(lessons)
    for step in range(count):
        other = lessons[(lesson.number + count // 2 + step) % count]
        if other.wrong != lesson.wrong:
            return other
    raise ValueError("a placebo needs two lessons of different commands")


def memory_of(lesson: Lesson, arm: Arm, lessons: Sequence[Lesson], *, is_fix_first: bool = False) -> Memory | None:
    """The one memory of the arm's repository; None for `none`."""
    if not arm.is_shown:
        return None
    told = placebo_of(lesson, lessons) if arm.is_placebo else lesson
    trigger = lesson.trigger() if arm.is_triggered else None
    return told.memory(scope_of(lesson, arm), trigger, is_fix_first=is_fix_first)


def body(lesson: Lesson, moment: Moment, model: str, max_tokens: int) -> bytes:
    """The client's request."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": lesson.task},
    ]
    if moment is Moment.FAILURE:
        arguments = json.dumps({"command": lesson.wrong})
        call = {"id": CALL_ID, "type": "function", "function": {"name": TOOL, "arguments": arguments}}
        result = f"<returncode>{lesson.exit_code}</returncode>\n<output>\n{lesson.output}\n</output>"
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": CALL_ID, "content": result},
            {"role": "user", "content": FOLLOW_UP},
        ]
    document = {"model": model, "messages": messages, "tools": _TOOLS, "max_tokens": max_tokens, "temperature": 0}
    return json.dumps(document).encode()


def said(document: Any) -> str:
    """What the model answered: its text and the arguments of its tool calls.

    Raises:
        ValueError: not a Chat Completions answer.
    """
    try:
        message = document["choices"][0]["message"]
        parts = [message.get("content") or ""]
        parts += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"no Chat Completions answer: {json.dumps(document)[:200]}") from error
    return "\n".join(str(part) for part in parts if part)

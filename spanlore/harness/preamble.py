"""What a client made up in front of the conversation: aider's worked examples and the files it shows (0.86).

aider begins each request with invented talk: examples ("I switched to a new code base" ends them), a map of the
repository, files to read, each with an answer of "Ok". None of it was said by a person or by the model, and the map may
be another in each request. Files in the chat come behind what was really said, so their place moves. Only the real
talk tells one conversation from another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

AIDER: Final = "aider"
SHOWN: Final = (
    "Here are summaries of some files present in my git repo",
    "Here are some READ ONLY files, provided for your reference",
    "These are some files we have been discussing that we may want to edit",
    "I have *added these files to the chat*",
    "I am not sharing any files",
    "I am not sharing the full contents of any files",
    "Don't try and edit any existing code without asking me to add the files to the chat!",
    "Image file: ",
    "PDF file: ",
)
"""How aider begins what it shows of the repository."""
EXAMPLES_END: Final = "I switched to a new code base. Please don't consider the above files"
SUMMARY: Final = "I spoke to you previously about a number of things."
"""How the summary of an earlier part begins, in that part's place."""
REMINDERS: Final = (
    "\n\n# *SEARCH/REPLACE block* Rules:",
    "\n\n# File editing rules:",
    "\n\n# V4A Diff Format Rules:",
    "\n\nTo suggest changes to a file you MUST return the entire content of the updated file.",
)
"""How the rules begin that are glued to the newest prompt, with models that get them there."""
_MOST_EXAMPLES: Final = 32


def preamble(messages: Sequence[Mapping[str, Any]], harness: str) -> int:
    """How many messages at the beginning the client made up, the model's among them."""
    if harness != AIDER:
        return 0
    ends = (i + 2 for i, raw in enumerate(messages[:_MOST_EXAMPLES]) if _text(raw).startswith(EXAMPLES_END))
    at = next(ends, 0)
    while at + 1 < len(messages) and messages[at + 1].get("role") == "assistant" and _shows(messages[at]):
        at += 2
    return min(at, len(messages))


def without_reminder(text: str) -> str:
    """A prompt without the rules that aider glued to it."""
    at = min((found for mark in REMINDERS if (found := text.find(mark)) >= 0), default=len(text))
    return text[:at]


def opening_text(messages: Sequence[Mapping[str, Any]], harness: str) -> str | None:
    """The first thing that was really said, the same in each later request; None where the messages as they are tell
    that."""
    if harness != AIDER:
        return None
    at = preamble(messages, harness)
    return without_reminder(_text(messages[at])) if at < len(messages) else ""


def _shows(raw: Mapping[str, Any]) -> bool:
    return raw.get("role") == "user" and _text(raw).startswith(SHOWN)


def _text(raw: Mapping[str, Any]) -> str:
    content = raw.get("content")
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, dict) else first
    return text if isinstance(text, str) else ""

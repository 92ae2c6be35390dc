"""Whether a request already says what a memory would.

The client's own instructions (CLAUDE.md, AGENTS.md, its native memory, the user's prompt) come first and need no
repetition. Compared are words, with case and white space evened out; nothing here judges meaning.

A memory counts as said when its text, or the user's words it was made of, stand anywhere in the system prompt or in the
messages before the first answer; or when the value it teaches (a command, a path) stands in the *project's* part of
them. The harness's own system prompt is full of example commands, so a value found there says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source

MIN_QUOTE_CHARS: Final = 16
MIN_VALUE_CHARS: Final = 8
"""Shorter values (`make`, `src`) stand in any text by chance."""

_PROJECT_MARK: Final = re.compile(
    r"Contents of \S+|Instructions from: |# claudeMd|# AGENTS\.md|Context from: |# Project Context|MEMORY\.md"
)
"""Where a harness begins to quote the project's files (research: wire §4)."""

_QUOTED: Final = frozenset({Source.CORRECTION, Source.EXPLICIT})
_TAUGHT: Final = frozenset({Kind.USAGE, Kind.ENVIRONMENT, Kind.LOCATION})
"""Kinds whose value is what to do. That of a trap or a dead end is the failure, and a user who pastes a failure does
not thereby say that it keeps coming back."""


class Said:
    """What the client itself says in a request: its system prompt, and its messages before the first answer."""

    def __init__(self, system: Sequence[str], opening: Sequence[str]) -> None:
        project = [text[mark.start() :] for text in system if (mark := _PROJECT_MARK.search(text))]
        self._project = _Text([*project, *opening])
        self._all = _Text([*system, *opening])

    def says(self, memory: Memory) -> bool:
        """Whether the memory would only repeat it."""
        quotes = [memory.text, memory.why if memory.source in _QUOTED else ""]
        if any(len(quote) >= MIN_QUOTE_CHARS and self._all.holds(quote) for quote in quotes):
            return True
        is_taught = memory.kind in _TAUGHT and len(memory.value) >= MIN_VALUE_CHARS
        return is_taught and self._project.holds(memory.value)


class _Text:
    """Text to look phrases up in. Most phrases are not there, and then their longest word mostly tells."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._raw = "\n".join(texts).casefold()
        self._even = ""

    def holds(self, phrase: str) -> bool:
        """Whether the phrase stands there, but for case and white space."""
        words = phrase.casefold().split()
        if not words or max(words, key=len) not in self._raw:
            return False
        self._even = self._even or " ".join(self._raw.split())
        return " ".join(words) in self._even

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

from spanlore.memory.memory import Memory, Source

MIN_QUOTE_CHARS: Final = 16
MIN_VALUE_CHARS: Final = 8
"""Shorter values (`make`, `src`) stand in any text by chance."""

_PROJECT_MARK: Final = re.compile(
    r"Contents of \S+|Instructions from: |# claudeMd|# AGENTS\.md|Context from: |# Project Context|MEMORY\.md"
)
"""Where a harness begins to quote the project's files (research: wire §4)."""

_QUOTED: Final = frozenset({Source.CORRECTION, Source.EXPLICIT})


class Said:
    """What the client itself says in a request: its system prompt, and its messages before the first answer."""

    def __init__(self, system: Sequence[str], opening: Sequence[str]) -> None:
        project = [text[mark.start() :] for text in system if (mark := _PROJECT_MARK.search(text))]
        self._project = _even("\n".join([*project, *opening]))
        self._all = _even("\n".join(system)) + "\n" + self._project

    def says(self, memory: Memory) -> bool:
        """Whether the memory would only repeat it."""
        quotes = [memory.text, memory.why if memory.source in _QUOTED else ""]
        if any(len(quote) >= MIN_QUOTE_CHARS and _even(quote) in self._all for quote in quotes):
            return True
        return len(memory.value) >= MIN_VALUE_CHARS and _even(memory.value) in self._project


def _even(text: str) -> str:
    return " ".join(text.split()).casefold()

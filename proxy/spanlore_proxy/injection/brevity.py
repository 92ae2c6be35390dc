"""A memory's text in fewer words, for where the whole of it does not fit.

Mined texts say what failed, with which line, and what worked (`spanlore_extractor.memories.wording`). Beside the very
failure the line stands a hand's breadth above; in a full block the remedy of one more memory is worth more than the
lines of three. What is never cut is a command: half of one is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Memory, Source

_LINE: Final = re.compile(r" with “[^”]*”")
_FAILED: Final = re.compile(r"^`[^`]+` failed; (?=`[^`]+` worked instead\.)")

type Fit = Callable[[Iterable[Memory]], tuple[list[Memory], list[Memory]]]
"""(those that fit, those that do not), in the order given."""


def without_line(memory: Memory) -> Memory:
    """Without the line with which it failed."""
    return _with(memory, _LINE.sub("", memory.text, count=1))


def remedy(memory: Memory) -> Memory:
    """Only what worked."""
    return _with(memory, _FAILED.sub("", without_line(memory).text, count=1))


def fit_most(
    memories: Iterable[Memory], fit: Fit, *shorter: Callable[[Memory], Memory]
) -> tuple[list[Memory], list[Memory]]:
    """What fits, in the longest of the forms in which most do. No more of the memories are looked at than the whole
    forms need."""
    tried: list[Memory] = []
    best = fit(_noting(memories, tried))
    for shorten in shorter:
        if not best[1]:
            break
        short = [shorten(memory) for memory in tried]
        if any(one is not whole for one, whole in zip(short, tried, strict=True)):
            found = fit(short)
            best = found if len(found[0]) > len(best[0]) else best
    return best


def _noting(memories: Iterable[Memory], tried: list[Memory]) -> Iterator[Memory]:
    for memory in memories:
        tried.append(memory)
        yield memory


def _with(memory: Memory, text: str) -> Memory:
    is_mined = memory.source is Source.FAILURE_DELTA and not memory.is_edited
    return replace(memory, text=text) if is_mined and text != memory.text else memory

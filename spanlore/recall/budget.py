"""How much of what was recalled fits.

A token is counted as four bytes of UTF-8, rounded up: no tokenizer, no download, the same number everywhere. It is an
estimate; budgets are held exactly in this unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

BYTES_PER_TOKEN: Final = 4

MAX_MISSES: Final = 8
"""After so many lines that did not fit, the rest is not tried: it ranks lower, and the request is waiting."""


def count_tokens(text: str) -> int:
    """Estimated tokens of the text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def fit_to_budget[Item](
    lines: Iterable[tuple[Item, str]], budget_tokens: int, frame: str = ""
) -> tuple[list[Item], list[Item]]:
    """(those that fit, those tried that did not), in the order given, best first.

    Greedy: a line that is too long is left out and shorter ones after it may still get in. `frame` is the text around
    the lines; each line costs one byte more for its line break. The lines are consumed only as far as needed.
    """
    left = budget_tokens * BYTES_PER_TOKEN - len(frame.encode("utf-8", "replace"))
    kept: list[Item] = []
    missed: list[Item] = []
    if left <= 0:
        return kept, missed
    for item, line in lines:
        size = len(line.encode("utf-8", "replace")) + 1
        if size <= left:
            kept.append(item)
            left -= size
        else:
            missed.append(item)
            if len(missed) >= MAX_MISSES:
                break
    return kept, missed

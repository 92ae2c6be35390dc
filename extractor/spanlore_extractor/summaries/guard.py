"""Whether a model's words may stand for what they were made of. Pure.

A text that says nothing, says one thing over and over, is longer than what it shortens, refuses, gives orders, lost
what is sacred, or names what nobody named, is worth less than the lines themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from spanlore.memory.shapes import is_refusal, names_in, suspicious
from spanlore.recall.budget import count_tokens
from spanlore.redaction.redact import Redactor

MIN_WORDS: Final = 5
GRAM: Final = 5
MIN_DISTINCT: Final = 0.7
"""Share of runs of five words that stand only once; people's prose and lists of theirs have 0.9 and more."""
MAX_SAME_LINES: Final = 2
_WORD: Final = re.compile(r"\w+")


def fault_of(text: str, source: str, sacred: Sequence[str], limit_tokens: int, redactor: Redactor) -> str:
    """What is wrong with it, '' when nothing is. `source` is what it was made of, `sacred` what must stand in it."""
    flat = _flat(text)
    words = _WORD.findall(flat)
    if len(words) < MIN_WORDS:
        return "it is empty"
    if is_refusal(text) and not is_refusal(source):
        return "a refusal"
    if (tokens := count_tokens(text)) > limit_tokens:
        return f"it is too long: {tokens} tokens, not {limit_tokens}"
    if shape := suspicious(text):
        return f"it has a suspicious shape: {shape}"
    if redactor.redact(text).count:
        return "there is a secret in it"
    lost = [line for line in sacred if _flat(line) not in flat]
    if lost:
        return f"it lost {len(lost)} of {len(sacred)} sacred lines"
    if repeats(text, sacred):
        return "it repeats itself"
    invented = sorted({name for name in names_in(text) if _flat(name) not in _flat(source)})
    return f"it names what nobody named: {', '.join(invented[:3])}" if invented else ""


def repeats(text: str, apart_from: Sequence[str] = ()) -> bool:
    """Whether it says one thing over and over. What has to stand in it does not count."""
    sacred = {_flat(line) for line in apart_from}
    lines = [flat for line in text.splitlines() if (flat := _flat(line).lstrip("-*# ")) and not _holds(flat, sacred)]
    counts = Counter(line for line in lines if len(_WORD.findall(line)) > 2)
    if any(count > MAX_SAME_LINES for count in counts.values()):
        return True
    words = _WORD.findall(" ".join(lines))
    grams = [tuple(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1)]
    return len(grams) >= 4 * GRAM and len(set(grams)) < MIN_DISTINCT * len(grams)


def _holds(line: str, sacred: set[str]) -> bool:
    return any(one in line for one in sacred)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())

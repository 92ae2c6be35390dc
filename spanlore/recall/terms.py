"""The words of a prompt or a memory, as code is written: paths, flags, dotted and camel-cased names, and their parts.

`tests/unit/test_app.py` gives itself and `tests`, `unit`, `test`, `app`, `py`; `--no-cache` itself and `cache`;
`loadSettings` itself, `load` and `settings`. Case is dropped, a plural's s too, and words that stand in any sentence.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_TERM_CHARS: Final = 80
MIN_NAME_CHARS: Final = 4
MAX_KNOWN_WORDS: Final = 1 << 16
"""Whose terms are kept: memories and prompts of a project use the same words again and again."""

_WORD: Final = re.compile(r"-{0,2}[A-Za-z0-9_\u00c0-\uffff](?:[\w./:@+-]*[\w+])?")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u00c0-\uffff]+")
_JOINT: Final = re.compile(r"[./:@_-]")
STOP_WORDS: Final = frozenset(
    word
    for line in (
        "a about after all also an and any are as at be been before but by can could did do does done each else few",
        "for from get give go had has have he help here him how i if in into is it its just let like make may me more",
        "most my need new no not now of on one only or other our out over own please run same see she should so some",
        "such than that the their them then there these they this those to too try up us use used using very want was",
        "way we were what when where which while who why will with work would yes you your add fix file files code",
        "change error fails failed fail form instead session session repository repo it's don't i'm",
    )
    for word in line.split()
)
"""English that tells nothing, and what stands in nearly every memory or task."""


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repeated as often as they stand there."""
    return [term for piece in text.split() for term in _terms_in(piece)]


def distinct_terms(text: str) -> list[str]:
    """The same without repetitions."""
    return list(dict.fromkeys([term for piece in dict.fromkeys(text.split()) for term in _terms_in(piece)]))


def _terms_in(piece: str) -> tuple[str, ...]:
    """Of what stands between white space. Long pieces (JSON, base64) hardly come again, and would be kept whole."""
    return _known_terms(piece) if len(piece) <= MAX_TERM_CHARS else _found_terms(piece)


def _found_terms(piece: str) -> tuple[str, ...]:
    return tuple(term for word in _WORD.findall(piece) for term in _terms_of(word))


_known_terms: Final = lru_cache(MAX_KNOWN_WORDS)(_found_terms)


def _terms_of(word: str) -> tuple[str, ...]:
    whole = word.lower().rstrip("./:@-")
    if not whole or len(whole) > MAX_TERM_CHARS:
        return ()
    parts = _PART.findall(word)
    is_joined = len(parts) > 1 or word.startswith("-")
    return (*((whole,) if is_joined else ()), *_worth(parts))


def is_name(term: str) -> bool:
    """Whether a term is no plain word: a path, a flag, a dotted or joined name."""
    return len(term) >= MIN_NAME_CHARS and _JOINT.search(term) is not None


def _worth(parts: list[str]) -> list[str]:
    found = (_stem(part.lower()) for part in parts)
    return [part for part in found if len(part) > 1 and part not in STOP_WORDS]


def _stem(word: str) -> str:
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
    return word[:-1] if is_plural else word

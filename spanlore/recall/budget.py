"""How much of what was recalled fits.

Tokens are counted from above, without a tokenizer and without a download: a word is a token for each four letters
begun, one that looks like no word two for each three letters, a digit, a punctuation mark and a byte beyond ASCII one
each, and a blob of letters and digits one a byte (no byte-level tokenizer makes more). Four real ones (cl100k, o200k,
Llama 3, Qwen 3) never came to more on any block or hint that was tried; many of them are recorded with the tests. Bytes
divided by four, the usual estimate, are a third too few for such texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

MAX_MISSES: Final = 8
"""After so many lines that did not fit, the rest is not tried: it ranks lower, and the request is waiting."""
LETTERS_PER_TOKEN: Final = 4
MAX_WORD: Final = 15
"""Letters; longer runs are hardly words."""
MEAN_LETTERS: Final = 3
"""Of the words in a long name (`ModuleNotFoundError`); those of a random blob are shorter."""
MAX_KNOWN_TEXTS: Final = 1 << 14

_PIECE: Final = re.compile(
    r"(?P<blob>[A-Za-z0-9+/=_]{16,})|(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<space>[ \t]+)|(?P<other>.)", re.DOTALL
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ODD: Final = re.compile(r"[^aeiouy]{4}|^[^aeiouy]+$|[aeiou]{3}|[jqvxz][^aeiou]|q[^u]", re.IGNORECASE)
"""In words that tokenizers have not seen."""


@lru_cache(MAX_KNOWN_TEXTS)
def count_tokens(text: str) -> int:
    """Tokens of the text, counted from above."""
    if "\t" in text or "  " in text:
        return _counted(text)
    return sum(map(_counted, text.split(" ")))  # no piece reaches over a space, and a single one costs nothing


@lru_cache(MAX_KNOWN_TEXTS)
def _counted(text: str) -> int:
    return sum([_tokens(found[0], found.lastgroup or "") for found in _PIECE.finditer(text)])


def _tokens(piece: str, sort: str) -> int:
    if sort == "word":
        return _of_word(piece)
    if sort == "space":
        return int(len(piece) > 1)
    if sort == "other":
        return len(piece.encode("utf-8", "replace"))
    words = _WORD.findall(piece)
    letters = sum(map(len, words))
    is_name = letters >= MEAN_LETTERS * len(words) and not any(character.isdigit() for character in piece)
    return sum(map(_of_word, words)) + len(piece) - letters if is_name else len(piece)


def _of_word(word: str) -> int:
    size = len(word)
    if size <= MAX_WORD and not _ODD.search(word):
        return -(-size // LETTERS_PER_TOKEN)
    return -(-size * 2 // 3) if size >= 4 else max(size - 1, 1)


def fit_to_budget[Item](
    lines: Iterable[tuple[Item, str]], budget_tokens: int, frame: str = ""
) -> tuple[list[Item], list[Item]]:
    """(those that fit, those tried that did not), in the order given, best first.

    Greedy: a line that is too long is left out and shorter ones after it may still get in. `frame` is the text around
    the lines; each line costs one token more for its line break. The lines are consumed only as far as needed.
    """
    left = budget_tokens - count_tokens(frame)
    kept: list[Item] = []
    missed: list[Item] = []
    if left <= 0:
        return kept, missed
    for item, line in lines:
        size = count_tokens(line) + 1
        if size <= left:
            kept.append(item)
            left -= size
        else:
            missed.append(item)
            if len(missed) >= MAX_MISSES:
                break
    return kept, missed

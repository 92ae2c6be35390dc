"""What a person's rule claims, and whether a text makes the same claim or the opposite one.

A rule is taken apart into clauses; of each the words that carry it, without endings, and whether it is negated:
"Never mock the database in tests" is (mock, database, test), negated. A sentence that holds all of a claim's words (of
four or more all but one) makes it if it is negated just as much, else it makes the opposite one; so "the database must
not be mocked in tests" says the same, and "you may mock the database in tests" contradicts it. A sentence that holds
fewer is about something else: nothing here knows that a pipe is a tube. A claim of one word is none: it stands in any
text by chance; nor is a clause with a command in it, of which the command is what counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spanlore.recall.terms import terms

MIN_WORDS: Final = 2
MAX_MISSED: Final = 1
MANY_WORDS: Final = 4
MAX_PLACES: Final = 64
"""Of a claim's longest word, looked at in one text."""
MAX_SENTENCE_CHARS: Final = 240

NEGATIONS: Final = (
    r"\b(?:never|not|no|cannot|dont|avoid|without|stop|forbidden|prohibited|banned|disallowed|instead of|rather than"
    r"|nie|niemals|nicht|keine?[nmrs]?|statt|verboten|jamais|pas|interdite?s?|nunca|jamás|prohibid[oa]s?)\b"
    r"|n't\b|n’t\b|不要|不得|禁止|别用|ません|ないで"
)
"""Words that turn a clause around, in the languages that instruction files are mostly written in."""
_NEGATED: Final = re.compile(NEGATIONS)
_NO_CLAIM: Final = re.compile(
    r"\bnot (?:only|necessar|need|require)|n't (?:need|have to|forget|hesitate)|\b(?:forget|hesitate)\b|\?\s*\Z"
)
"""Neither orders nor forbids."""
_CLAUSE: Final = re.compile(
    r"[.;:!?()\n。；]|,(?!\w)|\s[–—]\s|\b(?=(?:never|not|instead of|rather than|but|nie|niemals)\s+\w+\s*(?:$|[.,;)]))"
)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|\Z)|\n|[。；;]")
_FILLERS: Final = frozenset({"never", "alway", "everywhere", "every", "ever", "please", "write", "must", "under"})
"""Terms that carry nothing."""
_ENDINGS: Final = ("ations", "ation", "ing", "ed")
MIN_ROOT: Final = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """One clause of a rule."""

    words: tuple[str, ...]
    """Without endings, the longest first."""
    is_negated: bool


@lru_cache(8192)
def claims_of(rule: str) -> tuple[Claim, ...]:
    """What a person's rule claims, clauses of one word left out."""
    return tuple(_claims(rule))


def _claims(rule: str) -> Iterator[Claim]:
    for clause in _CLAUSE.split(rule):
        if not clause or "`" in clause:
            continue
        words = {_root(term) for term in terms(clause) if term not in _FILLERS and not _NEGATED.fullmatch(term)}
        if len(words) >= MIN_WORDS and not _NO_CLAIM.search(clause.casefold()):
            ordered = tuple(sorted(words, key=lambda word: (-len(word), word)))
            yield Claim(ordered, _NEGATED.search(clause.casefold()) is not None)


def stand_of(claim: Claim, text: str) -> bool | None:
    """True: a sentence of the text makes the claim; False: one makes the opposite claim, and none makes it; None: it
    speaks of something else. `text` is in lower case, with its line breaks."""
    missable = MAX_MISSED if len(claim.words) >= MANY_WORDS else 0
    if sum(word not in text for word in claim.words) > missable:
        return None
    found: set[bool] = set()
    for start, end, at in _sentences(text, next(word for word in claim.words if word in text)):
        sentence = text[start:end]
        if sum(not _holds(sentence, word) for word in claim.words) <= missable and not _NO_CLAIM.search(sentence):
            found.add((_NEGATED.search(_clause_at(sentence, at - start)) is not None) is claim.is_negated)
    return None if not found else True in found


def _sentences(text: str, word: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, where the word stands) of the sentences that hold it."""
    at = text.find(word)
    for _ in range(MAX_PLACES):
        if at < 0:
            return
        low = max(at - MAX_SENTENCE_CHARS, 0)
        start = max((found.end() for found in _SENTENCE_END.finditer(text, low, at)), default=low)
        ended = _SENTENCE_END.search(text, at, at + MAX_SENTENCE_CHARS)
        yield start, ended.end() if ended else min(at + MAX_SENTENCE_CHARS, len(text)), at
        at = text.find(word, at + len(word))


def _clause_at(sentence: str, at: int) -> str:
    """The clause around a place."""
    cuts = [0, *(found.start() for found in _CLAUSE.finditer(sentence)), len(sentence)]
    start = max(cut for cut in cuts if cut <= at)
    return sentence[start : min(cut for cut in cuts if cut > at)]


def _holds(sentence: str, word: str) -> bool:
    """Whether a word of the sentence begins so."""
    at = sentence.find(word)
    while at >= 0:
        if not sentence[at - 1 : at].isalnum():
            return True
        at = sentence.find(word, at + 1)
    return False


def _root(term: str) -> str:
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= MIN_ROOT:
            return term.removesuffix(ending)
    return term

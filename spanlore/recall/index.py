"""Which memories a text is about: BM25 over an inverted index of one scope's memories, in plain Python.

Own code, because bm25s (numpy) costs the proxy 0.6 s at its start, some 50 MB and a scan of all memories for each
query, where this touches a bounded number of postings: rare terms first, common ones only for memories that were found
already. Weights are worked out when the index is made.

A search gives scores; whether a hit is *clear* enough to be shown to an agent unasked is another question, and
similarity alone is no answer to it. The text has to name one of

- the memory's subject, as it is written; a single word only where few memories hold it, or most are about it;
- a name (path, flag, dotted word) that few memories hold;
- three rare words of what the memory says in plain language;

and what it names has to be a good part of what the memory says. The words of an error that a memory quotes, and those
of its commands, are no plain language: with `git`, `unable` and `fatal` a paste of any failure would name a memory of
another. What is pasted into the text counts only where it names the memory's subject by a name; the
repository's own name never counts.
"""

from __future__ import annotations

import heapq
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.harness.prose import prose
from spanlore.memory.memory import Memory
from spanlore.recall.terms import distinct_terms, is_name, terms

K1: Final = 1.2
B: Final = 0.75
"""BM25's usual constants: how soon a repeated term stops to count, and how much a long text is discounted."""
PRIOR: Final = 20
"""Memories that a small scope is taken to have more: a term of its only memory is not worthless for that."""
MAX_QUERY_CHARS: Final = 2_000
MAX_QUERY_TERMS: Final = 48
MAX_POSTINGS: Final = 1_000
"""Looked at for one search: a third of a millisecond."""
MAX_REFINED: Final = 16
"""Memories of which the common terms are looked at too."""
RARE_SHARE: Final = 0.05
MIN_RARE: Final = 3
"""A term in so many memories is rare in any scope."""
MIN_COVERAGE: Final = 0.15
MIN_RARE_WORDS: Final = 3
FAIR_COVERAGE: Final = 0.3

_ERROR: Final = re.compile("“[^”]*”")
_CODE: Final = re.compile("`[^`]*`")
_PARTS: Final = "./:@-_"
"""Of a name: with one of them beside it a word is a part of something else."""


@dataclass(frozen=True, slots=True)
class Document:
    """A memory and its terms: counted once, kept over all snapshots that hold the memory."""

    memory: Memory
    counts: Mapping[str, int]
    length: int
    subject: frozenset[str]
    """Terms of its subject."""
    plain: frozenset[str]
    """Terms of its text without commands and quoted errors."""
    quoted: frozenset[str]
    """Terms that only the quoted error holds."""

    @classmethod
    def of(cls, memory: Memory) -> Document:
        said = terms(f"{memory.subject} {memory.value} {memory.text} {memory.trigger.program}")
        text = _ERROR.sub(" ", memory.text)
        own = terms(f"{memory.subject} {memory.value} {text} {memory.trigger.program}")
        plain = frozenset(terms(_CODE.sub(" ", text)))
        subject = frozenset(terms(memory.subject))
        return cls(memory, Counter(said), len(said), subject, plain, frozenset(said) - frozenset(own))


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that shares terms with the query."""

    memory: Memory
    score: float
    """BM25."""
    coverage: float
    """Share of the memory's own terms, weighed by rarity, that the query names: 0 to 1."""
    matched: tuple[str, ...]
    """Those terms, rarest first."""
    is_clear: bool
    """Clear enough to be shown unasked."""


class Index:
    """The memories of one scope. Never changes."""

    def __init__(self, documents: Sequence[Document]) -> None:
        """O(terms)."""
        self._documents = documents
        mean = sum(document.length for document in documents) / len(documents) if documents else 1.0
        holders = Counter(term for document in documents for term in document.counts)
        size = len(documents) + PRIOR
        self._idf = {term: math.log(1 + (size - held + 0.5) / (held + 0.5)) for term, held in holders.items()}
        found: dict[str, list[tuple[int, float]]] = {term: [] for term in holders}
        for number, document in enumerate(documents):
            damping = K1 * (1 - B + B * document.length / max(mean, 1.0))
            for term, count in document.counts.items():
                found[term].append((number, self._idf[term] * count * (K1 + 1) / (count + damping)))
        self._postings = found
        """Term → (number of a document, what the term adds to its score)."""
        self._whole = [sum(map(self._idf.__getitem__, document.counts)) or 1.0 for document in documents]
        """What all terms of a memory weigh."""
        self._subjects = Counter(term for document in documents for term in document.subject)
        """Term → memories whose subject holds it."""
        self._own_name = frozenset(terms(documents[0].memory.scope.rsplit("/", 1)[-1])) if documents else frozenset()
        """Of the repository: in a prompt it tells nothing."""
        self._rare = max(MIN_RARE, RARE_SHARE * len(documents))

    def __len__(self) -> int:
        return len(self._documents)

    def search(self, query: str, limit: int, admits: Callable[[Memory], bool] = lambda _: True) -> list[Hit]:
        """The memories that share most with the query, best first; equal ones in the order of the documents."""
        asked = [term for term in distinct_terms(query[:MAX_QUERY_CHARS]) if term in self._postings]
        asked = sorted(asked, key=lambda term: len(self._postings[term]))[:MAX_QUERY_TERMS]
        scores, left = self._gather(asked)
        if left:
            best = heapq.nlargest(MAX_REFINED, _ranked(scores))
            scores = {-number: score + self._rest(-number, left) for score, number in best}
        found = self._best(scores, limit, admits)
        typed = prose(query[:MAX_QUERY_CHARS]) if found else ""
        own = _Typed(f" {' '.join(typed.lower().split())} ", frozenset(distinct_terms(typed)))
        return [self._hit(-number, score, asked, own) for score, number in found]

    def _best(
        self, scores: Mapping[int, float], limit: int, admits: Callable[[Memory], bool]
    ) -> list[tuple[float, int]]:
        """(score, negated number), best first. Nearly always all are admitted: the best are asked about, and only if
        that leaves too few, the rest."""
        ranked = _ranked(scores)
        best = [item for item in heapq.nlargest(limit, ranked) if admits(self._documents[-item[1]].memory)]
        if len(best) >= min(limit, len(ranked)):
            return best
        return heapq.nlargest(limit, (item for item in ranked if admits(self._documents[-item[1]].memory)))

    def _gather(self, asked: Sequence[str]) -> tuple[dict[int, float], Sequence[str]]:
        """(scores of what the rarest terms lead to, the terms that lead to too many)."""
        scores: dict[int, float] = {}
        seen = 0
        for position, term in enumerate(asked):
            postings = self._postings[term]
            seen += len(postings)
            if seen > MAX_POSTINGS and scores:
                return scores, asked[position:]
            if not scores:
                scores.update(postings[:MAX_POSTINGS])  # in one go: the rarest term is often the longest list
                continue
            for number, weight in postings[:MAX_POSTINGS]:
                scores[number] = scores.get(number, 0.0) + weight
        return scores, ()

    def _rest(self, number: int, left: Iterable[str]) -> float:
        """What common terms add to the score of one memory."""
        counts = self._documents[number].counts
        found = ((self._idf[term], counts.get(term, 0)) for term in left)
        return sum(idf * count * (K1 + 1) / (count + K1) for idf, count in found if count)

    def _hit(self, number: int, score: float, asked: Iterable[str], typed: _Typed) -> Hit:
        document = self._documents[number]
        matched = tuple(term for term in asked if term in document.counts)
        coverage = sum(self._idf[term] for term in matched) / self._whole[number]
        return Hit(document.memory, score, coverage, matched, self._is_clear(document, matched, coverage, typed))

    def _is_clear(self, document: Document, matched: Sequence[str], coverage: float, typed: _Typed) -> bool:
        if coverage < MIN_COVERAGE:
            return False
        rare = [
            term
            for term in matched
            if len(self._postings[term]) <= self._rare and term not in document.quoted and term not in self._own_name
        ]
        if any(is_name(term) and (term in typed.terms or term in document.subject) for term in rare):
            return True
        if self._is_telling(document) and typed.holds(document.memory.subject):
            return True
        plain = [term for term in rare if term in document.plain and term in typed.terms]
        return len(plain) >= MIN_RARE_WORDS and coverage >= FAIR_COVERAGE

    def _is_telling(self, document: Document) -> bool:
        """Whether naming the memory's subject says enough. `claude` alone does not in a repository about it."""
        if len(document.subject) != 1:
            return bool(document.subject)
        [term] = document.subject
        held = len(self._postings[term])
        return held <= self._rare or 2 * self._subjects[term] >= held


@dataclass(frozen=True, slots=True)
class _Typed:
    """What a person wrote, without what they pasted."""

    text: str
    """In lower case, on one line, between spaces."""
    terms: frozenset[str]

    def holds(self, phrase: str) -> bool:
        """Whether it stands there by itself, not as a part of a longer name."""
        wanted = " ".join(phrase.lower().split())
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            before, after = self.text[at - 1], self.text[at + len(wanted) : at + len(wanted) + 2]
            is_ended = not (after[:1].isalnum() or (after[:1] in _PARTS and after[1:].isalnum()))
            if is_ended and not before.isalnum() and before not in _PARTS:
                return True
            at = self.text.find(wanted, at + 1)
        return False


def _ranked(scores: Mapping[int, float]) -> list[tuple[float, int]]:
    """(score, negated number): greater is better, and of equals the one that comes first."""
    return list(zip(scores.values(), map(operator.neg, scores), strict=True))

"""Which memories a text is about: BM25 over an inverted index of one scope's memories, in plain Python.

Own code, because bm25s (numpy) costs the proxy 0.6 s at its start, some 50 MB and a scan of all memories for each
query, where this touches a bounded number of postings: rare terms first, common ones only for memories that were found
already. Weights are worked out when the index is made.

A search gives scores; whether a hit is *clear* enough to be shown to an agent unasked is another question, and
similarity alone is no answer to it: the text has to name the memory's subject, or a name (path, flag, dotted word) that
few memories hold, or three rare words, and those have to be a good part of what the memory says.
"""

from __future__ import annotations

import heapq
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Document:
    """A memory and its terms: counted once, kept over all snapshots that hold the memory."""

    memory: Memory
    counts: Mapping[str, int]
    length: int
    subject: frozenset[str]
    """Terms of its subject."""

    @classmethod
    def of(cls, memory: Memory) -> Document:
        said = terms(f"{memory.subject} {memory.value} {memory.text} {memory.trigger.program}")
        return cls(memory, Counter(said), len(said), frozenset(terms(memory.subject)))


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
        return [self._hit(-number, score, asked) for score, number in found]

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

    def _hit(self, number: int, score: float, asked: Iterable[str]) -> Hit:
        document = self._documents[number]
        matched = tuple(term for term in asked if term in document.counts)
        coverage = sum(self._idf[term] for term in matched) / self._whole[number]
        return Hit(document.memory, score, coverage, matched, self._is_clear(document, matched, coverage))

    def _is_clear(self, document: Document, matched: Sequence[str], coverage: float) -> bool:
        if coverage < MIN_COVERAGE:
            return False
        rare = [term for term in matched if len(self._postings[term]) <= self._rare]
        names_subject = bool(document.subject) and document.subject.issubset(matched)
        if names_subject or any(is_name(term) for term in rare):
            return True
        return len(rare) >= MIN_RARE_WORDS and coverage >= FAIR_COVERAGE


def _ranked(scores: Mapping[int, float]) -> list[tuple[float, int]]:
    """(score, negated number): greater is better, and of equals the one that comes first."""
    return list(zip(scores.values(), map(operator.neg, scores), strict=True))

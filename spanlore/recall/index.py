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
GAIN: Final = K1 + 1
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
    phrase: str
    """Its subject in lower case, on one line."""

    @classmethod
    def of(cls, memory: Memory) -> Document:
        said = terms(f"{memory.subject} {memory.value} {memory.text} {memory.trigger.program}")
        text = _ERROR.sub(" ", memory.text)
        own = terms(f"{memory.subject} {memory.value} {text} {memory.trigger.program}")
        plain = frozenset(terms(_CODE.sub(" ", text)))
        subject = frozenset(terms(memory.subject))
        quoted = frozenset(said) - frozenset(own)
        return cls(memory, Counter(said), len(said), subject, plain, quoted, " ".join(memory.subject.lower().split()))


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
        self._held = Counter(term for document in documents for term in document.counts)
        """Term → memories that hold it."""
        size = len(documents) + PRIOR
        self._idf = {term: math.log(1 + (size - held + 0.5) / (held + 0.5)) for term, held in self._held.items()}
        self._postings = self._weighed(max(mean, 1.0))
        self._foremost = {
            term: _best_of(self._postings[term], MAX_REFINED)
            for term, held in self._held.items()
            if 2 * held > MAX_POSTINGS
        }
        """Term → (score, negated number) of its best, best first, of terms held by so many that one more such term
        would lead to too many."""
        self._whole = [sum(map(self._idf.__getitem__, document.counts)) or 1.0 for document in documents]
        """What all terms of a memory weigh."""
        self._subjects = Counter(term for document in documents for term in document.subject)
        """Term → memories whose subject holds it."""
        self._own_name = frozenset(terms(documents[0].memory.scope.rsplit("/", 1)[-1])) if documents else frozenset()
        """Of the repository: in a prompt it tells nothing."""
        self._rare = max(MIN_RARE, RARE_SHARE * len(documents))

    def _weighed(self, mean: float) -> dict[str, dict[int, float]]:
        """Term → number of a document → what the term adds to its score; of each term the first `MAX_POSTINGS`."""
        found: dict[str, dict[int, float]] = {term: {} for term in self._held}
        same: dict[float, float] = {}  # equal weights are one object: a search touches a thousand of them
        for number, document in enumerate(self._documents):
            damping = K1 * (1 - B + B * document.length / mean)
            for term, count in document.counts.items():
                postings = found[term]
                if len(postings) < MAX_POSTINGS:
                    weight = self._idf[term] * count * GAIN / (count + damping)
                    postings[number] = same.setdefault(weight, weight)
        return found

    def __len__(self) -> int:
        return len(self._documents)

    def search(self, query: str, limit: int, admits: Callable[[Memory], bool] = lambda _: True) -> list[Hit]:
        """The memories that share most with the query, best first; equal ones in the order of the documents."""
        text = query[:MAX_QUERY_CHARS]
        named = distinct_terms(text)
        asked = sorted(filter(self._held.__contains__, named), key=self._held.__getitem__)[:MAX_QUERY_TERMS]
        found = self._best(self._scored(asked), limit, admits)
        if not found:
            return []
        rare = frozenset(term for term in asked if self._held[term] <= self._rare and term not in self._own_name)
        typed = _Typed.of(text, named, rare)
        return [self._hit(-number, score, asked, typed) for score, number in found]

    def _best(
        self, scores: Mapping[int, float], limit: int, admits: Callable[[Memory], bool]
    ) -> list[tuple[float, int]]:
        """(score, negated number), best first. Nearly always all are admitted: the best are asked about, and only if
        that leaves too few, the rest."""
        best = [item for item in _best_of(scores, limit) if admits(self._documents[-item[1]].memory)]
        if len(best) >= min(limit, len(scores)):
            return best
        return _best_of({n: score for n, score in scores.items() if admits(self._documents[n].memory)}, limit)

    def _scored(self, asked: Sequence[str]) -> Mapping[int, float]:
        """Number of a document → its score: of those that the rarest terms lead to; where further terms lead to too
        many, of the best of them."""
        if not asked:
            return {}
        if len(asked) > 1 and asked[0] in self._foremost:
            return self._refined(self._foremost[asked[0]], asked[1:])
        scores = self._postings[asked[0]].copy()
        seen = self._held[asked[0]]
        known = scores.get
        for position, term in enumerate(asked[1:], 1):
            seen += self._held[term]
            if seen > MAX_POSTINGS:
                return self._refined(_best_of(scores, MAX_REFINED), asked[position:])
            for number, weight in self._postings[term].items():
                scores[number] = known(number, 0.0) + weight
        return scores

    def _refined(self, best: Iterable[tuple[float, int]], left: Sequence[str]) -> dict[int, float]:
        """The scores with what common terms add."""
        return {-number: score + self._rest(self._documents[-number].counts, left) for score, number in best}

    def _rest(self, counts: Mapping[str, int], left: Iterable[str]) -> float:
        """What common terms add to the score of one memory."""
        idf = self._idf
        return sum(
            [idf[term] * counts[term] * GAIN / (counts[term] + K1) for term in filter(counts.__contains__, left)]
        )

    def _hit(self, number: int, score: float, asked: Iterable[str], typed: _Typed) -> Hit:
        document = self._documents[number]
        matched = tuple(filter(document.counts.__contains__, asked))
        coverage = sum(map(self._idf.__getitem__, matched)) / self._whole[number]
        return Hit(document.memory, score, coverage, matched, self._is_clear(document, matched, coverage, typed))

    def _is_clear(self, document: Document, matched: Sequence[str], coverage: float, typed: _Typed) -> bool:
        if coverage < MIN_COVERAGE:
            return False
        rare = [term for term in matched if term in typed.rare and term not in document.quoted] if typed.rare else []
        if rare and any(is_name(term) and (term in typed.terms or term in document.subject) for term in rare):
            return True
        if self._is_telling(document) and typed.holds(document.phrase):
            return True
        if coverage < FAIR_COVERAGE:
            return False
        return sum(term in document.plain and term in typed.terms for term in rare) >= MIN_RARE_WORDS

    def _is_telling(self, document: Document) -> bool:
        """Whether naming the memory's subject says enough. `claude` alone does not in a repository about it."""
        if len(document.subject) != 1:
            return bool(document.subject)
        [term] = document.subject
        held = self._held[term]
        return held <= self._rare or 2 * self._subjects[term] >= held


@dataclass(frozen=True, slots=True)
class _Typed:
    """What a person wrote, without what they pasted."""

    text: str
    """In lower case, on one line, between spaces."""
    rare: frozenset[str]
    """Terms of the query that few memories hold, and that tell something."""
    terms: frozenset[str]
    """Those of them that the person wrote."""

    @classmethod
    def of(cls, query: str, named: Iterable[str], rare: frozenset[str]) -> _Typed:
        """`named`: the terms of the query."""
        typed = prose(query)
        text = f" {' '.join(typed.lower().split())} "
        if rare and typed.split() != query.split():
            named = distinct_terms(typed)
        return cls(text, rare, rare.intersection(named))

    def holds(self, phrase: str) -> bool:
        """Whether a phrase, in lower case and on one line, stands there by itself, not as a part of a longer name."""
        at = self.text.find(phrase) if phrase else -1
        while at >= 0:
            before, after = self.text[at - 1], self.text[at + len(phrase) : at + len(phrase) + 2]
            is_ended = not (after[:1].isalnum() or (after[:1] in _PARTS and after[1:].isalnum()))
            if is_ended and not before.isalnum() and before not in _PARTS:
                return True
            at = self.text.find(phrase, at + 1)
        return False


def _best_of(scores: Mapping[int, float], limit: int) -> list[tuple[float, int]]:
    """(score, negated number) of so many, best first: greater is better, and of equals the one that comes first."""
    if len(scores) <= limit or limit <= 0:
        ranked = [(score, -number) for number, score in scores.items()]
        return sorted(ranked, reverse=True)[:limit]
    # In two steps, since a pair made for each of a thousand memories costs more than to look at the numbers twice.
    least = heapq.nlargest(limit, scores.values())[-1]
    above = [(score, -number) for number, score in scores.items() if score > least]
    level = heapq.nsmallest(limit - len(above), [number for number, score in scores.items() if score == least])
    return [*sorted(above, reverse=True), *((least, -number) for number in level)]

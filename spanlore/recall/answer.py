"""A question to memory, and every step of the answer: what was looked at, how it scored, what was cut and why.

What an agent would be shown behind a prompt of these words is what is left without a cut; a person may look at the
rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from spanlore.memory.memory import Memory
from spanlore.recall.budget import count_tokens
from spanlore.recall.snapshot import Snapshot

FRAME_TOKENS: Final = 30
"""Of the words around a hint's lines."""
LINE_TOKENS: Final = 35
"""Of a line beside the memory's text: its id and where it comes from."""


@dataclass(frozen=True, slots=True)
class Question:
    """Who asks what, and where."""

    query: str
    scope: str
    harness: str = ""
    """'' for a person: what is bound to one harness is left out then."""
    sub_path: str = ""
    limit: int = 8
    budget_tokens: int = 250


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that shares words with the question."""

    memory: Memory
    score: float
    coverage: float
    matched: tuple[str, ...]
    tokens: int
    """Estimated, of its line."""
    cut: str
    """Why an agent would not be shown it: unclear (too little in common), same_slot (a better one speaks of the same),
    budget, limit; '' when it would be."""


def answer(snapshot: Snapshot, question: Question) -> list[Candidate]:
    """The candidates, best first; at most four times the limit."""
    hits = snapshot.search(question.scope, question.harness, question.query, question.limit * 4, question.sub_path)
    left, shown = question.budget_tokens - FRAME_TOKENS, 0
    slots: set[tuple[str, str, str]] = set()
    out: list[Candidate] = []
    for hit in hits:
        memory = hit.memory
        tokens = count_tokens(memory.text) + LINE_TOKENS
        slot = (memory.kind.value, memory.subject, memory.slot)
        cut = ""
        if not hit.is_clear:
            cut = "unclear"
        elif memory.slot and slot in slots:
            cut = "same_slot"
        elif shown >= question.limit:
            cut = "limit"
        elif tokens > left:
            cut = "budget"
        else:
            left, shown = left - tokens, shown + 1
            slots.add(slot)
        out.append(Candidate(memory, hit.score, hit.coverage, hit.matched, tokens, cut))
    return out


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    """JSON object: what the memory says, its score and coverage (0 to 1), the matched terms, and the cut."""
    memory = candidate.memory
    return {
        "id": memory.id,
        "text": memory.text,
        "kind": memory.kind.value,
        "source": memory.source.value,
        "status": memory.status.value,
        "scope": memory.scope,
        "branch": memory.branch,
        "confidence": round(memory.confidence, 4),
        "measured_effect": memory.measured_effect,
        "session_count": memory.session_count,
        "updated_at_ns": memory.updated_at_ns,
        "score": round(candidate.score, 4),
        "coverage": round(candidate.coverage, 4),
        "matched": list(candidate.matched),
        "tokens": candidate.tokens,
        "cut": candidate.cut,
    }

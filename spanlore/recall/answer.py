"""A question to memory, and every step of the answer: what was looked at, how it scored, what was cut and why.

What an agent would be shown behind a prompt of these words is what is left without a cut; a person may look at the
rest. Words are looked for always (`Backend.KEYWORD`); where vectors are at hand, what is near in meaning is found too,
and the two orders are fused. Nearness alone never makes a memory clear enough to be shown unasked.

Where the question names a command, its words are what that command printed as it failed, and the answer is what would
stand beside the failure (`fit`), by neither words nor meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from spanlore.memory.memory import Memory
from spanlore.recall.budget import count_tokens
from spanlore.recall.fit import Failed, weigh
from spanlore.recall.fusion import fuse
from spanlore.recall.index import Hit
from spanlore.recall.snapshot import Snapshot
from spanlore.signature.failure import failure_signature

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
    kind: str = ""
    """Only memories of this kind."""
    path: str = ""
    """Only those that name this file, or something in this directory."""
    branch: str = ""
    """Only those learned on this branch, or on none in particular."""
    command: str = ""
    """What failed: a shell command, or another tool's name and path; the query is what it printed."""
    exit_code: int | None = None
    """Of the command, where it is known."""

    def wants(self, memory: Memory) -> bool:
        """Whether the memory is one of those asked for. (Where it may be shown at all, the snapshot knows.)"""
        is_of_kind = not self.kind or memory.kind.value == self.kind
        is_of_branch = not self.branch or memory.branch in ("", self.branch)
        return is_of_kind and is_of_branch and (not self.path or _names(memory, self.path))


class Meaning(Protocol):
    """What finds memories by meaning (`spanlore.recall.meaning`)."""

    def nearest(self, query: str, limit: int, admits: Callable[[Memory], bool]) -> list[tuple[Memory, float]]:
        """(memory, similarity), nearest first."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that shares words with the question, or is near it in meaning."""

    memory: Memory
    score: float
    coverage: float
    matched: tuple[str, ...]
    tokens: int
    """Estimated, of its line."""
    cut: str
    """Why an agent would not be shown it: unclear (too little in common), same_slot (a better one speaks of the same),
    budget, limit; of a failure what `fit.Weighed` has; '' when it would be."""
    keyword_rank: int = 0
    """Its place by words, from 1; 0 when it shares none."""
    meaning_rank: int = 0
    """Its place by meaning, from 1; 0 when it is not near, or nobody looked."""
    similarity: float = 0.0
    """Cosine of its vector and the question's."""
    tier: str = ""
    """Of a failure: by its signature, or by program_and_class."""


def answer(snapshot: Snapshot, question: Question, meaning: Meaning | None = None) -> list[Candidate]:
    """The candidates, best first; at most four times the limit from words, and as many from `meaning`."""
    if question.command:
        return _beside(snapshot, question)
    most = question.limit * 4
    hits = snapshot.search(question.scope, question.harness, question.query, most, question.sub_path, question.wants)
    admits = snapshot.admission(question.scope, question.harness, question.sub_path, question.wants)
    near = meaning.nearest(question.query, most, admits) if meaning is not None else []
    by_word = {hit.memory.id: number for number, hit in enumerate(hits, 1)}
    by_meaning = {memory.id: (number, similarity) for number, (memory, similarity) in enumerate(near, 1)}
    if near:
        hits = _fused(hits, [memory for memory, _ in near])
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
        rank, similarity = by_meaning.get(memory.id, (0, 0.0))
        out.append(
            Candidate(
                memory, hit.score, hit.coverage, hit.matched, tokens, cut, by_word.get(memory.id, 0), rank, similarity
            )
        )
    return out


def _beside(snapshot: Snapshot, question: Question) -> list[Candidate]:
    """What is known of a failure, most exact first."""
    failure = failure_signature("", question.command, question.query, question.exit_code)
    found = snapshot.answering(question.scope, question.harness, failure.hash, failure.program, failure.error_class)
    words = question.command.split()
    # `Read src/a.go`: the path alone, as the proxy sees it. Of a shell's command the program is known anyway.
    command = words[1] if len(words) == 2 else question.command
    weighed = weigh(found, Failed(failure.program, command, failure.error_line))
    wanted = (one for one in weighed if question.wants(one.match.memory))
    return [
        Candidate(
            one.match.memory,
            0.0,
            0.0,
            (),
            count_tokens(one.match.memory.text) + LINE_TOKENS,
            one.cut,
            tier=one.match.tier.name.lower(),
        )
        for one in wanted
    ][: question.limit * 4]


def _fused(hits: list[Hit], near: list[Memory]) -> list[Hit]:
    found = {memory.id: Hit(memory, 0.0, 0.0, (), is_clear=False) for memory in near}
    found.update((hit.memory.id, hit) for hit in hits)
    order = fuse([hit.memory.id for hit in hits], [memory.id for memory in near])
    return [found[name] for name in order]


def _names(memory: Memory, path: str) -> bool:
    """Whether it is about that file, or about something in that directory."""
    wanted = path.strip("/").removeprefix("./")
    named = [anchor.file or anchor.name for anchor in memory.anchors]
    named += [memory.subject, memory.value, memory.sub_path]
    is_below = any(name == wanted or name.startswith(f"{wanted}/") for name in named if name)
    return is_below or f"`{wanted}`" in memory.text or f"`{wanted}/" in memory.text


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
        "keyword_rank": candidate.keyword_rank,
        "meaning_rank": candidate.meaning_rank,
        "similarity": round(candidate.similarity, 4),
        "tier": candidate.tier,
    }

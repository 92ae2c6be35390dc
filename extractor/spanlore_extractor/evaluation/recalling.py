"""Questions in other words than the memories', and whether recall finds the memory that answers.

36 memories as spanlore words them and 46 questions, written by hand (`recall_questions.json`): 36 paraphrases, ten that
use the memories' own words, and six that nothing answers. The same again among made-up memories of the same
repository, 1,000 and 10,000 in all. Milliseconds are of the search alone, the vectors having been made.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from spanlore.embedding.static import EmbeddingsMissingError, load_embed
from spanlore.memory.memory import Kind, Memory, Source, Status, memory_id
from spanlore.recall.answer import Meaning, Question, answer
from spanlore.recall.snapshot import Snapshot

SCOPE: Final = "recall.example/hand/written"
SIZES: Final = (0, 1_000, 10_000)
LIMIT: Final = 8
PARAPHRASES: Final = 36
"""The first so many questions."""
_AREAS: Final = ("billing", "cart", "search", "auth", "ledger", "stock", "mail", "export", "report", "gateway")
_PROGRAMS: Final = ("pytest", "npm", "cargo", "go", "make", "docker", "kubectl", "alembic", "ruff", "terraform")
_FAILURES: Final = ("ImportError", "ENOENT", "timeout", "permission denied", "connection refused")


@dataclass(frozen=True, slots=True)
class Labelled:
    """The memories, and the questions with the ids that answer them."""

    memories: tuple[Memory, ...]
    questions: tuple[tuple[str, frozenset[str]], ...]
    unanswered: tuple[str, ...]


def load() -> Labelled:
    """What was written by hand."""
    document = json.loads(files(__package__).joinpath("recall_questions.json").read_text())
    memories = {name: _memory(kind, subject, text) for name, kind, subject, text in document["memories"]}
    questions = tuple((text, frozenset(memories[name].id for name in right)) for text, right in document["questions"])
    return Labelled(tuple(memories.values()), questions, tuple(document["unanswered"]))


def made_up(count: int) -> list[Memory]:
    """So many other memories of the repository, the same for the same count."""
    chance = random.Random(3)
    out = []
    for number in range(count):
        program, area = chance.choice(_PROGRAMS), chance.choice(_AREAS)
        wrong, right = f"{program} services/{area}/part_{number}", f"make {area}-{number}"
        text = f"`{wrong}` failed with “{chance.choice(_FAILURES)}”; `{right}` worked instead."
        out.append(_memory("usage", wrong, text))
    return out


def evaluate() -> dict[str, Any]:
    """The command's one object; rows of hybrid only where the extra is installed."""
    labelled = load()
    rows = []
    note = ""
    for size in SIZES:
        others = made_up(size - len(labelled.memories)) if size else []
        snapshot = Snapshot.of([*labelled.memories, *others])
        rows.append(measured("keyword", snapshot, labelled, None))
        try:
            meaning, made_ms = _vectors(snapshot)
        except EmbeddingsMissingError as error:
            note = str(error)
            continue
        rows.append({**measured("hybrid", snapshot, labelled, meaning), "vectors_made_ms": made_ms})
    return {"bench": "eval recall", "rows": rows, "note": note, "budgets": {}, "within_budget": True}


def measured(backend: str, snapshot: Snapshot, labelled: Labelled, meaning: Meaning | None) -> dict[str, Any]:
    """One row: shares of the questions, mean reciprocal rank, and milliseconds of a search."""
    ranks: list[int] = []
    times_ms: list[float] = []
    for text, right in labelled.questions:
        started_ns = time.perf_counter_ns()
        found = answer(snapshot, Question(text, SCOPE, limit=LIMIT), meaning)
        times_ms.append((time.perf_counter_ns() - started_ns) / 1e6)
        ranks.append(next((n for n, candidate in enumerate(found, 1) if candidate.memory.id in right), 0))
    answered = [answer(snapshot, Question(text, SCOPE, limit=LIMIT), meaning) for text in labelled.unanswered]
    times_ms.sort()
    return {
        "what": f"{backend}, {len(snapshot.memories)} memories",
        "backend": backend,
        "memories": len(snapshot.memories),
        "questions": len(ranks),
        **scores(ranks),
        "paraphrases_hit_at_5": scores(ranks[:PARAPHRASES])["hit_at_5"],
        "unanswered_with_results": sum(map(bool, answered)),
        "shown_unasked": sum(not candidate.cut for found in answered for candidate in found),
        "p50_ms": round(times_ms[len(times_ms) // 2], 3),
        "p99_ms": round(times_ms[int(len(times_ms) * 0.99)], 3),
    }


def scores(ranks: Sequence[int]) -> dict[str, float]:
    """Of the right memory's ranks, 0 where it was not found."""
    count = len(ranks) or 1
    return {
        "hit_at_1": round(sum(rank == 1 for rank in ranks) / count, 4),
        "hit_at_5": round(sum(0 < rank <= 5 for rank in ranks) / count, 4),
        "mrr": round(sum(1 / rank for rank in ranks if rank) / count, 4),
    }


def table(result: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{'':26}{'hit@1':>7}{'hit@5':>7}{'MRR':>7}{'paraphr.':>10}{'none':>6}{'p50 ms':>8}{'p99 ms':>8}"]
    lines += [
        f"{row['what']:26}{row['hit_at_1']:>7.2f}{row['hit_at_5']:>7.2f}{row['mrr']:>7.2f}"
        f"{row['paraphrases_hit_at_5']:>10.2f}{row['unanswered_with_results']:>6}"
        f"{row['p50_ms']:>8.2f}{row['p99_ms']:>8.2f}"
        for row in result["rows"]
    ]
    lines.append("paraphr.: hit@5 of the 36 paraphrases; none: of 6 questions that nothing")
    lines.append("answers, how many got candidates (a person sees them, an agent does not)")
    return "\n".join([*lines, *([result["note"]] if result["note"] else [])])


def _vectors(snapshot: Snapshot) -> tuple[Meaning, float]:
    from spanlore.recall.meaning import Meanings

    embed = load_embed()
    started_ns = time.perf_counter_ns()
    return Meanings.of(snapshot.memories, embed), round((time.perf_counter_ns() - started_ns) / 1e6, 1)


def _memory(kind: str, subject: str, text: str) -> Memory:
    return Memory(
        id=memory_id(SCOPE, Kind(kind), subject, "written", text),
        kind=Kind(kind),
        source=Source.FAILURE_DELTA,
        status=Status.ACTIVE,
        scope=SCOPE,
        text=text,
        subject=subject,
        session_count=2,
        alpha=3.0,
    )

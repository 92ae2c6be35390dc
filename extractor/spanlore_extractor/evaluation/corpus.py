"""What a folder of session files teaches as a whole: mined, gated and consolidated as by the daemon, with no store.

Meant for reading: everything that would be kept, shown ones first, so that a person can say what of it is junk.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spanlore.memory.memory import Evidence, EvidenceRole, Memory, Status
from spanlore.redaction.redact import Redactor
from spanlore.spans.place import Outcome
from spanlore.transcripts.reading import UnknownFormatError
from spanlore_extractor.evaluation.transcripts import read_session
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.lessons import QUOTE_CHARS
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.mining.session import MinedSession, ToolStep

WINDOW_NS: Final = 600 * 10**9
_ORDER: Final = (Status.ACTIVE, Status.TRIAL, Status.QUARANTINED, Status.CANDIDATE)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a folder gave."""

    sessions: int
    skipped: int
    """Files that are no session of a known agent."""
    candidates: int
    memories: tuple[Memory, ...]
    """Those that are shown first."""
    left: tuple[tuple[str, str, int], ...] = ()
    """(kind, reason, how many) of the candidates that became no memory of their own, the most frequent first."""


def memories_of(folder: Path, redactor: Redactor) -> Corpus:
    """Mines all session files below `folder/sessions/<agent>/<repository>/`.

    Raises:
        OSError: one can't be read.
    """
    return consolidated(*sessions_in(folder), redactor)


def sessions_in(folder: Path) -> tuple[list[MinedSession], int]:
    """(sessions below `folder/sessions/<agent>/<repository>/`, files that are none).

    Raises:
        OSError: one can't be read.
    """
    sessions: list[MinedSession] = []
    skipped = 0
    for file in sorted(path for path in (folder / "sessions").glob("*/*/*") if path.is_file()):
        try:
            sessions.append(read_session(folder, str(file.relative_to(folder))))
        except UnknownFormatError:
            skipped += 1
    return sessions, skipped


def candidates_of(session: MinedSession) -> Sequence[Candidate]:
    """What one session may teach."""
    return mine_session(session, WINDOW_NS).candidates


def consolidated(
    sessions: Sequence[MinedSession],
    skipped: int,
    redactor: Redactor,
    mined: Callable[[MinedSession], Sequence[Candidate]] = candidates_of,
) -> Corpus:
    """What the sessions teach together; `mined` gives what each may teach. Pure."""
    candidates = [candidate for session in sessions for candidate in mined(session)]
    now_ns = max((candidate.time_ns for candidate in candidates), default=0)
    outcome = consolidate(candidates, (), _recurrences(sessions), redactor, now_ns)
    memories = {operation.memory.id: operation.memory for operation in outcome.operations}
    ordered = sorted(memories.values(), key=_key)
    left = Counter((item.candidate.kind.value, item.reason) for item in outcome.refused)
    told = sorted(((kind, reason, count) for (kind, reason), count in left.items()), key=lambda one: (-one[2], one[:2]))
    return Corpus(len(sessions), skipped, len(candidates), tuple(ordered), tuple(told))


def rows_of(corpus: Corpus) -> list[dict[str, Any]]:
    """One flat row for each memory."""
    return [
        {
            "status": memory.status.value,
            "kind": memory.kind.value,
            "source": memory.source.value,
            "sessions": memory.session_count,
            "scope": memory.scope,
            "text": memory.text,
            "note": memory.note,
        }
        for memory in corpus.memories
    ]


def _key(memory: Memory) -> tuple[int, int, str, str]:
    rank = _ORDER.index(memory.status) if memory.status in _ORDER else len(_ORDER)
    return rank, -memory.session_count, memory.kind.value, memory.text


def _recurrences(sessions: Iterable[MinedSession]) -> Mapping[tuple[str, str], Sequence[Evidence]]:
    """(repository, failure signature) → the first such failure of each session."""
    found: dict[tuple[str, str], dict[str, Evidence]] = defaultdict(dict)
    for session in sessions:
        for conversation in session.conversations:
            for step in conversation.steps:
                if isinstance(step, ToolStep) and step.outcome is Outcome.FAILURE and step.signature:
                    quote = f"{step.command}\n{step.error_line}"[:QUOTE_CHARS]
                    evidence = Evidence(
                        step.trace_id, step.span_id, session.session_id, EvidenceRole.FAILURE, step.end_time_ns, quote
                    )
                    found[session.repository, step.signature].setdefault(session.session_id, evidence)
    return {key: tuple(by_session.values()) for key, by_session in found.items()}

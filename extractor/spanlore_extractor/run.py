"""One mining run: which sessions are due, what they teach, and the operations that follow.

What has been seen is kept in the collector's mining state: a watermark over the time rows were written, and the
sessions that were still going on then. A session is due when it is over (`mining.idle_s` without a span) and has rows
that no run has mined; it is mined whole each time, since mining is idempotent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from spanlore.memory.memory import Kind, Memory
from spanlore.memory.operations import Operation
from spanlore.redaction.redact import Redactor
from spanlore_collector.store.api_client import MemoryClient
from spanlore_extractor.memories.consolidate import Refused, consolidate
from spanlore_extractor.mining.candidate import Candidate, Dropped
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.reading import Rows, changed_sessions, read_sessions, recurrences, session_states

STATE_KEY: Final = "sessions"
BATCH_SPANS: Final = 20_000
"""A batch of sessions is read at once up to this many spans."""
OVERLAP_MS: Final = 10_000
"""Rows are looked for again this far back: a batch is stamped before it is committed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What earlier runs have seen."""

    watermark_ms: int = 0
    waiting: tuple[str, ...] = ()
    """Sessions that were not over yet."""
    mined: tuple[tuple[str, int], ...] = ()
    """(session, ms its newest row was written) of those mined within the overlap, so that they are not mined again."""

    def to_json(self) -> str:
        """For the collector's mining state."""
        return json.dumps({"watermark_ms": self.watermark_ms, "waiting": self.waiting, "mined": self.mined})

    @classmethod
    def from_json(cls, text: str | None) -> Progress:
        """The inverse; what can't be read starts from the beginning, which is slow and right."""
        try:
            data = json.loads(text or "{}")
            return cls(
                int(data.get("watermark_ms", 0)),
                tuple(str(item) for item in data.get("waiting", ())),
                tuple((str(name), int(stamp)) for name, stamp in data.get("mined", ())),
            )
        except (ValueError, TypeError, AttributeError):
            return cls()


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did."""

    sessions: int = 0
    spans: int = 0
    waiting: int = 0
    """Sessions not over yet."""
    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    operations: tuple[Operation, ...] = ()
    refused: tuple[Refused, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run goes by."""

    idle_ns: int
    window_ns: int
    redactor: Redactor


def mine(
    reader: Rows,
    client: MemoryClient,
    rules: Rules,
    now_ns: int,
    *,
    everything: bool = False,
    active_too: bool = False,
    dry_run: bool = False,
) -> Report:
    """Mines what is due: `everything` all sessions again, `active_too` also those not over. `dry_run` changes nothing.

    Raises:
        StoreUnavailableError: the daemon is down.
        VersionConflictError: a memory was changed by someone else in between; the next run does it.
    """
    before = Progress() if everything else Progress.from_json(client.mining_state(STATE_KEY))
    due, after = _due(reader, before, rules.idle_ns, now_ns, active_too)
    known = client.memories() if due else []
    report = Report(waiting=len(after.waiting))
    for batch in _batches(due):
        report = _add(report, _mine_batch(reader, rules, now_ns, batch, known), sum(spans for _, spans in batch))
        known = _apply(known, report.operations)
    if not dry_run:
        if report.operations:
            client.apply(report.operations)
        if after != before:
            client.set_mining_state(STATE_KEY, after.to_json())
    return report


def _due(
    reader: Rows, before: Progress, idle_ns: int, now_ns: int, active_too: bool
) -> tuple[list[tuple[str, int]], Progress]:
    """((session id, spans) that are due, progress once they are mined)."""
    mined = dict(before.mined)
    changed = [
        state
        for state in changed_sessions(reader, before.watermark_ms - OVERLAP_MS)
        if mined.get(state.session_id) != state.ingested_ms
    ]
    states = {state.session_id: state for state in session_states(reader, before.waiting)}
    states.update({state.session_id: state for state in changed})
    is_over = {key: active_too or now_ns - state.end_time_ns >= idle_ns for key, state in states.items()}
    watermark = max((state.ingested_ms for state in changed), default=before.watermark_ms)
    watermark = max(watermark, before.watermark_ms)
    mined.update({key: state.ingested_ms for key, state in states.items() if is_over[key]})
    after = Progress(
        watermark,
        tuple(sorted(key for key, over in is_over.items() if not over)),
        tuple(sorted((key, stamp) for key, stamp in mined.items() if stamp > watermark - OVERLAP_MS)),
    )
    return sorted((key, states[key].spans) for key, over in is_over.items() if over), after


def _batches(due: Sequence[tuple[str, int]]) -> Iterable[list[tuple[str, int]]]:
    batch: list[tuple[str, int]] = []
    size = 0
    for session_id, spans in due:
        if batch and (size + spans > BATCH_SPANS or len(batch) >= 200):
            yield batch
            batch, size = [], 0
        batch.append((session_id, spans))
        size += spans
    if batch:
        yield batch


def _mine_batch(
    reader: Rows, rules: Rules, now_ns: int, batch: Sequence[tuple[str, int]], known: Sequence[Memory]
) -> Report:
    sessions = read_sessions(reader, [session_id for session_id, _ in batch])
    mined = [mine_session(session, rules.window_ns) for session in sessions]
    candidates = [candidate for item in mined for candidate in item.candidates]
    signatures: dict[str, list[str]] = {}
    for candidate in candidates:
        if candidate.kind is Kind.TRAP:
            signatures.setdefault(candidate.scope, []).extend(candidate.trigger.signatures)
    evidence = {}
    for scope, wanted in sorted(signatures.items()):
        evidence.update(recurrences(reader, wanted, scope))
    outcome = consolidate(candidates, known, evidence, rules.redactor, now_ns)
    return Report(
        sessions=len(sessions),
        candidates=tuple(candidates),
        dropped=tuple(drop for item in mined for drop in item.dropped),
        operations=outcome.operations,
        refused=outcome.refused,
    )


def _add(one: Report, other: Report, spans: int) -> Report:
    return Report(
        sessions=one.sessions + other.sessions,
        spans=one.spans + spans,
        waiting=one.waiting,
        candidates=one.candidates + other.candidates,
        dropped=one.dropped + other.dropped,
        operations=one.operations + other.operations,
        refused=one.refused + other.refused,
    )


def _apply(known: Sequence[Memory], operations: Iterable[Operation]) -> list[Memory]:
    """The memories as they are once the operations are done."""
    memories = {memory.id: memory for memory in known}
    memories.update({operation.memory.id: operation.memory for operation in operations})
    return list(memories.values())

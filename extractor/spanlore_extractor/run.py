"""One mining run: which sessions are due, what they teach, and the operations that follow.

What has been seen is kept in the collector's mining state: a watermark over the time rows were written, and the
sessions that were still going on then. A session is due when it is over (`mining.idle_s` without a span) and has rows
that no run has mined; it is mined whole each time, since mining is idempotent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import batched
from pathlib import Path
from typing import Final

from spanlore.memory.memory import Kind, Memory
from spanlore.memory.operations import Operation
from spanlore.memory.trust import DAY_NS
from spanlore.redaction.redact import Redactor
from spanlore.repository.checkout import locate
from spanlore.settings import Settings
from spanlore_collector.store.api_client import MemoryClient, VersionConflictError
from spanlore_extractor.judge.judging import Entry, Judge
from spanlore_extractor.judge.spending import Spending
from spanlore_extractor.memories.against import find_against
from spanlore_extractor.memories.anchoring import check
from spanlore_extractor.memories.consolidate import Refused, consolidate
from spanlore_extractor.memories.differing import Diff, baseline, differ, within_reach
from spanlore_extractor.memories.life import Caps, grow_old
from spanlore_extractor.mining.candidate import Candidate, Dropped
from spanlore_extractor.mining.detected import detect
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.mining.session import MinedSession
from spanlore_extractor.mining.summary import Summary, summarise
from spanlore_extractor.reading import (
    Recurrences,
    Rows,
    SessionState,
    changed_sessions,
    harnesses,
    open_evidence,
    present_spans,
    read_sessions,
    session_states,
)
from spanlore_extractor.summaries.keeping import back_fill, keep, write_chapters
from spanlore_extractor.summaries.writing import Writer
from spanlore_extractor.tree import WorkingTree

STATE_KEY: Final = "sessions"
LIFE_KEY: Final = "life"
"""Mining's state: the day on which memories were last looked at for their age."""
JUDGE_KEY: Final = "judge"
"""Mining's state: the judge's purse."""
FORKS_KEY: Final = "forks"
"""Mining's state: JSON of fork → upstream, as the checkouts of mined sessions tell."""
BATCH_SPANS: Final = 20_000
"""A batch of sessions is read at once up to this many spans."""
OPERATIONS_AT_ONCE: Final = 1_000
"""Of a run; a request to the collector is bounded in size and time, and a first run over a large store finds more."""
OVERLAP_MS: Final = 120_000
"""Rows are looked for again this far back: a batch is stamped before it is committed, and waits where there is much to
write; of two collectors one may lag. A clock that is set back moves no stamp (`spanlore_collector.store.stamps`)."""
ATTEMPTS: Final = 5
"""Of a run, before it gives up: a person and the daemon's extractor may change memories while it reads and judges."""


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
    places: tuple[tuple[str, str], ...] = ()
    """(repository, working directory) of the sessions, so that anchors can be looked for."""
    judged: tuple[Entry, ...] = ()
    """What the model judge said, or why it was not asked."""
    summaries: tuple[Summary, ...] = ()
    """What each session was about."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run goes by."""

    idle_ns: int
    window_ns: int
    redactor: Redactor
    is_isolated: bool = False
    """Every agent has memories of its own (`memory.isolation = "harness"`)."""
    caps: Caps = field(default_factory=Caps)

    @classmethod
    def of(cls, settings: Settings, idle_s: float | None = None) -> Rules:
        """As the settings say; `idle_s` instead of their own."""
        return cls(
            idle_ns=int((settings.mining.idle_s if idle_s is None else idle_s) * 1e9),
            window_ns=int(settings.mining.pair_window_s * 1e9),
            redactor=Redactor(settings.capture.redact),
            is_isolated=settings.memory.isolation == "harness",
            caps=Caps(settings.memory.max_active, settings.memory.max_candidates),
        )


def mine(
    reader: Rows,
    client: MemoryClient,
    rules: Rules,
    now_ns: int,
    *,
    everything: bool = False,
    active_too: bool = False,
    dry_run: bool = False,
    since_ns: int = 0,
    judge: Judge | None = None,
) -> Report:
    """Mines what is due: `everything` all sessions again, `active_too` also those not over, with `since_ns` only those
    that ended later; what that leaves out stays due. `dry_run` changes nothing.

    Where someone else changed a memory in between, nothing of the run was kept, and it starts again from what is known
    now: what the daemon's extractor mined at the same moment is then known, and not learned a second time.

    Raises:
        StoreUnavailableError: the daemon is down.
        VersionConflictError: a memory was changed by someone else in between, `ATTEMPTS` times over.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(VersionConflictError):
            return _mine_once(reader, client, rules, now_ns, everything, active_too, dry_run, since_ns, judge)
    return _mine_once(reader, client, rules, now_ns, everything, active_too, dry_run, since_ns, judge)


def _mine_once(
    reader: Rows,
    client: MemoryClient,
    rules: Rules,
    now_ns: int,
    everything: bool,
    active_too: bool,
    dry_run: bool,
    since_ns: int,
    judge: Judge | None,
) -> Report:
    before = Progress() if everything else Progress.from_json(client.mining_state(STATE_KEY))
    due, after = _due(reader, before, rules.idle_ns, now_ns, active_too)
    due = [item for item in due if item.end_time_ns >= since_ns]
    is_new_day = client.mining_state(LIFE_KEY) != _day(now_ns)
    known = client.memories() if due or is_new_day else []
    report, mined = mine_sessions(reader, rules, now_ns, due, known)
    if judge is not None and report.operations and not dry_run:
        report = ask_judge(reader, client, judge, report, known)
        mined = _apply(known, report.operations)
    known = mined
    aged = grow_old(known, now_ns, rules.caps) if is_new_day or report.operations else []
    report = replace(report, waiting=len(after.waiting), operations=(*report.operations, *aged))
    if not dry_run:
        looked = look_at_trees(_apply(known, aged), report.places)
        report = replace(report, operations=(*report.operations, *looked))
        apply_in_parts(client, report.operations)
        keep(client, report.summaries)
        back_fill(reader, client, rules.window_ns)
        if judge is not None and judge.chapter_prompt:
            _have_told(reader, client, judge, report)
        _keep(client, before, after if not since_ns else before, report, now_ns if is_new_day else 0)
    return report


def mine_sessions(
    reader: Rows, rules: Rules, now_ns: int, due: Sequence[SessionState], known: Sequence[Memory]
) -> tuple[Report, list[Memory]]:
    """What the sessions teach beyond `known`, and the memories as they are then. The oldest session is to come first:
    then it does not matter how many runs they are mined in."""
    report, memories = Report(), list(known)
    recurrences = Recurrences(reader)
    for batch in _batches(due):
        mined = _mine_batch(reader, recurrences, rules, now_ns, batch, memories)
        report = _add(report, mined, sum(state.spans for state in batch))
        memories = _apply(memories, mined.operations)
    return report, memories


def remine(reader: Rows, client: MemoryClient, rules: Rules, now_ns: int) -> Diff:
    """Mines every session that is in the store afresh, and tells the difference to what is kept. Changes nothing."""
    due, _ = _due(reader, Progress(), rules.idle_ns, now_ns, active_too=True)
    known = client.memories()
    _, mined = mine_sessions(reader, rules, now_ns, due, baseline(known))
    aged = _apply(mined, grow_old(mined, now_ns, rules.caps))
    diff = differ(known, aged, frozenset(state.session_id for state in due))
    doubted = [*(item.before for item in diff.changed), *diff.dropped]
    return within_reach(diff, present_spans(reader, [cited for memory in doubted for cited in memory.evidence]))


def apply_in_parts(client: MemoryClient, operations: Sequence[Operation]) -> int:
    """Applies them in order, so many at once; how many changed something. Mining is idempotent, so that a run which
    ends between two parts is made whole by the next.

    Raises:
        VersionConflictError: a memory was changed by someone else in between.
    """
    return sum(client.apply(part) for part in batched(operations, OPERATIONS_AT_ONCE))


def look_at_trees(known: Iterable[Memory], places: Iterable[tuple[str, str]]) -> list[Operation]:
    """Checks what memories name in the working trees of sessions, where those are still that repository's. The last
    session's tree counts."""
    trees: dict[str, WorkingTree] = {}
    for repository, cwd in places:
        found = locate(Path(cwd)) if repository and cwd else None
        if found is not None and found.root is not None and found.scope == repository:
            trees[repository] = WorkingTree(found.root)
    checked = [
        check(memory, trees[memory.scope])
        for memory in sorted(known, key=lambda memory: memory.id)
        if memory.scope in trees and memory.is_live
    ]
    return [operation for operation in checked if operation is not None]


def ask_judge(reader: Rows, client: MemoryClient, judge: Judge, report: Report, known: Sequence[Memory]) -> Report:
    """The report with its operations as they are after the judge's word; what it cost is kept before they are used."""
    before = Spending.from_json(client.mining_state(JUDGE_KEY))
    agents = {}
    if judge.prompts.by_agent:
        agents = harnesses(reader, {cited.session_id for item in report.operations for cited in item.memory.evidence})
    judged = judge.judge(report.operations, known, lambda cited: open_evidence(reader, cited), before, agents)
    if judged.spending != before:
        client.set_mining_state(JUDGE_KEY, judged.spending.to_json())
    if judged.entries:
        client.add_internal_calls([entry.to_json(judge.model.name) for entry in judged.entries])
    return replace(report, operations=judged.operations, judged=judged.entries)


def _have_told(reader: Rows, client: MemoryClient, judge: Judge, report: Report) -> None:
    """Past months of the repositories that were mined, in the model's words; what it cost is kept as the judge's."""
    writer = Writer(judge.model, judge.chapter_prompt, judge.caps, judge.redactor, judge.now_ns)
    before = Spending.from_json(client.mining_state(JUDGE_KEY))
    repositories = sorted({summary.repository for summary in report.summaries if summary.repository})
    spending = write_chapters(reader, client, writer, repositories, before)
    if spending != before:
        client.set_mining_state(JUDGE_KEY, spending.to_json())


def _keep(client: MemoryClient, before: Progress, after: Progress, report: Report, aged_at_ns: int) -> None:
    """What the next run goes by."""
    if after != before:
        client.set_mining_state(STATE_KEY, after.to_json())
    if aged_at_ns:
        client.set_mining_state(LIFE_KEY, _day(aged_at_ns))
    found = {repository: locate(Path(cwd)).upstream for repository, cwd in report.places if repository and cwd}
    forks = {fork: parent for fork, parent in found.items() if parent}
    text = client.mining_state(FORKS_KEY) if forks else None
    known = json.loads(text) if text else {}
    if {**known, **forks} != known:
        client.set_mining_state(FORKS_KEY, json.dumps({**known, **forks}, sort_keys=True))


def _day(now_ns: int) -> str:
    return str(now_ns // DAY_NS)


def _due(
    reader: Rows, before: Progress, idle_ns: int, now_ns: int, active_too: bool
) -> tuple[list[SessionState], Progress]:
    """(sessions that are due, the oldest first, progress once they are mined)."""
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
    due = [states[key] for key, over in is_over.items() if over]
    return sorted(due, key=lambda state: (state.end_time_ns, state.session_id)), after


def _batches(due: Sequence[SessionState]) -> Iterable[list[SessionState]]:
    batch: list[SessionState] = []
    size = 0
    for state in due:
        if batch and (size + state.spans > BATCH_SPANS or len(batch) >= 200):
            yield batch
            batch, size = [], 0
        batch.append(state)
        size += state.spans
    if batch:
        yield batch


def _mine_batch(
    reader: Rows,
    recurrences: Recurrences,
    rules: Rules,
    now_ns: int,
    batch: Sequence[SessionState],
    known: Sequence[Memory],
) -> Report:
    sessions = read_sessions(reader, [state.session_id for state in batch])
    detected = [detect(session, rules.window_ns) for session in sessions]
    mined = [mine_session(session, rules.window_ns, found) for session, found in zip(sessions, detected, strict=True)]
    candidates = [
        _placed(candidate, session, rules.is_isolated)
        for session, item in zip(sessions, mined, strict=True)
        for candidate in item.candidates
    ]
    traps = (candidate for candidate in candidates if candidate.kind is Kind.TRAP)
    evidence = recurrences.of((trap.scope, one) for trap in traps for one in trap.trigger.signatures)
    outcome = consolidate(candidates, known, evidence, rules.redactor, now_ns)
    # Looked for in what is known now, so that it does not matter in how many batches sessions are mined.
    learned = _apply(known, outcome.operations)
    weakened = consolidate((), learned, {}, rules.redactor, now_ns, find_against(sessions, learned))
    return Report(
        sessions=len(sessions),
        candidates=tuple(candidates),
        dropped=tuple(drop for item in mined for drop in item.dropped),
        operations=outcome.operations + weakened.operations,
        refused=outcome.refused,
        places=tuple((session.repository, session.cwd) for session in sessions),
        summaries=tuple(
            summarise(session, rules.window_ns, found) for session, found in zip(sessions, detected, strict=True)
        ),
    )


def _placed(candidate: Candidate, session: MinedSession, is_isolated: bool) -> Candidate:
    harness = session.harness if is_isolated else candidate.harness
    return replace(candidate, sub_path=session.sub_path, harness=harness)


def _add(one: Report, other: Report, spans: int) -> Report:
    return Report(
        sessions=one.sessions + other.sessions,
        spans=one.spans + spans,
        waiting=one.waiting,
        candidates=one.candidates + other.candidates,
        dropped=one.dropped + other.dropped,
        operations=one.operations + other.operations,
        refused=one.refused + other.refused,
        places=tuple(dict.fromkeys(one.places + other.places)),
        summaries=one.summaries + other.summaries,
    )


def _apply(known: Sequence[Memory], operations: Iterable[Operation]) -> list[Memory]:
    """The memories as they are once the operations are done."""
    memories = {memory.id: memory for memory in known}
    memories.update({operation.memory.id: operation.memory for operation in operations})
    return list(memories.values())

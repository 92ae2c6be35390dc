"""Candidates and what is known already → operations. Pure, and the same input gives the same operations, byte for byte.

Exact keys merge, and only a session that is new counts. Only the same subject and slot can contradict, and then the
order of authority decides: explicit > correction > what was inferred from failures; lower never retires higher, pins
are immune, what was forgotten stays forgotten. Two fixes that are each other's opposite cancel. What a person told the
agent not to use is not recommended because it once worked: their words take the place of that, at that failure too.
Nothing is deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanlore.memory.changes import CONFIRMED_NOTE
from spanlore.memory.memory import (
    USER_SCOPE,
    Evidence,
    Kind,
    Memory,
    Source,
    Status,
    memory_id,
)
from spanlore.memory.merging import (
    HELD_TO_A_PLACE,
    bounded,
    citing,
    common_path,
    is_counted,
    merged_trigger,
    next_version,
    sessions_of,
)
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.trust import prior_of
from spanlore.recall.rank import MIN_CONFIDENCE
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.anchoring import anchors_of
from spanlore_extractor.memories.differing import is_merged
from spanlore_extractor.memories.disowned import disowns
from spanlore_extractor.memories.gate import Decision, examine, promote
from spanlore_extractor.memories.wording import text_of, why_of
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.lessons import ARROW

MAX_SEEN: Final = 200
"""Sessions a memory remembers beyond those it cites; what is that well known needs no more evidence."""
_ENDED: Final = {
    Status.FORGOTTEN: "the user had it forgotten",
    Status.RETIRED: "it was retired",
    Status.SUPERSEDED: "it was superseded",
}
_AUTHORITY: Final = {Source.EXPLICIT: 3, Source.CORRECTION: 2}
MIN_REPOSITORIES: Final = 2
"""A preference that a person stated in so many repositories is theirs, not the repository's."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A candidate that changed nothing, and why."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What to do, and what was not done."""

    operations: tuple[Operation, ...]
    refused: tuple[Refused, ...]


def consolidate(
    candidates: Iterable[Candidate],
    known: Iterable[Memory],
    recurrences: Mapping[tuple[str, str], Sequence[Evidence]],
    redactor: Redactor,
    now_ns: int,
    against: Sequence[tuple[str, Evidence]] = (),
) -> Consolidation:
    """Operations that bring `known` up to what `candidates` show, and down to what is `against` (memory id, evidence).

    `recurrences` are failures by (scope, signature) in all sessions, for traps: a code fix counts only where its
    failure came back in another session of the same repository. `now_ns` only becomes the creation time of new
    memories.
    """
    state = _State({memory.id: memory for memory in known}, redactor, now_ns)
    ordered = sorted(candidates, key=lambda item: (item.time_ns, item.id, item.session_id, item.explanation))
    opposites = _opposites(ordered)
    for candidate in ordered:
        state.take(_with_recurrences(candidate, recurrences), opposites)
    for known_id, evidence in against:
        state.weaken(known_id, evidence)
    state.share_preferences()
    state.disown()
    return Consolidation(tuple(state.operations), tuple(state.refused))


def authority(source: Source) -> int:
    """3 explicit, 2 correction, 1 inferred."""
    return _AUTHORITY.get(source, 1)


def memory_of(candidate: Candidate, decision: Decision, now_ns: int) -> Memory:
    """A new memory from a candidate."""
    assert decision.status is not None
    alpha, beta = prior_of(candidate.kind)
    sessions = sessions_of(candidate.evidence)
    evidence, seen = bounded(candidate.evidence)
    return Memory(
        id=candidate.id,
        kind=candidate.kind,
        source=candidate.source,
        status=decision.status,
        scope=candidate.scope,
        text=text_of(candidate),
        subject=candidate.subject,
        slot=candidate.slot,
        value=candidate.value,
        why=why_of(candidate),
        harness=candidate.harness,
        branch=candidate.branch,
        sub_path=candidate.sub_path if candidate.kind in HELD_TO_A_PLACE else "",
        trigger=candidate.trigger,
        evidence=evidence,
        seen=seen,
        session_count=len(sessions),
        alpha=float(alpha + len(sessions) - 1 + bool(candidate.confirmed)),
        beta=float(beta),
        created_at_ns=now_ns,
        updated_at_ns=candidate.time_ns,
        valid_from_ns=min(item.time_ns for item in candidate.evidence),
        lost_ns=candidate.lost_ns,
        lost_calls=candidate.lost_calls,
        note=f"{decision.reason} ({candidate.explanation})",
    )


class _State:
    """The memories as they are after the operations so far."""

    def __init__(self, memories: dict[str, Memory], redactor: Redactor, now_ns: int) -> None:
        self.memories = memories
        self._by_slot: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._by_value: dict[tuple[str, Kind, str], set[str]] = defaultdict(set)
        for memory in memories.values():
            self._index(memory)
        self.operations: list[Operation] = []
        self.refused: list[Refused] = []
        self._redactor = redactor
        self._now_ns = now_ns

    def take(self, candidate: Candidate, opposites: frozenset[str]) -> None:
        """Works one candidate in."""
        known = self._kept(self.memories.get(candidate.id))
        if known is not None and known.status is Status.SUPERSEDED and self._is_restated(candidate, known):
            self._revive(candidate, known)
        elif known is not None and known.status in _ENDED:
            self._refuse(candidate, _ENDED[known.status])
        elif known is None and self._was_forgotten(candidate):
            self._refuse(candidate, _ENDED[Status.FORGOTTEN])
        elif candidate.id in opposites:
            self._cancel(candidate, known)
        elif known is not None:
            self._reinforce(candidate, known)
        else:
            self._add(candidate)

    def _was_forgotten(self, candidate: Candidate) -> bool:
        """Whether a person had the same thing forgotten, as another kind of statement or of another harness."""
        if not candidate.slot:
            return False
        said = (
            self.memories[key] for key in self._by_slot.get((candidate.scope, candidate.subject, candidate.slot), ())
        )
        return any(
            memory.status is Status.FORGOTTEN
            and memory.value == candidate.value
            and (memory.kind is candidate.kind or (memory.kind.is_stated and candidate.kind.is_stated))
            for memory in said
        )

    def _kept(self, known: Memory | None) -> Memory | None:
        """Where a person merged a memory into another, that one, and so on: what speaks for the first speaks for it."""
        passed: set[str] = set()
        while known is not None and known.id not in passed and is_merged(known):
            passed.add(known.id)
            known = self.memories.get(known.superseded_by) or known
        return known

    def _refuse(self, candidate: Candidate, reason: str) -> None:
        self.refused.append(Refused(candidate, reason))

    def _index(self, memory: Memory) -> None:
        """What a memory is about and says never changes, so an id is only ever added."""
        self._by_slot[memory.scope, memory.subject, memory.slot].add(memory.id)
        self._by_value[memory.scope, memory.kind, memory.value].add(memory.id)

    def _do(self, verb: Verb, memory: Memory, reason: str) -> None:
        self.memories[memory.id] = memory
        self._index(memory)
        self.operations.append(Operation(verb, memory, reason))

    def _cancel(self, candidate: Candidate, known: Memory | None) -> None:
        reason = "the opposite was a fix as well"
        self._refuse(candidate, reason)
        if known is not None and known.is_live and not known.pinned:
            self._do(Verb.RETIRED, next_version(known, status=Status.RETIRED, note=reason), reason)

    def _add(self, candidate: Candidate) -> None:
        decision = examine(candidate, self._redactor)
        sessions = sessions_of(candidate.evidence)
        if decision.status is None:
            return self._refuse(candidate, decision.reason)
        if candidate.kind is Kind.TRAP and len(sessions) < 2:
            return self._refuse(candidate, "code was fixed; the failure was not seen in another session")
        if self._retire_opposite(candidate):
            return self._refuse(candidate, "the opposite was a fix as well")
        if decision.status is Status.QUARANTINED:
            return self._do(Verb.QUARANTINED, memory_of(candidate, decision, self._now_ns), decision.reason)
        return self._add_clean(candidate, promote(candidate, len(sessions)))

    def _add_clean(self, candidate: Candidate, decision: Decision) -> None:
        rivals = self._rivals(candidate)
        stronger = [rival for rival in rivals if rival.pinned or authority(rival.source) > authority(candidate.source)]
        if stronger and decision.status is not Status.CANDIDATE:
            names = ", ".join(rival.id for rival in stronger)
            decision = Decision(Status.CANDIDATE, f"conflicts with {names}, which counts more")
        memory = memory_of(candidate, decision, self._now_ns)
        self._do(Verb.ADDED, memory, memory.note)
        if memory.is_shown:
            self._supersede(memory, rivals)

    def _reinforce(self, candidate: Candidate, known: Memory) -> None:
        fresh = _fresh(candidate, known)
        if not fresh:
            return self._refuse(candidate, "known already, from the same session")
        changed = _reinforced(candidate, known, fresh)
        count = changed.session_count
        rivals: list[Memory] = []
        if _is_an_agents_word(known) and candidate.is_statement:
            # What is shown from now on are the user's words, not the agent's.
            changed = replace(changed, text=text_of(candidate), why=why_of(candidate))
        if known.status in (Status.CANDIDATE, Status.TRIAL):
            decision = promote(candidate, count)
            rivals = self._rivals(candidate)
            blocked = any(r.pinned or authority(r.source) > authority(candidate.source) for r in rivals)
            if decision.status is not None and not blocked and changed.confidence >= MIN_CONFIDENCE:
                changed = replace(changed, status=decision.status, note=decision.reason)
        self._do(Verb.REINFORCED, changed, f"seen again in {', '.join(sorted(sessions_of(fresh)))}")
        if changed.is_shown and not known.is_shown:
            self._supersede(changed, rivals)
        return None

    def _supersede(self, memory: Memory, rivals: Sequence[Memory]) -> None:
        for rival in rivals:
            if not rival.pinned and authority(rival.source) <= authority(memory.source):
                self._supersede_by(memory, rival, f"{memory.id} says otherwise of the same thing")

    def _supersede_by(self, memory: Memory, rival: Memory, reason: str) -> None:
        note = f"superseded by {memory.id}"
        until_ns = max(memory.valid_from_ns, rival.valid_from_ns)
        ended = next_version(rival, status=Status.SUPERSEDED, superseded_by=memory.id, valid_to_ns=until_ns, note=note)
        self._do(Verb.SUPERSEDED, ended, reason)

    def weaken(self, known_id: str, evidence: Evidence) -> None:
        """Counts a session in which the recommended form failed as it was to prevent."""
        known = self.memories[known_id]
        if not known.is_live or is_counted(known, evidence.session_id):
            return
        changed = next_version(known, beta=known.beta + 1, **citing(known, [evidence]))
        reason = f"it failed in session {evidence.session_id} itself"
        if changed.is_shown and changed.confidence < MIN_CONFIDENCE and not changed.pinned:
            changed = replace(changed, status=Status.CANDIDATE, note=f"no longer shown: {reason}")
        self._do(Verb.WEAKENED, changed, reason)

    def share_preferences(self) -> None:
        """A preference shown in two repositories becomes the user's, beside those it came from."""
        same: dict[tuple[str, str, str], list[Memory]] = defaultdict(list)
        for _, memory in sorted(self.memories.items()):
            is_own = memory.kind.is_stated and memory.status is Status.ACTIVE and not memory.harness
            if is_own and memory.scope != USER_SCOPE and memory.evidence and not anchors_of(memory):
                same[memory.subject, memory.slot, memory.value].append(memory)
        for (subject, slot, value), memories in sorted(same.items()):
            scopes = sorted({memory.scope for memory in memories})
            identity = memory_id(USER_SCOPE, Kind.CORRECTION, subject, slot, value)
            said = memory_id(USER_SCOPE, Kind.EXPLICIT, subject, slot, value)
            if len(scopes) >= MIN_REPOSITORIES and identity not in self.memories and said not in self.memories:
                self._share(identity, memories, scopes)

    def _share(self, identity: str, memories: Sequence[Memory], scopes: Sequence[str]) -> None:
        newest = max(memories, key=lambda memory: (memory.updated_at_ns, memory.id))
        cited = sorted((item for memory in memories for item in memory.evidence), key=lambda item: item.time_ns)
        note = f"the same preference in {len(scopes)} repositories: {', '.join(scopes)}"
        alpha, beta = prior_of(Kind.CORRECTION)
        shared = replace(
            newest,
            id=identity,
            kind=Kind.CORRECTION,
            source=Source.CORRECTION,
            scope=USER_SCOPE,
            origins=tuple(scopes),
            branch="",
            sub_path="",
            anchors=(),
            evidence=bounded(cited)[0],
            seen=(),
            session_count=len(sessions_of(cited)),
            alpha=alpha + len(sessions_of(cited)) - 1,
            beta=beta,
            pinned=False,
            created_at_ns=self._now_ns,
            valid_from_ns=min(memory.valid_from_ns for memory in memories),
            note=note,
            verdict="",
            version=1,
        )
        self._do(Verb.ADDED, shared, note)

    def disown(self) -> None:
        """Ends what was inferred and a person's words refuse; those words answer the same failures from then on."""
        inferred: dict[str, list[str]] = defaultdict(list)
        for key, memory in sorted(self.memories.items()):
            is_own_word = memory.pinned or memory.is_edited or memory.note == CONFIRMED_NOTE
            if memory.is_live and not is_own_word and authority(memory.source) == 1:
                inferred[memory.scope].append(key)
        for key, statement in sorted(self.memories.items()):
            if not statement.kind.is_stated or not statement.is_shown:
                continue
            scopes = inferred if statement.scope == USER_SCOPE else (statement.scope,)
            for other in (other for scope in scopes for other in inferred.get(scope, ())):
                memory = self.memories[other]
                if memory.is_live and disowns(statement, memory):
                    self._disown(key, memory)

    def _disown(self, key: str, memory: Memory) -> None:
        statement = self.memories[key]
        self._supersede_by(statement, memory, f"the user said not to use what it recommends ({key})")
        trigger = merged_trigger(statement.trigger, memory.trigger)
        if trigger != statement.trigger:
            reason = f"answers the failures of {memory.id} now"
            self._do(Verb.REINFORCED, next_version(statement, trigger=trigger), reason)

    def _is_restated(self, candidate: Candidate, known: Memory) -> bool:
        """Whether what was superseded was said again later, by a word that counts as much."""
        by = self.memories.get(known.superseded_by)
        if by is None or by.pinned or authority(by.source) > authority(candidate.source):
            return False
        return candidate.time_ns > by.updated_at_ns and bool(_fresh(candidate, known))

    def _revive(self, candidate: Candidate, known: Memory) -> None:
        changed = _reinforced(candidate, known, _fresh(candidate, known))
        decision = promote(candidate, len(sessions_of(candidate.evidence)))
        assert decision.status is not None
        note = f"it holds again: {decision.reason}"
        changed = replace(
            changed,
            status=decision.status,
            superseded_by="",
            valid_to_ns=0,
            restated_ns=candidate.time_ns,
            note=note,
        )
        rivals = self._rivals(candidate)
        self._do(Verb.REINFORCED, changed, note)
        if changed.is_shown:
            self._supersede(changed, rivals)

    def _rivals(self, candidate: Candidate) -> list[Memory]:
        """Live memories that say something else of the same subject and slot, by id."""
        if not candidate.slot or candidate.slot == "statement":
            return []
        about = self._by_slot.get((candidate.scope, candidate.subject, candidate.slot), set())
        return [
            memory
            for memory in (self.memories[key] for key in sorted(about))
            if memory.is_live
            and memory.value != candidate.value
            and not _is_an_agents_word(memory)
            and (not memory.harness or not candidate.harness or memory.harness == candidate.harness)
        ]

    def _retire_opposite(self, candidate: Candidate) -> bool:
        """Whether a known memory says the reverse; it is retired then, and the candidate is not taken."""
        inverse = _inverse(candidate.value)
        if candidate.kind not in (Kind.USAGE, Kind.LOCATION) or not inverse:
            return False
        found = False
        for key in sorted(self._by_value.get((candidate.scope, candidate.kind, inverse), ())):
            memory = self.memories[key]
            if memory.is_live and not memory.pinned:
                reason = "the opposite was a fix as well"
                self._do(Verb.RETIRED, next_version(memory, status=Status.RETIRED, note=reason), reason)
            found = found or memory.is_live or memory.status is Status.RETIRED
        return found


def _opposites(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Ids of candidates of one batch that are each other's reverse (A → B and B → A)."""
    changes = {(item.scope, item.kind, item.value) for item in candidates if ARROW in item.value}
    return frozenset(
        item.id
        for item in candidates
        if ARROW in item.value and (item.scope, item.kind, _inverse(item.value)) in changes
    )


def _inverse(value: str) -> str:
    before, arrow, after = value.partition(ARROW)
    return f"{after}{ARROW}{before}" if arrow and before != after else ""


def _with_recurrences(candidate: Candidate, recurrences: Mapping[tuple[str, str], Sequence[Evidence]]) -> Candidate:
    """A trap cites its failure in the other sessions too."""
    if candidate.kind is not Kind.TRAP:
        return candidate
    own = sessions_of(candidate.evidence)
    others = [
        item
        for signature in candidate.trigger.signatures
        for item in recurrences.get((candidate.scope, signature), ())
        if item.session_id not in own
    ]
    unique = {(item.session_id): item for item in sorted(others, key=lambda item: (item.time_ns, item.span_id))}
    return replace(candidate, evidence=(*candidate.evidence, *unique.values()))


def _fresh(candidate: Candidate, known: Memory) -> list[Evidence]:
    """The candidate's evidence from sessions that were not counted yet; none once enough were."""
    if len(known.seen) >= MAX_SEEN:
        return []
    return [
        item
        for item in candidate.evidence
        if item.time_ns > known.restated_ns and not is_counted(known, item.session_id)
    ]


def _is_an_agents_word(memory: Memory) -> bool:
    """Whether nobody but an agent said it (`stated.remember`): it stands in nobody's way."""
    return memory.status is Status.CANDIDATE and memory.source is Source.EXPLICIT and not memory.evidence


def _reinforced(candidate: Candidate, known: Memory, fresh: Sequence[Evidence]) -> Memory:
    new = len(sessions_of(fresh))
    return next_version(
        known,
        session_count=known.session_count + new,
        alpha=known.alpha + new + bool(candidate.confirmed),
        updated_at_ns=max(known.updated_at_ns, *(item.time_ns for item in fresh)),
        valid_from_ns=min(known.valid_from_ns or candidate.time_ns, *(item.time_ns for item in fresh)),
        trigger=merged_trigger(known.trigger, candidate.trigger),
        sub_path=common_path(known.sub_path, candidate.sub_path) if known.kind in HELD_TO_A_PLACE else known.sub_path,
        lost_ns=max(known.lost_ns, candidate.lost_ns),
        lost_calls=max(known.lost_calls, candidate.lost_calls),
        **citing(known, fresh),
    )

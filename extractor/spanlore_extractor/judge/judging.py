"""The judge's place in a mining run: what the rules would newly show is put before the model, and what it refuses stays
a candidate. A person's own single correction that it keeps is tried.

Whatever goes wrong, the rules' decision stands and is told: no judge is no reason to lose a lesson, and none to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from spanlore.memory.memory import Evidence, Kind, Memory, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.recall.budget import count_tokens
from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.answer import MAX_OUTPUT_TOKENS, Answer, Cost, UnavailableError
from spanlore_extractor.judge.instructions import Prompts
from spanlore_extractor.judge.spending import Caps, Spending
from spanlore_extractor.judge.verdict import Verdict, WorthlessAnswerError, read_verdict
from spanlore_extractor.judge.window import Window, window_of
from spanlore_extractor.memories.wording import clip

OVERHEAD_TOKENS: Final = 500
"""The tool's schema and what else an API puts around a question."""
_ASKED: Final = (Verb.ADDED, Verb.REINFORCED)


class Asked(Protocol):
    """What `asking.Model` offers."""

    @property
    def name(self) -> str: ...

    def ask(
        self,
        prompt: str,
        question: str,
        added: str = "",
        tool: dict[str, Any] | None = None,
        max_tokens: int = MAX_OUTPUT_TOKENS,
    ) -> Answer:
        """Asks once."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: one call, or one that was not made."""

    memory_id: str
    session_id: str
    outcome: str
    """keep, refuse, unsure, or what was wrong."""
    cost: Cost | None = None

    def to_json(self, model: str) -> dict[str, Any]:
        """A row of the ledger."""
        return entry_row("judge", self.memory_id, self.session_id, self.outcome, self.cost, model)


def entry_row(
    phase: str, memory_id: str, session_id: str, outcome: str, cost: Cost | None, model: str
) -> dict[str, Any]:
    """A row of the ledger, for the phase in which a model was asked or was not."""
    counted = asdict(cost) if cost else {"model": model}
    cost_usd = counted.pop("usd", None)
    about = {"phase": phase, "memory_id": memory_id, "session_id": session_id[:200]}
    return {**about, "outcome": clip(outcome, 400), **counted, "cost_usd": cost_usd}


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it."""

    operations: tuple[Operation, ...]
    spending: Spending
    entries: tuple[Entry, ...] = ()


type Opener = Callable[[Sequence[Evidence]], Mapping[str, Mapping[str, Any]]]


@dataclass(slots=True)
class Judge:
    """The judge for one run."""

    model: Asked
    prompts: Prompts
    caps: Caps
    redactor: Redactor
    now_ns: int
    chapter_prompt: str = ""
    """By which it shortens a month of sessions (`summaries.writing`); '' where it does not."""

    def judge(
        self,
        operations: Sequence[Operation],
        known: Iterable[Memory],
        opener: Opener,
        spending: Spending,
        agents: Mapping[str, str] | None = None,
    ) -> Judged:
        """The operations as they are after the judge's word.

        `known` are the memories before them, `agents` the harnesses by session id.
        """
        memories = {memory.id: memory for memory in known}
        spending = spending.on(self.now_ns)
        entries: list[Entry] = []
        verdicts: dict[str, Verdict] = {}
        newest = {operation.memory.id: operation.memory for operation in operations}
        for memory in _to_judge(operations, memories, newest):
            beside = {**memories, **newest}.values()
            window = window_of(memory, opener(memory.evidence), beside, self.redactor)
            added = self.prompts.added_for(_agent_of(memory, agents or {}))
            verdict, entry, spending = self._ask(memory, window, spending, added)
            entries.append(entry)
            if verdict is not None:
                verdicts[memory.id] = verdict
        changed = tuple(_applied(operations, verdicts, memories, self.model.name))
        return Judged(changed, spending, tuple(entries))

    def _ask(
        self, memory: Memory, window: Window, spending: Spending, added: str
    ) -> tuple[Verdict | None, Entry, Spending]:
        session = memory.evidence[-1].session_id
        estimate = sum(count_tokens(text) for text in (self.prompts.general, added, window.text))
        estimate += OVERHEAD_TOKENS + MAX_OUTPUT_TOKENS
        reason = spending.why_not(memory.id, session, estimate, self.caps, self.now_ns)
        if reason:
            return None, Entry(memory.id, session, f"not asked: {reason}"), spending
        cost: Cost | None = None
        try:
            answer = self.model.ask(self.prompts.general, window.text, added)
            cost = answer.cost
            # A server that does not count would never reach a cap.
            tokens = cost.input_tokens + cost.output_tokens or estimate
            spending = spending.spent(session, tokens, cost.usd or 0.0)
            if answer.fault:
                raise WorthlessAnswerError(answer.fault)
            verdict = read_verdict(answer.data, window.spans, window.known_ids, self.redactor)
        except UnavailableError as error:
            paused = spending.spent(session, estimate, 0.0).pause(self.now_ns, str(error), error.retry_after_s)
            return None, Entry(memory.id, session, f"unavailable: {error}"), paused
        except WorthlessAnswerError as error:
            spending = spending if cost else spending.spent(session, estimate, 0.0)  # what it cost is not known
            return None, Entry(memory.id, session, f"worthless: {error}", cost), spending.struck(memory.id, str(error))
        return verdict, Entry(memory.id, session, verdict.verdict, cost), spending.answered()


def _agent_of(memory: Memory, agents: Mapping[str, str]) -> str:
    """The harness it was learned with; '' where several speak for it."""
    found = {agents.get(item.session_id, "") for item in memory.evidence}
    return memory.harness or (found.pop() if len(found) == 1 else "")


def _to_judge(
    operations: Sequence[Operation], before: Mapping[str, Memory], newest: Mapping[str, Memory]
) -> list[Memory]:
    """What would newly be shown, and single corrections that would wait; never what a person asked for."""
    out: dict[str, Memory] = {}
    for operation in operations:
        memory = newest[operation.memory.id]
        was_shown = memory.id in before and before[memory.id].is_shown
        is_waiting = memory.kind is Kind.CORRECTION and memory.status is Status.CANDIDATE and memory.id not in before
        is_persons = memory.kind is Kind.EXPLICIT or memory.is_edited or memory.pinned or not memory.evidence
        if operation.verb in _ASKED and not is_persons and ((memory.is_shown and not was_shown) or is_waiting):
            out[memory.id] = memory
    return list(out.values())


def _applied(
    operations: Sequence[Operation], verdicts: Mapping[str, Verdict], before: Mapping[str, Memory], model: str
) -> Iterable[Operation]:
    refused = {key for key, verdict in verdicts.items() if _refusal(verdict)}
    versions = {key: memory.version for key, memory in before.items()}
    for operation in operations:
        memory = operation.memory
        if operation.verb is Verb.SUPERSEDED and memory.superseded_by in refused:
            continue
        if memory.id in verdicts:
            memory = _judged(memory, verdicts[memory.id], model)
        versions[memory.id] = versions.get(memory.id, 0) + 1
        yield replace(operation, memory=replace(memory, version=versions[memory.id]))


def _refusal(verdict: Verdict) -> str:
    if verdict.verdict == "refuse":
        return "the judge refuses it"
    if verdict.inferable:
        return "the judge says it can be found by looking"
    return f"the judge says {verdict.duplicate_of} says it already" if verdict.duplicate_of else ""


def _judged(memory: Memory, verdict: Verdict, model: str) -> Memory:
    told = clip(f"{verdict.verdict} ({model}): {verdict.reason or verdict.refutation}", 300)
    merged_text = " ".join(verdict.merged_text.split())
    memory = replace(memory, duplicate_of=verdict.duplicate_of, merged_text=merged_text)
    refusal = _refusal(verdict)
    if refusal and memory.is_shown:
        note = clip(f"{refusal}: {verdict.reason or verdict.refutation}", 300)
        return replace(memory, status=Status.CANDIDATE, note=note, verdict=told)
    is_correction = memory.kind is Kind.CORRECTION and memory.status is Status.CANDIDATE
    if is_correction and verdict.verdict == "keep" and verdict.durable and not refusal:
        return replace(memory, status=Status.TRIAL, note="the judge takes it for a rule; on trial", verdict=told)
    return replace(memory, verdict=told)

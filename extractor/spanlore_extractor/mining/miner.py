"""Mines one session: everything it may teach, and everything that was looked at and left, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import USER_SCOPE, Evidence, EvidenceRole, Kind, Source
from spanlore.memory.rules import rule_of
from spanlore_extractor.mining.candidate import Candidate, Dropped
from spanlore_extractor.mining.confirmation import Confirmation, confirmed_by
from spanlore_extractor.mining.corrections import Correction
from spanlore_extractor.mining.detected import Detected, detect
from spanlore_extractor.mining.explicit import Statement
from spanlore_extractor.mining.lessons import QUOTE_CHARS, dead_end_of, lesson_of, pinned
from spanlore_extractor.mining.lookups import find_lookups
from spanlore_extractor.mining.loops import find_loops
from spanlore_extractor.mining.session import HumanStep, MinedSession, ToolStep

SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Mined:
    """What one session gave."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]


def mine_session(session: MinedSession, window_ns: int, detected: Sequence[Detected] = ()) -> Mined:
    """Failures and loops of every conversation, what the person said in the main one. Pure and deterministic.
    `detected`: what `detect` gives for the session, where that is known already."""
    candidates: list[Candidate] = []
    dropped: list[Dropped] = []
    confirmations: list[Confirmation] = []
    for one in detected or detect(session, window_ns):
        conversation = one.conversation
        if conversation.call_class not in (CallClass.MAIN, CallClass.SUBAGENT):
            continue
        _mine_failures(one, session, candidates, dropped)
        candidates.extend(pinned(lookup, session) for lookup in find_lookups(conversation))
        if conversation.call_class is CallClass.MAIN:
            _mine_words(one, session, candidates, dropped)
            confirmations += one.confirmations
    return Mined(tuple(_raised(candidate, confirmations) for candidate in candidates), tuple(dropped))


def _raised(candidate: Candidate, confirmations: list[Confirmation]) -> Candidate:
    """The candidate with what confirmed its session afterwards. A person's own statement needs no confirmation."""
    found = confirmed_by(candidate.time_ns, confirmations)
    if found is None or candidate.kind.is_stated:
        return candidate
    return replace(candidate, confirmed=found.reason, explanation=f"{candidate.explanation}; then {found.reason}")


def _mine_failures(
    detected: Detected, session: MinedSession, candidates: list[Candidate], dropped: list[Dropped]
) -> None:
    findings = detected.failures
    dropped.extend(_drop_failure(session, drop.failure, drop.reason) for drop in findings.drops)
    for delta in findings.deltas:
        lesson = lesson_of(delta, session)
        if isinstance(lesson, str):
            dropped.append(_drop_failure(session, delta.failure, lesson))
        else:
            candidates.append(lesson)
    candidates.extend(dead_end_of(loop, session) for loop in find_loops(detected.conversation, findings.deltas))


def _mine_words(detected: Detected, session: MinedSession, candidates: list[Candidate], dropped: list[Dropped]) -> None:
    statements = detected.statements
    known = {(statement.step.span_id, statement.step.ordinal) for statement in statements}
    candidates.extend(stated(statement, session) for statement in statements)
    corrections, none = detected.corrections
    candidates.extend(
        corrected(correction, session)
        for correction in corrections
        if (correction.step.span_id, correction.step.ordinal) not in known
    )
    dropped.extend(
        _drop_message(session, item.step, item.reason)
        for item in none
        if (item.step.span_id, item.step.ordinal) not in known
    )


def stated(statement: Statement, session: MinedSession) -> Candidate:
    """The candidate that something a person asked to remember makes."""
    rule = rule_of(statement.quote)
    return Candidate(
        kind=Kind.EXPLICIT,
        source=Source.EXPLICIT,
        scope=USER_SCOPE if statement.is_for_everywhere else session.repository,
        session_id=session.session_id,
        subject=rule.subject,
        slot=rule.slot,
        value=rule.value,
        evidence=(_said(statement.step, session, statement.quote),),
        time_ns=statement.step.time_ns,
        explanation="the person asked to have it remembered",
        branch=session.branch,
        quote=statement.quote,
        is_statement=True,
    )


def corrected(correction: Correction, session: MinedSession) -> Candidate:
    """The candidate that a correction makes."""
    rule = rule_of(correction.quote)
    follows = correction.follows
    is_refusal = correction.signals[0].startswith("refused") and follows is not None
    return Candidate(
        kind=Kind.CORRECTION,
        source=Source.CORRECTION,
        scope=session.repository,
        session_id=session.session_id,
        subject=rule.subject,
        slot=rule.slot,
        value=rule.value,
        evidence=(_said(correction.step, session, correction.quote),),
        time_ns=correction.step.time_ns,
        explanation=f"correction: {', '.join(correction.signals)}"
        + ("; meant for good" if correction.is_durable else ""),
        branch=session.branch,
        failed=f"{follows.tool_name} {follows.command}".strip() if is_refusal and follows else "",
        quote=correction.quote,
        is_statement=correction.is_durable,
    )


def _said(step: HumanStep, session: MinedSession, quote: str) -> Evidence:
    return Evidence(
        step.trace_id, step.span_id, session.session_id, EvidenceRole.STATEMENT, step.time_ns, quote[:QUOTE_CHARS]
    )


def _drop_failure(session: MinedSession, step: ToolStep, reason: str) -> Dropped:
    text = (step.command or step.tool_name)[:SHOWN_CHARS]
    return Dropped("failure", session.session_id, step.trace_id, step.span_id, step.end_time_ns, text, reason)


def _drop_message(session: MinedSession, step: HumanStep, reason: str) -> Dropped:
    text = step.text[:SHOWN_CHARS]
    return Dropped("message", session.session_id, step.trace_id, step.span_id, step.time_ns, text, reason)

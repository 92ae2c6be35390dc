"""What the detectors find in one session file, one flat object for each finding, so that anybody can score it.

Ids are the file's own: tool call ids (the step where an agent has none), 0-based lines. A chain of failures gives a
finding for each failing call. Two verdicts stand apart:

- `dropped`, `drop_reason`: the detector's. What it looked at and does not take for what it looks like: a probe, a
  retry, a paste, a new task. Those lines are only told when they are asked for.
- `gate`, `gate_reason`: what would become of the finding with nothing but this session known: `active`, `trial`,
  `candidate` (waits for another session), `quarantined`, or `dropped` (right, but of no use to another session).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Kind, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.evaluation.building import line_of
from spanlore_extractor.memories.gate import SELF_TELLING, Decision, examine, promote
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.confirmation import find_confirmations
from spanlore_extractor.mining.corrections import Correction, NoCorrection, find_corrections
from spanlore_extractor.mining.explicit import find_statements
from spanlore_extractor.mining.failures import Delta, Drop, find_deltas
from spanlore_extractor.mining.lessons import dead_end_of, lesson_of, pinned
from spanlore_extractor.mining.lookups import find_lookups
from spanlore_extractor.mining.loops import find_loops
from spanlore_extractor.mining.miner import corrected, stated
from spanlore_extractor.mining.session import Conversation, MinedSession, Step, ToolStep

QUOTE_CHARS: Final = 400
WINDOW_NS: Final = 600 * 10**9
DROPPED: Final = "dropped"
"""The gate's word where it keeps nothing; else it is the memory's status."""
ONCE: Final = "a code fix; waits for its failure to come back in another session"


def find_all(
    session: MinedSession, uuids: Mapping[int, str], redactor: Redactor, *, with_left: bool = False
) -> list[dict[str, Any]]:
    """The findings, in the order of the file. `uuids`: line → the file's own id of it. `with_left`: also failures and
    messages that were looked at and left, with the reason."""
    out: list[dict[str, Any]] = []
    for conversation in session.conversations:
        if conversation.call_class in (CallClass.MAIN, CallClass.SUBAGENT):
            out += _of_conversation(conversation, session, redactor, with_left)
    for finding in out:
        finding["at"]["uuid"] = uuids.get(finding["at"]["line"]) or None
    return sorted(out, key=lambda finding: finding["at"]["line"])


def _of_conversation(
    conversation: Conversation, session: MinedSession, redactor: Redactor, with_left: bool
) -> Iterator[dict[str, Any]]:
    found = find_deltas(conversation, WINDOW_NS)
    for delta in found.deltas:
        yield from _delta(delta, session, redactor)
    for loop in find_loops(conversation, found.deltas):
        kept = dead_end_of(loop, session)
        yield _finding("loop", loop.steps[-1], _gate(kept, redactor), kept.explanation, loop.steps) | {
            "failed_call_id": loop.steps[-1].tool_call_id
        }
    for lookup in find_lookups(conversation):
        gate = _gate(pinned(lookup, session), redactor)
        yield _finding("lookup", lookup.read, gate, lookup.reason, (lookup.search, lookup.read)) | {
            "quote": lookup.term
        }
    if with_left:
        yield from (_left(drop, "failure_delta") for drop in found.drops)
    if conversation.call_class is CallClass.MAIN:
        yield from _confirmations(conversation, with_left)
        yield from _words(conversation, session, redactor, with_left)


def _delta(delta: Delta, session: MinedSession, redactor: Redactor) -> Iterator[dict[str, Any]]:
    lesson = lesson_of(delta, session)
    gate = Decision(None, lesson) if isinstance(lesson, str) else _gate(lesson, redactor)
    for failing in delta.chain:
        yield _finding("failure_delta", failing, gate, delta.reason, (failing, *delta.remedies, delta.fix)) | {
            "failed_call_id": failing.tool_call_id,
            "fix_call_id": delta.fix.tool_call_id,
            "type": delta.type.value,
            "trivial": delta.failure.error_class in SELF_TELLING,
            "quote": delta.failure.error_line[:QUOTE_CHARS],
        }


def _words(
    conversation: Conversation, session: MinedSession, redactor: Redactor, with_left: bool
) -> Iterator[dict[str, Any]]:
    for statement in find_statements(conversation):
        kept = stated(statement, session)
        yield _finding("explicit", statement.step, _gate(kept, redactor), kept.explanation, (statement.step,)) | {
            "quote": statement.quote[:QUOTE_CHARS],
            "type": "standing rule",
        }
    found, none = find_corrections(conversation)
    for correction in found:
        yield _correction(correction, session, redactor)
    if with_left:
        yield from (_left(item, "correction") for item in none)


def _confirmations(conversation: Conversation, with_left: bool) -> Iterator[dict[str, Any]]:
    found, none = find_confirmations(conversation)
    for item in found:
        yield _finding("confirmation", item.step, None, item.reason, (item.step,)) | {"quote": _words_of(item.step)}
    if with_left:
        for left in none:
            yield _dropped("confirmation", left.step, left.reason) | {"quote": _words_of(left.step)}


def _words_of(step: Step) -> str:
    return (step.command if isinstance(step, ToolStep) else step.text)[:QUOTE_CHARS]


def _correction(correction: Correction, session: MinedSession, redactor: Redactor) -> dict[str, Any]:
    kept = corrected(correction, session)
    steps = (correction.follows, correction.step) if correction.follows else (correction.step,)
    return _finding("correction", correction.step, _gate(kept, redactor), ", ".join(correction.signals), steps) | {
        "quote": correction.quote[:QUOTE_CHARS],
        "type": "standing rule" if correction.is_durable else "once",
        "channel": correction.step.channel.value,
    }


def _left(item: Drop | NoCorrection, kind: str) -> dict[str, Any]:
    step: Step = item.failure if isinstance(item, Drop) else item.step
    finding = _dropped(kind, step, item.reason)
    if isinstance(step, ToolStep):
        return finding | {"failed_call_id": step.tool_call_id, "quote": step.error_line[:QUOTE_CHARS]}
    return finding | {"quote": step.text[:QUOTE_CHARS]}


def _dropped(kind: str, step: Step, reason: str) -> dict[str, Any]:
    return _finding(kind, step, None, "", (step,)) | {"dropped": True, "drop_reason": reason}


def _finding(kind: str, step: Step, gate: Decision | None, rule: str, evidence: Iterable[Step]) -> dict[str, Any]:
    """`gate` None: nothing is ever made of such a finding alone."""
    told = None if gate is None else gate.status.value if gate.status else DROPPED
    return {
        "kind": kind,
        "failed_call_id": None,
        "fix_call_id": None,
        "type": None,
        "trivial": False,
        "at": {"line": line_of(step), "uuid": None},
        "quote": "",
        "rule": rule,
        "dropped": False,
        "drop_reason": None,
        "gate": told,
        "gate_reason": gate.reason if gate is not None else None,
        "evidence": [_cited(one) for one in evidence],
    }


def _cited(step: Step) -> dict[str, Any]:
    if isinstance(step, ToolStep):
        return {
            "line": line_of(step),
            "call_id": step.tool_call_id,
            "outcome": step.outcome.value,
            "text": (step.command or step.tool_name)[:QUOTE_CHARS],
        }
    return {"line": line_of(step), "text": step.text[:QUOTE_CHARS]}


def _gate(candidate: Candidate, redactor: Redactor) -> Decision:
    """What the gate makes of it, were this the only session."""
    decision = examine(candidate, redactor)
    if decision.status is not Status.CANDIDATE:
        return decision
    return Decision(None, ONCE) if candidate.kind is Kind.TRAP else promote(candidate, 1)

"""Evidence against what is known: the recommended form failed, in the very way it was to prevent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spanlore.memory.memory import Evidence, EvidenceRole, Memory
from spanlore.spans.place import Outcome
from spanlore_extractor.memories.wording import code_parts
from spanlore_extractor.mining.lessons import QUOTE_CHARS, relative, shown_command
from spanlore_extractor.mining.session import MinedSession, ToolStep


def find_against(sessions: Iterable[MinedSession], known: Iterable[Memory]) -> list[tuple[str, Evidence]]:
    """(memory id, evidence) of every failure of a recommended form, one a memory and session, in order."""
    recommended: dict[tuple[str, str], list[Memory]] = {}
    for memory in sorted(known, key=lambda memory: memory.id):
        form = _form_of(memory)
        if form:
            recommended.setdefault((memory.scope, form), []).append(memory)
    if not recommended:
        return []
    found: dict[tuple[str, str], tuple[str, Evidence]] = {}
    for session in sessions:
        for step in _failures(session):
            for form in {shown_command(step.command, session), relative(step.command, session)}:
                for memory in recommended.get((session.repository, form), ()):
                    if _counts(step, memory):
                        found.setdefault((memory.id, session.session_id), (memory.id, _cite(step, session)))
    return list(found.values())


def _form_of(memory: Memory) -> str:
    """The command or path it says works; '' when it is not told in full."""
    if not (memory.kind.recommends and memory.is_live):
        return ""
    parts: Sequence[str] = code_parts(memory.text)
    is_whole = len(parts) > 1 and "…" not in parts[-1]
    return parts[-1] if is_whole else ""


def _failures(session: MinedSession) -> Iterable[ToolStep]:
    for conversation in session.conversations:
        for step in conversation.steps:
            if isinstance(step, ToolStep) and step.outcome is Outcome.FAILURE and step.command:
                yield step


def _counts(step: ToolStep, memory: Memory) -> bool:
    """The same class of failure, after it was first seen to work: a failing test says nothing about how to run it."""
    is_same = bool(step.error_class) and step.error_class == memory.trigger.error_class
    return is_same and step.end_time_ns > memory.valid_from_ns


def _cite(step: ToolStep, session: MinedSession) -> Evidence:
    quote = f"{step.command}\n{step.error_line}"[:QUOTE_CHARS]
    return Evidence(step.trace_id, step.span_id, session.session_id, EvidenceRole.AGAINST, step.end_time_ns, quote)

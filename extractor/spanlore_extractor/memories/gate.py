"""The gate: what may become a memory at all, and with which status. The default is to learn nothing.

A memory needs two sessions, or the person's own standing statement; one costly loss gets a trial. What looks like
poison waits for review. What holds a secret, is a model's refusal, is not about a known project, or says more than its
own evidence shows, is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spanlore.memory.memory import Kind, Source, Status
from spanlore.memory.shapes import asks_to_fetch, has_remote_url, is_refusal, speaks, suspicious
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.generality import core_of, is_of_one_session
from spanlore_extractor.memories.wording import MAX_TEXT_CHARS, is_shown_whole, quoted_parts, said_in, text_of
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.triggers import REVIEW

MIN_SESSIONS: Final = 2
MIN_LOOKUPS: Final = 3
"""Sessions that looked for the same thing before its place is told."""
COSTLY_CALLS: Final = 10
COSTLY_FAILURES: Final = 3
COSTLY_NS: Final = 180 * 10**9
"""One loss is costly with at least three failed attempts and ten calls, or three minutes of work, spent on it."""

SELF_TELLING: Final = frozenset({"edit_no_match", "edit_not_unique", "file_not_read", "file_changed", "is_directory"})
"""Classes of a file tool's refusals that say themselves what to do ("Read it first"): no memory is needed for those."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate says. `status` None: not kept at all."""

    status: Status | None
    reason: str


def examine(candidate: Candidate, redactor: Redactor) -> Decision:
    """Whether the candidate may be kept, evidence aside: CANDIDATE when it may, QUARANTINED, or not at all."""
    text = text_of(candidate)
    if not candidate.scope:
        return Decision(None, "the project is not known")
    if not candidate.value.strip() or not candidate.evidence or len(text) > MAX_TEXT_CHARS:
        return Decision(None, "it says nothing that can be shown")
    if candidate.kind is Kind.HARNESS and candidate.trigger.error_class in SELF_TELLING:
        return Decision(None, "trivial: the refusal itself says what to do")
    reason = _is_useless(candidate)
    if reason:
        return Decision(None, reason)
    if redactor.redact(text).count or "[redacted:" in text or "[credential:" in text:
        return Decision(None, "a secret stood in it")
    if is_refusal(text):
        return Decision(None, "a refusal, not a fact")
    if not _is_grounded(candidate, text):
        return Decision(None, "it says more than its evidence shows")
    shape = _suspicious(candidate)
    if shape:
        return Decision(Status.QUARANTINED, f"waits for review: {shape}")
    return Decision(Status.CANDIDATE, "one session; waits for another")


def promote(candidate: Candidate, session_count: int) -> Decision:
    """The status that the evidence carries, for a candidate that passed `examine`."""
    if candidate.kind.is_stated and candidate.is_statement:
        return Decision(Status.ACTIVE, "the user's own standing statement")
    if session_count >= (MIN_LOOKUPS if candidate.source is Source.REPEATED_LOOKUP else MIN_SESSIONS):
        return Decision(Status.ACTIVE, f"seen in {session_count} sessions")
    if candidate.source is Source.REPEATED_LOOKUP:
        return Decision(Status.CANDIDATE, f"looked up in {session_count} of {MIN_LOOKUPS} sessions")
    if not candidate.kind.is_stated and candidate.kind is not Kind.TRAP and is_costly(candidate):
        minutes = candidate.lost_ns / 60e9
        return Decision(Status.TRIAL, f"one costly loss: {candidate.lost_calls} calls, {minutes:.1f} min; on trial")
    return Decision(Status.CANDIDATE, "one session; waits for another")


def is_costly(candidate: Candidate) -> bool:
    """Whether one occurrence cost enough to be tried without waiting for another."""
    many = candidate.count >= COSTLY_FAILURES and candidate.lost_calls >= COSTLY_CALLS
    return many or candidate.lost_ns >= COSTLY_NS


def _is_useless(candidate: Candidate) -> str:
    """Why another session could not use it, '' when it could. Poison is not useless: it is to be seen, and reviewed."""
    if candidate.kind is Kind.EXPLICIT or _suspicious(candidate):
        return ""
    if candidate.kind is Kind.CORRECTION:
        if REVIEW in candidate.explanation and not candidate.is_statement:
            return "a review of the code at hand"
        stated = core_of(candidate.quote, candidate.is_statement)
        return "" if stated else "about the matter at hand; it says nothing to another session"
    if not is_shown_whole(candidate):
        return "what worked is too long to be shown"
    return is_of_one_session(candidate)


def _suspicious(candidate: Candidate) -> str:
    """Why a candidate must wait for review, '' when it need not. What a tool printed is held to more than what a person
    typed: there any remote address is too much."""
    if candidate.kind.is_stated:
        return suspicious(candidate.quote) or ("an address to fetch" if asks_to_fetch(candidate.quote) else "")
    parts = (candidate.failed, candidate.worked, candidate.error_line, candidate.value, candidate.subject)
    for part in (*parts, *candidate.paths):
        shape = suspicious(part)
        if shape:
            return shape
    shown = (candidate.worked, candidate.failed, candidate.value)
    if any(speaks(part) for part in (*shown, candidate.subject, *candidate.paths)):
        return "somebody speaks in a command or a name"
    if candidate.kind is Kind.LOCATION and any("$(" in part or "`" in part for part in shown):
        return "a command hidden in a name"
    return "an address outside of this machine" if any(has_remote_url(part) for part in shown) else ""


def _is_grounded(candidate: Candidate, text: str) -> bool:
    """Whether everything the text quotes stands in what was mined, and that in the cited spans."""
    sources = [
        " ".join(source.replace("`", "'").replace("“", '"').replace("”", '"').split())
        for source in (
            candidate.failed,
            candidate.worked,
            candidate.error_line,
            candidate.quote,
            candidate.subject,
            *candidate.paths,
        )
    ]
    if candidate.kind.is_stated:
        said = " ".join(candidate.quote.split())
        cited = [" ".join(item.quote.split()) for item in candidate.evidence]
        is_cited = any(quote and said.startswith(quote.rstrip()) for quote in cited)
        return is_cited and " ".join(said_in(candidate).split())[:30] in text
    return all(any(part in source for source in sources) for part in quoted_parts(text))

"""Candidate: something mined from one session, before any gate has looked at it."""

from __future__ import annotations

from dataclasses import dataclass, field

from spanlore.memory.memory import Evidence, Kind, Source, Trigger, memory_id


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing a session may teach, with the spans that show it.

    Everything in `failed`, `worked`, `error_line`, `paths` and `quote` is verbatim from those spans (the error line
    normalised); the wording is made of nothing else.
    """

    kind: Kind
    source: Source
    scope: str
    """Repository scope key or `user`; '' when the project is unknown."""
    session_id: str
    subject: str
    slot: str
    value: str
    evidence: tuple[Evidence, ...]
    time_ns: int
    """When the newest evidence was made."""
    explanation: str
    """Which rule found it, for people."""
    harness: str = ""
    branch: str = ""
    sub_path: str = ""
    """Where below the repository's root it was learned."""
    trigger: Trigger = field(default_factory=Trigger)
    failed: str = ""
    """The call that failed, or the path that was not there."""
    worked: str = ""
    """The call, the remedy or the path that did."""
    error_line: str = ""
    paths: tuple[str, ...] = ()
    """Files that were changed before it passed (traps)."""
    quote: str = ""
    """The person's words."""
    count: int = 1
    """How many failures there were."""
    lost_ns: int = 0
    """Active time it cost."""
    lost_calls: int = 0
    confirmed: str = ""
    """What confirmed the session after this, '' when nothing did."""
    is_statement: bool = False
    """The person stated it as a standing rule, or asked to have it remembered."""

    @property
    def id(self) -> str:
        """Id of the memory this becomes."""
        return memory_id(self.scope, self.kind, self.subject, self.slot, self.value, self.harness)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that was looked at and not taken, and why."""

    what: str
    """failure, message or candidate."""
    session_id: str
    trace_id: str
    span_id: str
    time_ns: int
    text: str
    """The failing command, or the message, shortened."""
    reason: str

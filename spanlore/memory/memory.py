"""Memory: one thing learned, with the spans that prove it.

A memory's id is derived from what it is about (scope, kind, subject, slot) and what it says (value), so mining the
same spans again gives the same memory. Nothing is ever deleted: a changed memory is a new version of the same id, a
superseded one keeps its row. Times are integer nanoseconds since the epoch.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from spanlore.memory.anchor import Anchor, AnchorState, anchor_from_json, state_of


class Kind(StrEnum):
    """What sort of thing was learned."""

    USAGE = "usage"
    """How a command or tool is used here: the form that works instead of the one that fails."""
    ENVIRONMENT = "environment"
    """What has to be installed, started, activated or exported first."""
    LOCATION = "location"
    """Where something is."""
    HARNESS = "harness"
    """How a harness's own tool wants its arguments; bound to that harness."""
    TRAP = "trap"
    """A failure that keeps coming back although each time code was changed to fix it."""
    DEAD_END = "dead_end"
    """A failure repeated without ever being solved."""
    CORRECTION = "correction"
    """A rule the user stated while correcting the agent."""
    EXPLICIT = "explicit"
    """Something the user asked to have remembered."""

    @property
    def is_stated(self) -> bool:
        """A person's own words; the others are mined from what happened."""
        return self in (Kind.CORRECTION, Kind.EXPLICIT)

    @property
    def recommends(self) -> bool:
        """Its text ends with the command or path that worked. That of a trap or a dead end is the failure."""
        return self in (Kind.USAGE, Kind.ENVIRONMENT, Kind.LOCATION)


class Source(StrEnum):
    """How it came to be known."""

    FAILURE_DELTA = "failure_delta"
    CORRECTION = "correction"
    MERGED = "merged"
    REPEATED_LOOKUP = "repeated_lookup"
    EXPLICIT = "explicit"

    @property
    def is_stated(self) -> bool:
        """A person said it."""
        return self in (Source.CORRECTION, Source.EXPLICIT)


class Status(StrEnum):
    """Where a memory is in its life."""

    CANDIDATE = "candidate"
    TRIAL = "trial"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    QUARANTINED = "quarantined"
    """Its shape is suspicious (a URL to fetch, a pipeline from the network, an order to ignore); waits for review."""
    FORGOTTEN = "forgotten"
    """The user said so; never learned again."""

    @property
    def is_live(self) -> bool:
        """Candidate, on trial or active: what new evidence may still change."""
        return self in (Status.CANDIDATE, Status.TRIAL, Status.ACTIVE)

    @property
    def is_shown(self) -> bool:
        """Shown to agents: on trial or active."""
        return self in (Status.TRIAL, Status.ACTIVE)


class EvidenceRole(StrEnum):
    """What a cited span shows."""

    FAILURE = "failure"
    FIX = "fix"
    STATEMENT = "statement"
    AGAINST = "against"
    """The form the memory recommends failed in the way it was to prevent."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One span that proves a memory."""

    trace_id: str
    """32 hex digits."""
    span_id: str
    """16 hex digits."""
    session_id: str
    role: EvidenceRole
    time_ns: int
    quote: str = ""
    """Verbatim, at most 240 characters, redacted."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """The failure at which a memory is to be shown, most exact first."""

    signatures: tuple[str, ...] = ()
    """Failure signatures, 16 hex digits each."""
    program: str = ""
    error_class: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing learned."""

    id: str
    """`m-` and 12 hex digits."""
    kind: Kind
    source: Source
    status: Status
    scope: str
    """Repository scope key, or `user`."""
    text: str
    """Declarative, at most 400 characters; what an agent is shown."""
    subject: str = ""
    """What it is about: the program, the path, or the topic of a rule."""
    slot: str = ""
    """Which property of the subject. Only the same subject and slot can supersede."""
    value: str = ""
    """What it says of the slot; with subject and slot the canonical key."""
    why: str = ""
    """The user's own words, or the failure line, verbatim."""
    harness: str = ""
    """Set when it only holds for that harness."""
    branch: str = ""
    """Where it was first learned; no memory is kept from another branch."""
    sub_path: str = ""
    """Directory below the repository's root that it holds for; '' for all of it."""
    origins: tuple[str, ...] = ()
    """Repositories it was learned in, where that is not its scope: a preference of several repositories."""
    anchors: tuple[Anchor, ...] = ()
    """What of the working tree it names."""
    trigger: Trigger = field(default_factory=Trigger)
    evidence: tuple[Evidence, ...] = ()
    session_count: int = 0
    """Distinct sessions that speak for it."""
    seen: tuple[str, ...] = ()
    """Digests of sessions that were counted and whose evidence is no longer cited, so that none counts twice."""
    alpha: float = 1.0
    beta: float = 1.0
    """Beta counts for and against; confidence is their mean."""
    measured_effect: float = 0.0
    """Share of sessions in which what it speaks of came back, shown minus withheld, in steps of 0.05: below 0 it was
    measured to help. 0 where too few sessions tell."""
    pinned: bool = False
    created_at_ns: int = 0
    updated_at_ns: int = 0
    """When the newest evidence was made, not when it was shown."""
    valid_from_ns: int = 0
    """Since when it has held, as far as the evidence shows; `created_at_ns` is when it was recorded."""
    valid_to_ns: int = 0
    """Until when: the time of what superseded it, or the end its user set when it was made. 0 while it holds."""
    restated_ns: int = 0
    """When it was said again after something else had superseded it; what is older was weighed then. 0: never."""
    lost_ns: int = 0
    """Active time the costliest occurrence lost."""
    lost_calls: int = 0
    is_edited: bool = False
    """A person wrote the text; mining never rewrites it."""
    verdict: str = ""
    """What the model judge said of it last, and of how many sessions; '' when it was never asked."""
    duplicate_of: str = ""
    """The memory that says the same: as a judge sees it; once merged, the one it went into (`superseded_by`)."""
    merged_text: str = ""
    """What a judge proposes that both should say; shown to nobody, and taken only with a person's yes."""
    superseded_by: str = ""
    note: str = ""
    """Why it has its status, for people."""
    version: int = 1

    @property
    def confidence(self) -> float:
        """Mean of the Beta distribution, 0 to 1."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def is_live(self) -> bool:
        """Candidate, on trial or active: what new evidence may still change."""
        return self.status.is_live

    @property
    def is_shown(self) -> bool:
        """Whether an agent may be shown it at all: not when what it names is gone, unless its user pinned it."""
        is_gone = not self.pinned and self.anchor_state is AnchorState.ORPHANED
        return self.status.is_shown and not is_gone

    @property
    def anchor_state(self) -> AnchorState:
        """The worst state of what it names."""
        return state_of(self.anchors)

    def is_over(self, now_ns: int) -> bool:
        """Whether the end that its user set has come: from then on it is shown to nobody, pinned or not."""
        return self.is_live and 0 < self.valid_to_ns <= now_ns

    def holds_in(self, sub_path: str) -> bool:
        """Whether it holds for work in that directory of the repository: its own, one below or above it."""
        one, other = f"{self.sub_path}/", f"{sub_path}/"
        return not self.sub_path or not sub_path or one.startswith(other) or other.startswith(one)


USER_SCOPE = "user"


def memory_id(scope: str, kind: Kind, subject: str, slot: str, value: str, harness: str = "") -> str:
    """`m-` and 12 hex digits of what a memory is about and says. The same thing learned twice is one memory."""
    state = hashlib.blake2b(digest_size=6, person=b"memory")
    for word in (scope, kind.value, subject, slot, value, harness):
        data = word.encode("utf-8", "replace")
        state.update(len(data).to_bytes(4, "big") + data)
    return f"m-{state.hexdigest()}"


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """JSON object with the field names above; enumerations by value."""
    return asdict(memory)


def memory_from_json(data: dict[str, Any]) -> Memory:
    """The inverse of `memory_to_json`. Keys that are not known (a newer version's) are left out.

    Raises:
        ValueError: an enumeration has a value this version does not know, or a required field is missing.
    """
    known = {key: value for key, value in data.items() if key in Memory.__dataclass_fields__}
    try:
        return Memory(
            **{
                **known,
                "kind": Kind(known["kind"]),
                "source": Source(known["source"]),
                "status": Status(known["status"]),
                "trigger": _trigger(known.get("trigger") or {}),
                "evidence": tuple(_evidence(item) for item in known.get("evidence") or ()),
                "seen": tuple(str(item) for item in known.get("seen") or ()),
                "origins": tuple(str(item) for item in known.get("origins") or ()),
                "anchors": tuple(anchor_from_json(item) for item in known.get("anchors") or ()),
            }
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a memory: {error}") from error


def _trigger(data: dict[str, Any]) -> Trigger:
    return Trigger(
        signatures=tuple(data.get("signatures") or ()),
        program=data.get("program") or "",
        error_class=data.get("error_class") or "",
    )


def _evidence(data: dict[str, Any]) -> Evidence:
    return Evidence(
        trace_id=data["trace_id"],
        span_id=data["span_id"],
        session_id=data["session_id"],
        role=EvidenceRole(data["role"]),
        time_ns=int(data["time_ns"]),
        quote=data.get("quote") or "",
    )

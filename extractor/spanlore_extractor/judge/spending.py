"""What the judge has cost, what it may still cost, and whom it is not asked about any more. Pure; kept as JSON in
mining's state, so that no restart forgets a cap."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

DAY_NS: Final = 86_400 * 10**9
STRIKES: Final = 2
"""So many worthless answers about one lesson, and the model is not asked about it again."""
MAX_POISONED: Final = 500
MAX_SESSIONS: Final = 400
PAUSE_NS: Final = 15 * 60 * 10**9
MAX_PAUSE_NS: Final = 6 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent."""

    day_tokens: int
    session_tokens: int
    day_usd: float
    session_usd: float


@dataclass(frozen=True, slots=True)
class Spending:
    """State of the judge's purse."""

    day: int = 0
    """Days since the epoch, UTC."""
    tokens: int = 0
    usd: float = 0.0
    calls: int = 0
    sessions: dict[str, list[float]] = field(default_factory=dict)
    """Session → [tokens, US dollars] of this day."""
    strikes: dict[str, int] = field(default_factory=dict)
    """Lesson → worthless answers. At `STRIKES` it is on the poison list."""
    paused_until_ns: int = 0
    pauses: int = 0
    """In a row; each is twice as long as the one before."""
    trouble: str = ""
    """What went wrong last, for people."""

    def on(self, now_ns: int) -> Spending:
        """The state at that time: another day starts with an empty purse, the poison list stays."""
        today = now_ns // DAY_NS
        return self if today == self.day else replace(self, day=today, tokens=0, usd=0.0, calls=0, sessions={})

    def why_not(self, memory_id: str, session_id: str, estimate_tokens: int, caps: Caps, now_ns: int) -> str:
        """Why the model may not be asked now, '' when it may. What is of no session ('') has only the day's caps."""
        tokens, usd = self.sessions.get(session_id, [0, 0.0])
        if self.strikes.get(memory_id, 0) >= STRIKES:
            return "on the poison list"
        if now_ns < self.paused_until_ns:
            return f"paused: {self.trouble}"
        if self.tokens + estimate_tokens > caps.day_tokens or self.usd >= caps.day_usd:
            return "the day's cap is reached"
        if session_id and (tokens + estimate_tokens > caps.session_tokens or usd >= caps.session_usd):
            return "the session's cap is reached"
        return ""

    def spent(self, session_id: str, tokens: int, usd: float) -> Spending:
        """After a call."""
        before = self.sessions.get(session_id, [0, 0.0])
        sessions = {**self.sessions, session_id: [before[0] + tokens, before[1] + usd]} if session_id else self.sessions
        kept = dict(list(sessions.items())[-MAX_SESSIONS:])
        return replace(
            self, tokens=self.tokens + tokens, usd=self.usd + usd, calls=self.calls + 1, sessions=kept
        )  # fmt: skip

    def answered(self) -> Spending:
        """The API works."""
        return replace(self, pauses=0, trouble="")

    def struck(self, memory_id: str, why: str) -> Spending:
        """After a worthless answer."""
        strikes = {**self.strikes, memory_id: self.strikes.get(memory_id, 0) + 1}
        return replace(self, strikes=dict(list(strikes.items())[-MAX_POISONED:]), trouble=why)

    def pause(self, now_ns: int, why: str, retry_after_s: float | None = None) -> Spending:
        """Asks nobody for a while: as long as the API says, else longer each time, at most six hours."""
        wait_ns = PAUSE_NS * 2 ** min(self.pauses, 6) if retry_after_s is None else int(retry_after_s * 1e9)
        until_ns = now_ns + min(max(wait_ns, 10**9), MAX_PAUSE_NS)
        return replace(self, paused_until_ns=until_ns, pauses=self.pauses + 1, trouble=why)

    def poisoned(self) -> list[str]:
        """Lessons the model is not asked about any more."""
        return sorted(key for key, count in self.strikes.items() if count >= STRIKES)

    def to_json(self) -> str:
        """For mining's state."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | None) -> Spending:
        """The inverse; what can't be read is an empty purse of no day."""
        try:
            data: dict[str, Any] = json.loads(text or "{}")
            return cls(
                day=int(data.get("day", 0)),
                tokens=int(data.get("tokens", 0)),
                usd=float(data.get("usd", 0)),
                calls=int(data.get("calls", 0)),
                sessions={str(k): [float(v[0]), float(v[1])] for k, v in dict(data.get("sessions", {})).items()},
                strikes={str(k): int(v) for k, v in dict(data.get("strikes", {})).items()},
                paused_until_ns=int(data.get("paused_until_ns", 0)),
                pauses=int(data.get("pauses", 0)),
                trouble=str(data.get("trouble", "")),
            )
        except (ValueError, TypeError, AttributeError, LookupError):
            return cls()

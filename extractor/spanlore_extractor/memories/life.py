"""What time does to memories: old evidence stops being shown, and where there are too many those worth least go.

Nothing is deleted. What fades goes back among the candidates and comes back with one more session; a candidate beyond
the cap is retired. Pinned ones stay. Pure: the clock is an argument.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spanlore.memory.memory import Memory, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.trust import DAY_NS, confidence_at
from spanlore.recall.budget import count_tokens
from spanlore.recall.rank import AUTHORITY, MIN_CONFIDENCE

TOKENS_PER_CALL: Final = 600
"""What one needless tool call costs a session: the call, its output, and both in the history from then on."""
TOKENS_PER_MINUTE: Final = 300
MONTH_DAYS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Caps:
    """How many a scope may have."""

    active: int = 200
    candidates: int = 500


def grow_old(known: Iterable[Memory], now_ns: int, caps: Caps) -> list[Operation]:
    """Operations that time makes due, by id within a scope."""
    scopes: dict[str, list[Memory]] = defaultdict(list)
    for memory in sorted(known, key=lambda memory: memory.id):
        scopes[memory.scope].append(memory)
    out: list[Operation] = []
    for _, memories in sorted(scopes.items()):
        out += _grow_old(memories, now_ns, caps)
    return out


def expected_value(memory: Memory, now_ns: int) -> float:
    """Tokens a month it can be expected to save, less what showing it costs: how often it came up, what that cost each
    time, and how far it is believed."""
    age_days = max(1.0, (now_ns - (memory.valid_from_ns or memory.created_at_ns)) / DAY_NS)
    a_month = max(1, memory.session_count) * MONTH_DAYS / max(age_days, MONTH_DAYS)
    saved = max(1, memory.lost_calls) * TOKENS_PER_CALL + memory.lost_ns / 60e9 * TOKENS_PER_MINUTE
    return confidence_at(memory, now_ns) * a_month * saved - count_tokens(memory.text)


def _grow_old(memories: Sequence[Memory], now_ns: int, caps: Caps) -> list[Operation]:
    out: dict[str, Operation] = {memory.id: _ended(memory) for memory in memories if memory.is_over(now_ns)}
    memories = [memory for memory in memories if memory.id not in out]
    for memory in memories:
        if memory.status.is_shown and not memory.pinned and confidence_at(memory, now_ns) < MIN_CONFIDENCE:
            days = int((now_ns - memory.updated_at_ns) / DAY_NS)
            out[memory.id] = _demoted(memory, f"no new evidence for {days} days")
    shown = [memory for memory in memories if memory.status.is_shown and memory.id not in out]
    for memory in _worth_least(shown, now_ns, caps.active):
        out[memory.id] = _demoted(memory, f"more than {caps.active} are shown here, and it is worth less than those")
    waiting = [memory for memory in memories if memory.status is Status.CANDIDATE]
    for memory in _worth_least(waiting, now_ns, caps.candidates):
        note = f"more than {caps.candidates} candidates wait here, and it is worth less than those"
        ended = replace(memory, status=Status.RETIRED, note=note, version=memory.version + 1)
        out[memory.id] = Operation(Verb.RETIRED, ended, note)
    return [operation for _, operation in sorted(out.items())]


def _worth_least(memories: Sequence[Memory], now_ns: int, cap: int) -> list[Memory]:
    """Those beyond the cap: a person's word stands above any saving, pinned ones never go."""
    ranked = sorted(
        memories,
        key=lambda memory: (
            not memory.pinned, -AUTHORITY[memory.source], -expected_value(memory, now_ns), memory.id,
        ),
    )  # fmt: skip
    return [memory for memory in ranked[cap:] if not memory.pinned]


def _ended(memory: Memory) -> Operation:
    note = "its user wanted it until then"
    changed = replace(memory, status=Status.RETIRED, pinned=False, note=note, version=memory.version + 1)
    return Operation(Verb.RETIRED, changed, note)


def _demoted(memory: Memory, note: str) -> Operation:
    changed = replace(memory, status=Status.CANDIDATE, note=note, version=memory.version + 1)
    return Operation(Verb.DEMOTED, changed, note)

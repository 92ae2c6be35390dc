"""What the measured effect does to a memory: it is promoted, put back on trial, or retired. Pure.

- **helps** (the interval lies below 0): a memory on trial becomes active.
- **harms** (the interval lies above 0): retired.
- **does not pay**: after `MANY_SESSIONS` shown and `MANY_WITHHELD` withheld the interval still holds 0, and nobody used
  what it names more often than without it: retired, since it costs tokens in every request.
- **looks bad**: an active memory comes back more often than without it, though the interval still holds 0: on trial
  again, where half of the sessions withhold it, so that the answer comes sooner.

What the user pinned, asked to have remembered, or wrote, is never changed by a rule: its effect is shown, no more. A
measured effect, in steps of 0.05, is kept in the memory, where recall sees it: of two with equal authority the one that
was measured to help comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.effect.estimate import Effect, difference_interval

ACTOR: Final = "effect"
MANY_SESSIONS: Final = 200
MANY_WITHHELD: Final = 40
DOUBT_Z: Final = 1.2815515655446004
"""80 %, two-sided: enough to look closer, not to retire."""
STEP: Final = 0.05


def apply_rules(known: Iterable[Memory], effects: Mapping[str, Effect]) -> list[Operation]:
    """Operations that the effects make due, by id."""
    out: list[Operation] = []
    for memory in sorted(known, key=lambda memory: memory.id):
        effect = effects.get(memory.id)
        if effect is None or not effect.is_enough or not memory.is_live:
            continue
        operation = _due(memory, effect)
        if operation is not None:
            out.append(operation)
    return out


def _due(memory: Memory, effect: Effect) -> Operation | None:
    measured = rounded(effect)
    if not _is_the_users(memory):
        status, reason = _ruled(memory, effect)
        if status is Status.RETIRED:
            return _changed(memory, Verb.RETIRED, status, reason, measured)
        if status is not memory.status:
            return _changed(memory, Verb.UPDATED, status, reason, measured)
    if measured == memory.measured_effect:
        return None
    # Not a note: why the memory has its status is still what it was.
    changed = replace(memory, measured_effect=measured, version=memory.version + 1)
    return Operation(Verb.UPDATED, changed, f"measured: {_told(effect)}", ACTOR)


def _ruled(memory: Memory, effect: Effect) -> tuple[Status, str]:
    """(the status it is to have, why)."""
    told = _told(effect)
    if effect.verdict == "harms":
        return Status.RETIRED, f"it does harm: {told}"
    if effect.verdict == "helps":
        return (Status.ACTIVE, f"it helps: {told}") if memory.status is Status.TRIAL else (memory.status, "")
    is_long = effect.shown.of >= MANY_SESSIONS and effect.withheld.of >= MANY_WITHHELD
    if is_long and effect.used.value <= effect.used_withheld.value:
        return Status.RETIRED, f"it does not pay: {told}, and what it names is not used more often"
    if memory.status is Status.ACTIVE and difference_interval(effect.shown, effect.withheld, DOUBT_Z)[0] > 0:
        return Status.TRIAL, f"on trial again, it may do harm: {told}"
    return memory.status, ""


def rounded(effect: Effect) -> float:
    """The difference in steps of `STEP`, as it is kept: below 0 it helps. 0 while the interval holds 0."""
    if effect.verdict not in ("helps", "harms"):
        return 0.0
    return round(round(effect.difference / STEP) * STEP, 2) + 0.0


def _is_the_users(memory: Memory) -> bool:
    return memory.pinned or memory.is_edited or memory.source is Source.EXPLICIT


def _changed(memory: Memory, verb: Verb, status: Status, reason: str, measured: float) -> Operation:
    changed = replace(memory, status=status, note=reason, measured_effect=measured, version=memory.version + 1)
    return Operation(verb, changed, reason, ACTOR)


def _told(effect: Effect) -> str:
    one, other = effect.shown, effect.withheld
    return f"came back in {one.hits} of {one.of} sessions with it, {other.hits} of {other.of} without"

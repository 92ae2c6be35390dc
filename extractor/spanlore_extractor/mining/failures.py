"""Failures and what fixed them: finds for every failing call the later call that answers it, or says why none does.

Algorithm of research/memory-systems.md §5.1. The search stays in one conversation, within `window_ns` of active time;
calls of one inference ran side by side and can't fix each other; when a person spoke in between, and not only to say
"continue", the fix may be theirs; when another failure of the same program stands in between, nothing is known. One
success answers one chain of failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.answer import DeltaType, Match, is_success
from spanlore_extractor.mining.hygiene import says_go_on
from spanlore_extractor.mining.pairing import is_bypass, is_same_attempt, match
from spanlore_extractor.mining.session import Conversation, HumanStep, Step, ToolStep, active_clock
from spanlore_extractor.mining.tools import ToolKind, is_edit, is_environment_change, kind_of

MAX_CALLS: Final = 25
"""How many calls later an answer may come."""
MAX_CALLS_LOOSE: Final = 6
"""The same where the failing call itself was not done again."""
CONFIRM_CALLS: Final = 8
_LOOSE: Final = frozenset({DeltaType.USAGE, DeltaType.LOCATION, DeltaType.ENVIRONMENT})


@dataclass(frozen=True, slots=True)
class Delta:
    """A chain of failures and the call that answered it."""

    type: DeltaType
    chain: tuple[ToolStep, ...]
    """The failing calls, oldest first; at least one."""
    fix: ToolStep
    remedies: tuple[ToolStep, ...]
    """What was changed in between: edits, installations, files moved. Empty when the call itself was changed."""
    reason: str
    """The rule that paired them, for people."""
    lost_ns: int
    """Active time from the first failure to the fix."""
    lost_calls: int
    """Calls from the first failure on, the fix not counted."""

    @property
    def failure(self) -> ToolStep:
        """The last failure of the chain, the one the fix answers."""
        return self.chain[-1]


@dataclass(frozen=True, slots=True)
class Drop:
    """A failing call that teaches nothing, and why."""

    failure: ToolStep
    reason: str


@dataclass(frozen=True, slots=True)
class Findings:
    """All failing calls of a conversation are in one of the two."""

    deltas: tuple[Delta, ...]
    drops: tuple[Drop, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    index: int
    fix_index: int
    match: Match


def find_deltas(conversation: Conversation, window_ns: int) -> Findings:
    """The conversation's deltas and drops, in order. Linear in the number of steps (the search ahead is bounded)."""
    steps = conversation.steps
    clock = active_clock(steps)
    pairs: list[_Pair] = []
    drops: list[Drop] = []
    for index, step in enumerate(steps):
        if isinstance(step, ToolStep) and step.outcome is Outcome.FAILURE:
            found = _search(steps, clock, index, window_ns)
            if isinstance(found, Drop):
                drops.append(found)
            else:
                pairs.append(found)
    chains: dict[int, list[_Pair]] = {}
    for pair in pairs:
        chains.setdefault(pair.fix_index, []).append(pair)
    deltas = tuple(_delta(steps, clock, chain) for chain in chains.values())
    return Findings(deltas, tuple(drops))


def _search(steps: Sequence[Step], clock: list[int], index: int, window_ns: int) -> _Pair | Drop:
    failure = steps[index]
    assert isinstance(failure, ToolStep)
    between: list[ToolStep] = []
    for later_index in range(index + 1, len(steps)):
        later = steps[later_index]
        if clock[later_index] - clock[index] > window_ns:
            return Drop(failure, "nothing answered it within the time window")
        if isinstance(later, HumanStep) and later.channel is not Channel.QUEUED and not says_go_on(later.text):
            return Drop(failure, "a person spoke before anything answered it")
        if not isinstance(later, ToolStep) or later.step_index == failure.step_index:
            continue
        if len(between) >= MAX_CALLS:
            return Drop(failure, "nothing answered it within the next calls")
        found = match(failure, later, between)
        if found:
            return _accept(steps, index, later_index, found, between)
        if is_same_attempt(failure, later):
            if later.outcome is Outcome.REJECTED:
                return Drop(failure, "the next attempt was rejected by a person")
            # Two refused edits are one fumble, whatever line the tool complained of.
            if (
                later.outcome is Outcome.FAILURE
                and later.signature != failure.signature
                and kind_of(failure) is not ToolKind.EDIT
            ):
                return Drop(failure, "the next attempt failed in another way")
        between.append(later)
    return Drop(failure, "nothing answered it before the conversation ended")


def _accept(
    steps: Sequence[Step], index: int, fix_index: int, found: Match, between: Sequence[ToolStep]
) -> _Pair | Drop:
    failure, fix = steps[index], steps[fix_index]
    assert isinstance(failure, ToolStep) and isinstance(fix, ToolStep)
    if is_bypass(failure, fix):
        return Drop(failure, "it only passed with a check switched off")
    if found.type is DeltaType.FLAKY:
        return Drop(failure, found.reason)
    is_rerun = is_same_attempt(failure, fix)
    if found.type in _LOOSE and not is_rerun and len(between) > MAX_CALLS_LOOSE:
        return Drop(failure, "what might have answered it came too many calls later")
    if found.is_action and _fails_again(steps, fix_index, failure):
        return Drop(failure, "the same failure came back after what might have fixed it")
    return _Pair(index, fix_index, found)


def _fails_again(steps: Sequence[Step], fix_index: int, failure: ToolStep) -> bool:
    """Whether the first attempt after the remedy fails as before."""
    for later in steps[fix_index + 1 : fix_index + 1 + CONFIRM_CALLS]:
        if isinstance(later, ToolStep) and is_same_attempt(failure, later):
            return not is_success(later) and later.signature == failure.signature
    return False


def _delta(steps: Sequence[Step], clock: list[int], chain: list[_Pair]) -> Delta:
    first, last = chain[0], chain[-1]
    fix = steps[last.fix_index]
    assert isinstance(fix, ToolStep)
    inside = [step for step in steps[first.index : last.fix_index] if isinstance(step, ToolStep)]
    after_last = [step for step in steps[last.index + 1 : last.fix_index] if isinstance(step, ToolStep)]
    remedies = [step for step in after_last if is_success(step) and (is_edit(step) or is_environment_change(step))]
    # A remedy that is the named fix itself needs no other.
    own = last.match.type in (DeltaType.CODE_FIX, DeltaType.ENVIRONMENT) and not last.match.is_action
    return Delta(
        type=last.match.type,
        chain=tuple(step for pair in chain if isinstance(step := steps[pair.index], ToolStep)),
        fix=fix,
        remedies=tuple(remedies) if own else (),
        reason=last.match.reason,
        lost_ns=clock[last.fix_index] - clock[first.index],
        lost_calls=len(inside),
    )

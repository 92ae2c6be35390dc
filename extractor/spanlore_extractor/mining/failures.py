"""Failures and what fixed them: finds for every failing call the later call that answers it, or says why none does.

The search stays in one conversation, within `window_ns` of active time;
calls of one inference ran side by side and can't fix each other; when a person said in between that they did something,
the fix may be theirs, and after any other words only the same command or edit, done soon, still answers; when another
failure of the same program stands in between, nothing is known, unless it is the very command, run again and again
while files are changed. One success answers one chain of failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.answer import DeltaType, Match, is_success
from spanlore_extractor.mining.hygiene import says_go_on, tells_of_own_doing
from spanlore_extractor.mining.pairing import is_bypass, is_same_attempt, is_same_command, match
from spanlore_extractor.mining.session import Conversation, HumanStep, Step, ToolStep, active_clock
from spanlore_extractor.mining.tools import ToolKind, is_edit, is_environment_change, kind_of

MAX_CALLS: Final = 25
"""How many calls later an answer may come."""
MAX_CALLS_SAME: Final = 40
"""The same for the very command that failed."""
MAX_CALLS_LOOSE: Final = 6
"""The same where the failing call itself was not done again."""
CONFIRM_CALLS: Final = 8
REJECTED: Final = "the next attempt was rejected by a person"
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


class _Search:
    """Looks for the answer to one failing call, step by step."""

    def __init__(self, steps: Sequence[Step], index: int) -> None:
        failure = steps[index]
        assert isinstance(failure, ToolStep)
        self._steps, self._index, self._failure = steps, index, failure
        self._between: list[ToolStep] = []
        self._spoken_at: int | None = None
        """How many calls stood between when a person spoke."""
        self._is_rejected = False

    def hears(self, step: HumanStep) -> Drop | None:
        """Takes a person's words. What the very call tells of may still be answered, unless they say that they did
        something, or speak twice."""
        if step.channel is Channel.QUEUED or says_go_on(step.text):
            return None
        is_rejecting = self._is_rejected and step.channel is Channel.REJECTION_REASON
        if self._spoken_at is not None or is_rejecting or tells_of_own_doing(step.text) or not self._is_repeatable():
            return self._drop()
        self._spoken_at = len(self._between)
        return None

    def sees(self, later: ToolStep, at: int) -> _Pair | Drop | None:
        """Takes a later call: the answer, the end of the search, or None."""
        count, is_same = len(self._between), is_same_command(self._failure, later)
        if count >= MAX_CALLS_SAME:
            return Drop(self._failure, "nothing answered it within the next calls")
        if self._spoken_at is not None and count - self._spoken_at >= MAX_CALLS_LOOSE:
            return self._drop()
        if count < MAX_CALLS or is_same:
            found = match(self._failure, later, self._between)
            if found:
                return _accept(self._steps, self._index, at, found, self._between)
        if is_same_attempt(self._failure, later) and (drop := self._after_attempt(later, is_same)):
            return drop
        self._between.append(later)
        return None

    def _after_attempt(self, later: ToolStep, is_same: bool) -> Drop | None:
        """The same was tried again, and did not do."""
        is_edit_tool = kind_of(self._failure) is ToolKind.EDIT
        if later.outcome is Outcome.REJECTED:
            if self._is_rejected or not is_edit_tool:
                return Drop(self._failure, REJECTED)
            self._is_rejected = True
        # Two refused edits are one fumble, whatever line the tool complained of; a command that is run again and again
        # while files are changed is one piece of work.
        is_other = later.outcome is Outcome.FAILURE and later.signature != self._failure.signature
        if is_other and not is_edit_tool and not (is_same and any(map(is_edit, self._between))):
            return Drop(self._failure, "the next attempt failed in another way")
        return None

    def ends(self) -> Drop:
        """No step is left."""
        if self._is_rejected:
            return Drop(self._failure, REJECTED)
        if len(self._between) >= MAX_CALLS:
            return Drop(self._failure, "nothing answered it within the next calls")
        return Drop(self._failure, "nothing answered it before the conversation ended")

    def _drop(self) -> Drop:
        return Drop(self._failure, REJECTED if self._is_rejected else "a person spoke before anything answered it")

    def _is_repeatable(self) -> bool:
        """Whether what answers it is told by the call itself, so that it can't be about what was said meanwhile."""
        return kind_of(self._failure) in (ToolKind.SHELL, ToolKind.EDIT)


def _search(steps: Sequence[Step], clock: list[int], index: int, window_ns: int) -> _Pair | Drop:
    failure = steps[index]
    assert isinstance(failure, ToolStep)
    search = _Search(steps, index)
    for at in range(index + 1, len(steps)):
        later = steps[at]
        if clock[at] - clock[index] > window_ns:
            return Drop(failure, "nothing answered it within the time window")
        found: _Pair | Drop | None = None
        if isinstance(later, HumanStep):
            found = search.hears(later)
        elif isinstance(later, ToolStep) and later.step_index != failure.step_index:
            found = search.sees(later, at)
        if found:
            return found
    return search.ends()


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

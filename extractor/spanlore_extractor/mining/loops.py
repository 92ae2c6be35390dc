"""Loops: the same failure at least three times in one conversation, never answered. Worth knowing as a dead end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanlore_extractor.mining.failures import Delta
from spanlore_extractor.mining.pairing import is_probe
from spanlore_extractor.mining.session import Conversation, ToolStep, active_clock
from spanlore_extractor.mining.tools import ToolKind, kind_of

MIN_REPEATS: Final = 3


@dataclass(frozen=True, slots=True)
class Loop:
    """One failure, again and again."""

    steps: tuple[ToolStep, ...]
    """The failing calls, oldest first; calls of one inference count once."""
    lost_ns: int
    """Active time from the first to the last."""


def find_loops(conversation: Conversation, deltas: Sequence[Delta]) -> list[Loop]:
    """The conversation's loops, in the order they began. Only commands: a refused edit is no dead end."""
    clock = active_clock(conversation.steps)
    solved = {step.span_id for delta in deltas for step in delta.chain} | {delta.failure.signature for delta in deltas}
    groups: dict[str, dict[int, tuple[int, ToolStep]]] = {}
    for index, step in enumerate(conversation.steps):
        if not isinstance(step, ToolStep) or not step.signature or kind_of(step) is not ToolKind.SHELL:
            continue
        if step.span_id not in solved and step.signature not in solved and step.error_line and not is_probe(step):
            groups.setdefault(step.signature, {}).setdefault(step.step_index, (index, step))
    loops = []
    for group in groups.values():
        if len(group) >= MIN_REPEATS:
            indexes = [index for index, _ in group.values()]
            loops.append(Loop(tuple(step for _, step in group.values()), clock[indexes[-1]] - clock[indexes[0]]))
    return loops

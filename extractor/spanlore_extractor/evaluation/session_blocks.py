"""What real sessions' blocks would have held, and how much of it came up in the session that had to read it.

A memory came up when the session ran into the failure it answers, or did by itself what it recommends. Whether a
person's rule was of use no session tells: those are counted apart. The block is chosen as the proxy does: what the
opening prompt is most about, then by standing, one for each property of a subject, within the budget; lines are counted
with their frame as `recall.answer` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from spanlore.memory.memory import Kind, Memory
from spanlore.recall.answer import FRAME_TOKENS, LINE_TOKENS
from spanlore.recall.budget import count_tokens
from spanlore.recall.fit import Failed, weigh
from spanlore.recall.rank import is_for_block
from spanlore.recall.snapshot import Snapshot
from spanlore.spans.place import Outcome
from spanlore_extractor.mining.session import HumanStep, MinedSession, ToolStep

BUDGET_TOKENS: Final = 500
MAX_FIRST: Final = 3
FAIR_SCORE: Final = 0.6
"""As the proxy has them."""
_CODE: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Told:
    """A memory that is known in a session."""

    memory: Memory
    verdict: str
    """failed (the session ran into it), done (by the session itself), stated (nobody can tell), or no."""
    tokens: int
    is_shown: bool
    """It stands in the block."""


def told_in(session: MinedSession, known: Snapshot) -> Iterator[Told]:
    """Every memory that could have been in the session's block."""
    memories = list(known.in_scope(session.repository, session.harness, session.sub_path))
    steps = [step for one in session.conversations for step in one.steps if isinstance(step, ToolStep)]
    met = _met(session, steps, known)
    done = [f"{step.tool_name} {step.command}" for step in steps if step.outcome is Outcome.SUCCESS]
    block = {memory.id for memory in _block(session, memories, known)}
    for memory in memories:
        tokens = count_tokens(memory.text) + LINE_TOKENS
        yield Told(memory, _verdict(memory, met, done), tokens, memory.id in block)


def _block(session: MinedSession, memories: Sequence[Memory], known: Snapshot) -> Iterator[Memory]:
    prompt = next((step.text for step in session.conversations[0].steps if isinstance(step, HumanStep)), "")
    hits = known.search(session.repository, session.harness, prompt, MAX_FIRST, session.sub_path)
    first = [hit.memory for hit in hits if hit.score >= FAIR_SCORE * hits[0].score]
    left, slots = BUDGET_TOKENS - FRAME_TOKENS, set[tuple[str, str]]()
    for memory in dict.fromkeys(filter(is_for_block, chain(first, memories))):
        slot, tokens = (memory.subject, memory.slot), count_tokens(memory.text) + LINE_TOKENS
        if tokens <= left and not (memory.slot and slot in slots):
            left -= tokens
            slots.add(slot)
            yield memory


def _met(session: MinedSession, steps: Iterable[ToolStep], known: Snapshot) -> set[str]:
    """Ids of the memories that would have stood beside one of the session's failures."""
    out: set[str] = set()
    for step in steps:
        if step.outcome is Outcome.FAILURE and step.signature:
            found = known.answering(session.repository, session.harness, step.signature, step.program, step.error_class)
            weighed = weigh(found, Failed(step.program, step.command, step.error_line))
            out |= {one.match.memory.id for one in weighed if not one.cut}
    return out


def _verdict(memory: Memory, met: set[str], done: Iterable[str]) -> str:
    if memory.id in met:
        return "failed"
    if memory.source.is_stated:
        return "stated"
    remedy = (_CODE.findall(memory.text) or [memory.value])[-1]
    # Another tool, as a way around one that fails, is used by everybody for something.
    is_done = memory.kind is not Kind.HARNESS and any(remedy in call for call in done)
    return "done" if is_done else "no"


def row(what: str, found: Sequence[Told], sessions: int) -> dict[str, Any]:
    """Counts of memories, and tokens of their lines in one request."""
    shown = [one for one in found if one.is_shown]
    counts = Counter(one.verdict for one in shown)
    came_up = [one for one in found if one.verdict in ("failed", "done")]
    used = [one for one in came_up if one.is_shown]
    return {
        "what": what,
        "sessions": sessions,
        "shown": len(shown),
        "failed": counts["failed"],
        "done": counts["done"],
        "stated": counts["stated"],
        "no": counts["no"],
        "tokens": sum(one.tokens for one in shown),
        "tokens_used": sum(one.tokens for one in used),
        "came_up": len(came_up),
        "kept": round(len(used) / len(came_up), 3) if came_up else None,
    }

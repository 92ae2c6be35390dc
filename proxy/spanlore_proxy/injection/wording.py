"""The words an agent is shown.

Rules, each with a reason (research: memory systems §3E, §5.6):
- declarative: what was seen, where, when and how often. No order of ours: a recalled imperative was once executed.
- no secrecy and no "never mention": such words make agents report the block as an attack.
- tagged `<spanlore-memory>` and `<spanlore-hint>`, so that a person, a log and our own miner can tell it apart;
- says of itself that it may be outdated, and that the repository, its files and the user come first;
- a memory's own text can't end the tag or imitate a client's tag;
- the same memories give the same bytes: lines are in order of id, dates are days in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from spanlore.memory.memory import Memory, Source
from spanlore.recall.budget import fit_to_budget

BLOCK_TAG: Final = "spanlore-memory"
HINT_TAG: Final = "spanlore-hint"

MAX_TEXT_CHARS: Final = 400
"""A memory's text is at most this long (spanlore.memory); longer is cut, so one memory can't fill the block."""
MAX_KNOWN: Final = 1 << 12
"""Memories whose words are kept: those that stand first are looked at for every conversation."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words around the memories' own texts. Agents get `STANDARD`; others are what `spanlore eval uptake` compares
    it with."""

    block_head: str
    """Before the lines of a session block."""
    hint_head: str
    """Before the lines of a hint."""
    line: str = "- [{id}] {text} ({provenance})"
    """One memory; `[{id}]` stands behind `- `, or at the very end, where nothing in a memory's text can imitate it."""
    block_foot: str = ""
    """After the lines of a session block."""
    hint_foot: str = ""
    """After the lines of a hint."""


STANDARD: Final = Wording(
    "What earlier sessions in this repository showed, recorded by spanlore on the user's machine. It may be outdated;"
    " the repository, its instruction files and the user come first.",
    "Seen before, in earlier sessions; it may be outdated.",
)

_SOURCE_WORDS: Final[dict[Source, str]] = {
    Source.FAILURE_DELTA: "a failure and its fix",
    Source.CORRECTION: "the user's correction",
    Source.EXPLICIT: "the user's statement",
    Source.MERGED: "merged work",
    Source.REPEATED_LOOKUP: "repeated look-ups",
}

_TAG_START: Final = re.compile(
    r"<(?=\s*/?\s*(?:spanlore|system|user|assistant|human|instructions|command-|local-command|task-notification))",
    re.IGNORECASE,
)
"""Tags that mean something to an agent or to us; other angle brackets (`git switch <name>`) stay as they are."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MEMORY_ID: Final = re.compile(r"\[(m-[0-9a-f]{12})\]")
_LINE_ID: Final = re.compile(r"\A- \[(m-[0-9a-f]{12})\]|\[(m-[0-9a-f]{12})\]\Z")


def session_block(memories: Sequence[Memory], scope: str, as_of_ns: int, words: Wording = STANDARD) -> str:
    """The block for the system prompt, lines in order of id; '' for no memories."""
    if not memories:
        return ""
    lines = [memory_line(memory, words) for memory in sorted(memories, key=lambda memory: memory.id)]
    head, foot = block_frame(scope, as_of_ns, words)
    return "\n".join([head, *lines, foot])


def fit_session_block(
    memories: Iterable[Memory], scope: str, as_of_ns: int, budget_tokens: int, words: Wording = STANDARD
) -> tuple[list[Memory], list[Memory]]:
    """(those whose block keeps the budget, those tried that did not fit), in the order given, best first."""
    frame = "\n".join(block_frame(scope, as_of_ns, words))
    return fit_to_budget(((memory, memory_line(memory, words)) for memory in memories), budget_tokens, frame)


def hint(memories: Sequence[Memory], words: Wording = STANDARD) -> str:
    """The hint that stands after a failing tool result, or after a prompt; '' for no memories."""
    if not memories:
        return ""
    head, foot = _hint_frame(words)
    return "\n".join([head, *(memory_line(memory, words) for memory in memories), foot])


def fit_hint(
    memories: Iterable[Memory], budget_tokens: int, words: Wording = STANDARD
) -> tuple[list[Memory], list[Memory]]:
    """(those whose hint keeps the budget, those tried that did not fit), in the order given, best first."""
    frame = "\n".join(_hint_frame(words))
    return fit_to_budget(((memory, memory_line(memory, words)) for memory in memories), budget_tokens, frame)


def block_frame(scope: str, as_of_ns: int, words: Wording = STANDARD) -> tuple[str, str]:
    """What stands before and after the lines of a session block."""
    name = _CONTROL.sub(" ", scope).replace('"', "'").replace("<", "‹")
    return f'<{BLOCK_TAG} scope="{name}" as-of="{_day(as_of_ns)}">\n{words.block_head}', _foot(
        words.block_foot, BLOCK_TAG
    )


def memory_line(memory: Memory, words: Wording = STANDARD) -> str:
    """One line: id, text, and where it comes from."""
    provenance = _provenance(memory.source, memory.session_count, memory.updated_at_ns)
    return words.line.format(id=memory.id, text=inert(memory.text), provenance=provenance)


def line_sizes(text: str, memory_ids: Sequence[str]) -> list[int]:
    """Bytes of each memory's line in a block or hint, without the frame around the lines; 0 for one not in it."""
    lines = ((_LINE_ID.search(line), line) for line in text.split("\n"))
    sizes = {found[1] or found[2]: len(line.encode()) + 1 for found, line in lines if found is not None}
    return [sizes.get(memory_id, 0) for memory_id in memory_ids]


@lru_cache(MAX_KNOWN)
def inert(text: str) -> str:
    """The text on one line, unable to open or close a tag."""
    flat = " ".join(_CONTROL.sub(" ", text).split())
    if len(flat) > MAX_TEXT_CHARS:
        flat = flat[: MAX_TEXT_CHARS - 1].rstrip() + "…"
    return _TAG_START.sub("‹", flat)


def shown_ids(text: str) -> tuple[str, ...]:
    """Ids of the memories in all session blocks within the text: what a client was handed and now sends itself."""
    out: list[str] = []
    start = text.find(f"<{BLOCK_TAG} ")
    while start >= 0:
        end = text.find(f"</{BLOCK_TAG}>", start)
        end = len(text) if end < 0 else end
        out.extend(_MEMORY_ID.findall(text, start, end))
        start = text.find(f"<{BLOCK_TAG} ", end)
    return tuple(dict.fromkeys(out))


def _hint_frame(words: Wording) -> tuple[str, str]:
    return f"<{HINT_TAG}>\n{words.hint_head}", _foot(words.hint_foot, HINT_TAG)


def _foot(said: str, tag: str) -> str:
    return f"{said}\n</{tag}>" if said else f"</{tag}>"


@lru_cache(MAX_KNOWN)
def _provenance(source: Source, session_count: int, updated_at_ns: int) -> str:
    words = [_SOURCE_WORDS[source]]
    if session_count > 1:
        words.append(f"in {session_count} sessions")
    if updated_at_ns > 0:
        words.append(f"last {_day(updated_at_ns)}" if session_count > 1 else _day(updated_at_ns))
    return ", ".join(words)


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, tz=UTC).date().isoformat()

"""Which hints real sessions would have got behind their prompts, and whether they fit: that was read by eye.

A session does not tell whether a hint behind a prompt was of use: what it did next it might have done anyhow. So each
pair of prompt and memory that was ever shown was read once, and `prompt_hints.json` keeps what the reader thought:
a hint fits when the memory speaks of what the prompt is about. Pairs that nobody read are counted as unread.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from spanlore.figures import one_line
from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Memory
from spanlore.recall.families import family_matches
from spanlore.recall.snapshot import Snapshot
from spanlore_extractor.mining.session import HumanStep, MinedSession

MIN_PROMPT_CHARS: Final = 30
MAX_MEMORIES: Final = 4
MAX_HITS: Final = 32
"""As the proxy has them."""
_READ: Final = Path(__file__).with_name("prompt_hints.json")


@dataclass(frozen=True, slots=True)
class PromptHint:
    """A memory behind a prompt."""

    kind: str
    """task or family."""
    prompt: str
    memory: Memory
    is_shown: bool
    """False: found, and cut as unclear."""

    @property
    def key(self) -> str:
        """What the reader's judgement is kept under, 16 hex digits."""
        said = f"{self.kind}\0{self.prompt}\0{self.memory.text}"
        return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=8).hexdigest()

    @property
    def verdict(self) -> str:
        """right, wrong, or unread."""
        found = _judgements().get(self.key)
        return "unread" if found is None else "right" if found["fits"] else "wrong"


def prompt_hints(session: MinedSession, known: Snapshot) -> Iterator[PromptHint]:
    """Those of a session. Each memory is shown once in a conversation, as by the proxy; of what was found and not
    shown only what was read is told."""
    for conversation in session.conversations:
        if conversation.call_class is CallClass.MAIN:
            prompts = [step.text for step in conversation.steps if isinstance(step, HumanStep)]
            yield from _task_hints(prompts, session, known)
            yield from _family_hints(prompts, session, known)


def _task_hints(prompts: Iterable[str], session: MinedSession, known: Snapshot) -> Iterator[PromptHint]:
    shown: set[str] = set()
    for prompt in prompts:
        if len(prompt.strip()) < MIN_PROMPT_CHARS:
            continue
        hits = known.search(session.repository, session.harness, prompt, MAX_HITS, session.sub_path)
        clear = [hit.memory for hit in hits if hit.is_clear and hit.memory.id not in shown][:MAX_MEMORIES]
        shown |= {memory.id for memory in clear}
        yield from (PromptHint("task", prompt, memory, True) for memory in clear)
        unclear = (PromptHint("task", prompt, hit.memory, False) for hit in hits if not hit.is_clear)
        yield from (hint for hint in unclear if hint.verdict != "unread")


def _family_hints(prompts: Iterable[str], session: MinedSession, known: Snapshot) -> Iterator[PromptHint]:
    shown: set[str] = set()
    for prompt in prompts:
        found = family_matches(known, session.repository, session.harness, prompt, session.sub_path)
        fresh = [memory for memory in found if memory.id not in shown][:MAX_MEMORIES]
        shown |= {memory.id for memory in fresh}
        yield from (PromptHint("family", prompt, memory, True) for memory in fresh)


def row(what: str, found: Sequence[PromptHint], prompts: int) -> dict[str, Any]:
    """Counts. `right_kept`: of the right ones that were read the share that is shown; `cut_wrong`: wrong ones that were
    found and are not shown."""
    shown = Counter(hint.verdict for hint in found if hint.is_shown)
    right = sum(hint.verdict == "right" for hint in found)
    told = shown["right"] + shown["wrong"]
    return {
        "what": what,
        "prompts": prompts,
        "hints": sum(shown.values()),
        "right": shown["right"],
        "wrong": shown["wrong"],
        "unread": shown["unread"],
        "cut_wrong": sum(hint.verdict == "wrong" for hint in found if not hint.is_shown),
        "wrong_share": round(shown["wrong"] / told, 3) if told else None,
        "right_kept": round(shown["right"] / right, 3) if right else None,
    }


def told(hint: PromptHint) -> dict[str, Any]:
    """One hint for reading."""
    return {
        "key": hint.key,
        "kind": hint.kind,
        "verdict": hint.verdict,
        "shown": hint.is_shown,
        "prompt": one_line(hint.prompt, 400),
        "memory": hint.memory.text,
    }


@cache
def _judgements() -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = json.loads(_READ.read_text())["read"]
    return found

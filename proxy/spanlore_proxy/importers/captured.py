"""Which turns of a session file the wire saw, of an agent whose requests name no session and whose file keeps no id
of an answer: Gemini CLI with an API key. The person's words tell, and when they were typed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.genai.messages import Message, Role, Text
from spanlore.harness.human import scan
from spanlore.redaction.values import Redact
from spanlore.transcripts.events import Said, Transcript

TOLERANCE_NS: Final = 120 * 10**9
"""How far the file's time of a prompt and the request that carried it may lie apart."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person typed, redacted as in the store, and when."""

    text: str
    time_ns: int
    session_id: str = ""
    """Of one that the wire saw."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The turns of a file that were captured."""

    session_id: str = ""
    """The session that the wire made of them, '' when it saw none."""
    starts_ns: tuple[int, ...] = ()
    """When each prompt of the file was typed, in order."""
    seen: frozenset[int] = frozenset()
    """Which of them the wire saw."""

    def covers(self, time_ns: int) -> bool:
        """Whether what began then belongs to a turn that was captured."""
        return bisect_right(self.starts_ns, time_ns) - 1 in self.seen


def prompts_of(transcript: Transcript, redact: Redact) -> list[Prompt]:
    """The person's prompts in the main conversation, with their times; files without times have none."""
    out = []
    for event in transcript.events:
        if isinstance(event, Said) and event.mark.time_ns and not event.mark.agent:
            found = scan(Message(Role.USER, tuple(Text(block) for block in event.blocks)))
            out += [Prompt(redact(text)[0], event.mark.time_ns) for text in found.texts]
    return out


def match(prompts: Sequence[Prompt], wire: Iterable[Prompt]) -> Captured:
    """Which prompts of the file the wire saw. The same words, typed again much later, are others."""
    by_text: dict[str, list[Prompt]] = {}
    for prompt in wire:
        by_text.setdefault(prompt.text, []).append(prompt)
    ordered = sorted(prompts, key=lambda prompt: prompt.time_ns)
    seen: dict[int, str] = {}
    for index, prompt in enumerate(ordered):
        near = [one for one in by_text.get(prompt.text, ()) if abs(one.time_ns - prompt.time_ns) <= TOLERANCE_NS]
        if near:
            seen[index] = min(near, key=lambda one: abs(one.time_ns - prompt.time_ns)).session_id
    session = next(iter(seen.values()), "")
    return Captured(session, tuple(prompt.time_ns for prompt in ordered), frozenset(seen))

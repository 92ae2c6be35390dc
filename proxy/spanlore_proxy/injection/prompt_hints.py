"""Hints behind a new prompt: what the prompt names (task), and what its kind of command wants (tool family).

- **Task hint**: a prompt of `MIN_PROMPT_CHARS` or more that names what a memory is about, clearly (`recall.index`).
  Similarity finds candidates, it is not enough to show one.
- **Tool-family hint**: a prompt that asks for tests or a release, and memories about commands for that. Off unless the
  user switched it on: it is the weakest match there is.

Both stand behind the person's words in the newest message, once, and are replayed there. What stands in the session
block, or was hinted before, is not said again; nor is what the client's own files say, or deny.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.recall.families import family_matches
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.draft import Draft
from spanlore_proxy.injection.facts import Prompt
from spanlore_proxy.injection.ledger import PROMPT_KINDS, Placement, PlacementKind
from spanlore_proxy.injection.selection import make_notes, withhold

MIN_PROMPT_CHARS: Final = 30
MAX_MEMORIES: Final = 4
"""In one hint."""
MAX_PROMPT_HINTS: Final = 6
"""In one conversation: every one of them is sent again with each later request."""


def decide_prompt_hints(draft: Draft) -> None:
    """Adds what is to stand behind the newest prompt, if anything."""
    prompt = draft.facts.prompt
    if prompt is None:
        return
    if draft.settings.task_hint_tokens and len(prompt.text.strip()) >= MIN_PROMPT_CHARS:
        _add(draft, PlacementKind.TASK_HINT, prompt, task_matches(draft), draft.settings.task_hint_tokens)
        anchor = f"{PlacementKind.TASK_HINT.value}:{prompt.anchor.message_digest}"
        unclear = [hit.memory for hit in draft.hits() if not hit.is_clear][:MAX_MEMORIES]
        draft.notes += make_notes(PlacementKind.TASK_HINT, "skipped", unclear, "unclear", anchor)
    if draft.settings.family_hint:
        facts = draft.facts
        matches = family_matches(draft.snapshot, facts.repository, facts.harness, prompt.text, facts.sub_path)
        _add(draft, PlacementKind.FAMILY_HINT, prompt, matches, draft.settings.family_hint_tokens)


def task_matches(draft: Draft) -> list[Memory]:
    """The memories that the newest prompt is clearly about, best first."""
    return [hit.memory for hit in draft.hits() if hit.is_clear]


def _add(draft: Draft, kind: PlacementKind, prompt: Prompt, matches: Sequence[Memory], budget_tokens: int) -> None:
    anchor = f"{kind.value}:{prompt.anchor.message_digest}"
    if not matches or any(hint.anchor == anchor for hint in draft.entry.hints):
        return
    if prompt.anchor.message_index < draft.facts.settled:
        draft.notes += make_notes(kind, "skipped", matches, "answered", anchor)
        return
    if sum(hint.kind in PROMPT_KINDS for hint in draft.entry.hints) >= MAX_PROMPT_HINTS:
        draft.notes += make_notes(kind, "skipped", matches, "cap", anchor)
        return
    fresh = _fresh(draft, kind, matches, anchor)
    fitting, missed = wording.fit_hint(fresh[:MAX_MEMORIES], budget_tokens, draft.words)
    draft.notes += make_notes(kind, "skipped", [*missed, *fresh[MAX_MEMORIES:]], "budget", anchor)
    kept, withheld = withhold(fitting, draft.facts.session_seed, draft.settings.withhold_share)
    draft.notes += make_notes(kind, "withheld", withheld, "", anchor, is_first=True)
    if not kept:
        draft.is_withheld_only(withheld)
        return
    at = prompt.anchor
    ids = tuple(memory.id for memory in kept)
    draft.add(Placement(kind, anchor, wording.hint(kept, draft.words), ids, at.message_digest, at.message_index))


def _fresh(draft: Draft, kind: PlacementKind, matches: Sequence[Memory], anchor: str) -> list[Memory]:
    """Those that say something new in this conversation, of each property of a subject the best."""
    shown = {id_ for placement in draft.entry.placements for id_ in placement.memory_ids}
    shown.update(draft.facts.client_memory_ids)
    slots: set[tuple[str, str, str]] = set()
    fresh: list[Memory] = []
    for memory in matches:
        slot = (memory.kind, memory.subject, memory.slot)
        reason = "repeated" if memory.id in shown else draft.said().objection(memory)
        if not reason and memory.slot and slot in slots:
            reason = "same_slot"
        if reason:
            draft.notes += make_notes(kind, "skipped", [memory], reason, anchor)
        else:
            slots.add(slot)
            fresh.append(memory)
    return fresh

"""What goes into a request: the session block, failure hints, and what is replayed.

The rules, and why:
- **Session block**: decided once, at a conversation's first main request (no answer in it yet), then the same bytes for
  ever; nothing then, nothing later. A conversation first seen in the middle gets none: a late block would change the
  prefix that the provider has cached. One that goes on from another (`lineage`) has that one's. It is decided anew only
  after the agent's own compaction, which has just begun a new prefix.
- **Failure hint**: beside a tool result that nothing has answered yet and that failed in a way a memory answers. It is
  replayed beside that result for as long as the client sends that message unchanged. A memory is hinted once in a
  conversation. That it stands in the session block is no reason against it: the same fact changed behaviour when it
  stood beside the action, and hardly when it stood at the start (research: memory systems §0).
- **Prompt hints** (`prompt_hints`): behind a new prompt of the main agent, replayed there.
- **Sub-agents** get failure hints and nothing else. **Side calls** (title, token count, probe) get nothing and nothing
  is replayed: they share no prefix with the conversation.
- **Compaction** replays what stands already and gets nothing new. Claude Code's summarising request is the whole
  conversation, tools and all, and one instruction more: leaving the block out would miss the cache for the whole
  history, at the moment it is longest. That the summary may repeat a memory is the smaller harm: it was shown in that
  session anyhow. A summariser without tools (opencode, pi) has a prefix of its own and gets nothing.
- **Continued** requests, whose history the provider holds, get no block: either it stands in that history, or the
  conversation is past its opening. Nor hints, as long as the calls that failed are not on the wire.
- **Attested** requests (signed by the client, subscription credential) stay as they are unless the user said `rewrite`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Memory
from spanlore.recall.fit import Failed, weigh
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.brevity import fit_most, remedy, without_line
from spanlore_proxy.injection.draft import Draft
from spanlore_proxy.injection.facts import Failure, RequestFacts
from spanlore_proxy.injection.ledger import PROMPT_KINDS, SYSTEM_ANCHOR, Entry, Placement, PlacementKind
from spanlore_proxy.injection.prompt_hints import MIN_PROMPT_CHARS, decide_prompt_hints, task_matches
from spanlore_proxy.injection.rewrite import SYSTEM
from spanlore_proxy.injection.selection import CLIENT_BLOCK, Note, make_notes, select, withhold
from spanlore_proxy.injection.wording import STANDARD, Wording

MAX_FIRST: Final = 3
"""Memories that come first in the block because the opening prompt is about them."""
FAIR_SCORE: Final = 0.6
"""Of the best one's score."""
MAX_HINTS_PER_REQUEST: Final = 2
MAX_HINTS_PER_CONVERSATION: Final = 8
MAX_CUT_NOTED: Final = 4
"""Memories that were found for a failure and do not fit it: of a missing file there may be a hundred."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement in this request."""

    placement: Placement
    index: int
    """`rewrite.SYSTEM`, or the index of the message."""
    is_new: bool
    """Decided now, not replayed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with one request."""

    placed: tuple[Placed, ...] = ()
    entry: Entry | None = None
    """To be saved before the request leaves; None when the ledger already says it."""
    notes: tuple[Note, ...] = ()
    skipped: str = ""
    """Why nothing is placed; '' when something is."""

    @property
    def replayed(self) -> Plan:
        """The plan without anything new: for when the ledger can't be written."""
        placed = tuple(item for item in self.placed if not item.is_new)
        return Plan(placed, None, self.notes, "" if placed else "ledger")


def decide(
    facts: RequestFacts,
    snapshot: Snapshot,
    entry: Entry | None,
    settings: InjectionSettings,
    now_ns: int,
    words: Wording = STANDARD,
) -> Plan:
    """The plan for a request that nothing refuses altogether (see `injector`)."""
    if facts.call_class is CallClass.COMPACTION:
        placed = _replay(facts, entry) if entry and facts.has_tools else ()
        return Plan(placed, skipped="" if placed else "side_call")
    if facts.is_attested and settings.attested != "rewrite":
        return _attested(facts, snapshot, entry, settings, now_ns)
    return _place(facts, snapshot, entry, settings, now_ns, words)


def replay(facts: RequestFacts, entry: Entry | None, settings: InjectionSettings) -> Plan:
    """What stands in the conversation already and nothing new: for when there is no time to decide."""
    is_left_alone = facts.is_attested and settings.attested != "rewrite"
    has_own_prefix = facts.call_class is CallClass.COMPACTION and not facts.has_tools
    known = _known(facts, entry)
    return Plan(() if is_left_alone or has_own_prefix else _replay(facts, known))


# --- a request that may be rewritten ---------------------------------------------------------------------------------


def _place(
    facts: RequestFacts,
    snapshot: Snapshot,
    entry: Entry | None,
    settings: InjectionSettings,
    now_ns: int,
    words: Wording,
) -> Plan:
    draft = Draft(facts, snapshot, settings, now_ns, _known(facts, entry), words)
    if facts.call_class is CallClass.MAIN:
        _decide_block(draft)
    else:
        draft.skipped = "subagent"
    if facts.client_memory_ids:
        draft.notes.append(_client_block(facts))
    _decide_hints(draft)
    decide_prompt_hints(draft)
    if facts.is_derived and facts.has_answer:
        draft.change(dataclasses.replace(draft.entry, has_answer=True))
    placed = _replay(facts, draft.entry, draft.new)
    saved = dataclasses.replace(draft.entry, updated_at_ns=now_ns) if draft.is_changed else None
    return Plan(placed, saved, tuple(draft.notes), "" if placed else draft.skipped)


def _known(facts: RequestFacts, entry: Entry | None) -> Entry:
    """What the ledger says of this conversation. One whose key is derived begins anew with the same opening."""
    is_restart = entry is not None and facts.is_derived and entry.has_answer and not facts.has_answer
    return entry if entry is not None and not is_restart else Entry(facts.conversation)


def _decide_block(draft: Draft) -> None:
    facts, entry = draft.facts, draft.entry
    is_refreshed = entry.is_decided and facts.epoch not in ("", entry.epoch)
    if entry.is_decided and not is_refreshed:
        return
    if facts.is_continued and facts.is_derived:
        draft.skipped = "late"  # the key, made of what is new, names no conversation
        return
    old = entry.session_block
    draft.change(dataclasses.replace(entry, is_decided=True, epoch=facts.epoch))
    if (facts.has_answer and not is_refreshed) or facts.is_continued:
        draft.skipped = "late"
        return
    if facts.client_memory_ids:
        draft.skipped = CLIENT_BLOCK
        return
    selection = select(
        draft.snapshot,
        facts.repository,
        facts.harness,
        draft.settings,
        facts.session_seed,
        draft.now_ns,
        draft.said(),
        facts.sub_path,
        draft.words,
        _first(draft),
    )
    draft.notes += selection.notes
    ids = tuple(sorted(memory.id for memory in selection.shown))
    if old is not None and ids == old.memory_ids:
        return  # the same bytes are cheaper than a newer date
    hints = entry.hints
    draft.change(dataclasses.replace(draft.entry, placements=hints))
    if not ids:
        draft.skipped = "withheld" if any(note.state == "withheld" for note in selection.notes) else "nothing"
        return
    text = wording.session_block(selection.shown, facts.repository, draft.now_ns, draft.words)
    draft.new.add(SYSTEM_ANCHOR)
    block = Placement(PlacementKind.SESSION_BLOCK, SYSTEM_ANCHOR, text, ids)
    draft.change(dataclasses.replace(draft.entry, placements=(block, *hints)))


def _first(draft: Draft) -> list[Memory]:
    """What the opening prompt is most about: where not all fits, it is worth more than what came up last elsewhere."""
    hits = draft.hits()
    return [hit.memory for hit in hits[:MAX_FIRST] if hit.score >= FAIR_SCORE * hits[0].score]


def _decide_hints(draft: Draft) -> None:
    made = 0
    for failure in draft.facts.failures:
        hints = _failure_hints(draft.entry)
        if any(hint.anchor == failure.tool_use_id for hint in hints):
            continue
        matches = _answering(draft, failure)
        if not matches:
            continue
        if failure.anchor.message_index < draft.facts.settled:
            draft.notes += make_notes(PlacementKind.FAILURE_HINT, "skipped", matches, "answered", failure.tool_use_id)
            continue
        if made >= MAX_HINTS_PER_REQUEST or len(hints) >= MAX_HINTS_PER_CONVERSATION:
            draft.notes += make_notes(PlacementKind.FAILURE_HINT, "skipped", matches, "cap", failure.tool_use_id)
            continue
        made += _hint(draft, failure, matches)


def _hint(draft: Draft, failure: Failure, matches: Sequence[Memory]) -> bool:
    kind, anchor = PlacementKind.FAILURE_HINT, failure.tool_use_id
    hinted = _hinted(draft.entry)
    fresh: list[Memory] = []
    for memory in matches:
        # What the files say already may be said again beside the failure: there it works. What they deny may not.
        denied = draft.said().contradicts(memory)
        if memory.id in hinted or denied:
            draft.notes += make_notes(kind, "skipped", [memory], "contradicted" if denied else "repeated", anchor)
        else:
            fresh.append(memory)
    budget, words = draft.settings.failure_hint_tokens, draft.words
    fitting, missed = fit_most(fresh, lambda some: wording.fit_hint(some, budget, words), without_line, remedy)
    draft.notes += make_notes(kind, "skipped", missed, "budget", anchor)
    kept, withheld = withhold(fitting, draft.facts.session_seed, draft.settings.withhold_share)
    draft.notes += make_notes(kind, "withheld", withheld, "", anchor, is_first=True)
    if not kept:
        draft.is_withheld_only(withheld)
        return False
    ids = tuple(memory.id for memory in kept)
    at = failure.anchor
    draft.add(Placement(kind, anchor, wording.hint(kept, draft.words), ids, at.message_digest, at.message_index))
    return True


def _answering(draft: Draft, failure: Failure) -> list[Memory]:
    """What is to stand beside a failure; what was found for it and is not to is noted."""
    found = draft.snapshot.answering(
        draft.facts.repository, draft.facts.harness, failure.signature, failure.program, failure.error_class
    )
    failed = Failed(failure.program, failure.command, failure.error_line)
    weighed = weigh(found, failed, _hinted(draft.entry))
    for one in [one for one in weighed if one.cut][:MAX_CUT_NOTED]:
        memory, anchor = one.match.memory, failure.tool_use_id
        draft.notes += make_notes(PlacementKind.FAILURE_HINT, "skipped", [memory], one.cut, anchor)
    return [one.match.memory for one in weighed if not one.cut]


def _failure_hints(entry: Entry) -> list[Placement]:
    return [hint for hint in entry.hints if hint.kind is PlacementKind.FAILURE_HINT]


def _hinted(entry: Entry) -> set[str]:
    """Memories that stand beside a failure already. That one stands at the start, or behind a prompt, is no matter."""
    return {id_ for hint in _failure_hints(entry) for id_ in hint.memory_ids}


def _replay(facts: RequestFacts, entry: Entry, new: Iterable[str] = ()) -> tuple[Placed, ...]:
    """The entry's placements that stand in this request: the block, and hints whose message is still as it was."""
    fresh = {failure.tool_use_id: failure.anchor for failure in facts.failures}
    if facts.prompt is not None:
        fresh |= {f"{kind.value}:{facts.prompt.anchor.message_digest}": facts.prompt.anchor for kind in PROMPT_KINDS}
    out: list[Placed] = []
    for placement in entry.placements:
        if placement.kind is PlacementKind.SESSION_BLOCK:
            if not facts.is_continued:
                out.append(Placed(placement, SYSTEM, placement.anchor in new))
            continue
        anchor = facts.anchors.get(placement.anchor) or fresh.get(placement.anchor)
        if anchor is not None and anchor.message_digest == placement.message_digest:
            out.append(Placed(placement, anchor.message_index, placement.anchor in new))
    return tuple(out)


# --- a request that the client has signed ----------------------------------------------------------------------------


def _attested(
    facts: RequestFacts, snapshot: Snapshot, entry: Entry | None, settings: InjectionSettings, now_ns: int
) -> Plan:
    """Nothing is placed; what stands there by the client's own hand, and what would have been hinted, is noted."""
    notes: list[Note] = []
    if facts.client_memory_ids:
        notes.append(_client_block(facts))
    if facts.call_class is CallClass.MAIN and not facts.has_answer and settings.attested == "client":
        seed = facts.run_id or facts.session_seed
        chosen = select(snapshot, facts.repository, facts.harness, settings, seed, now_ns, None)
        notes += [note for note in chosen.notes if note.state == "withheld"]
    draft = Draft(facts, snapshot, settings, now_ns, entry or Entry(facts.conversation))
    for failure in facts.failures:
        matches = _answering(draft, failure)
        notes += make_notes(PlacementKind.FAILURE_HINT, "skipped", matches, "attested", failure.tool_use_id)
    notes += draft.notes
    if facts.prompt is not None and len(facts.prompt.text.strip()) >= MIN_PROMPT_CHARS and settings.task_hint_tokens:
        notes += make_notes(PlacementKind.TASK_HINT, "skipped", task_matches(draft), "attested")
    return Plan(notes=tuple(notes), skipped="attested")


def _client_block(facts: RequestFacts) -> Note:
    return Note(CLIENT_BLOCK, "shown", facts.client_memory_ids, anchor=SYSTEM_ANCHOR, is_first=not facts.has_answer)

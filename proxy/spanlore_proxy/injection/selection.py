"""Which memories a session block would hold, and which of them are held back to measure their effect.

A fixed hash of session and memory withholds a share, after the budget was filled, so that nothing else moves up in the
place of what is withheld. A memory on trial is withheld in half of the sessions; a pinned one never: its user has
decided. A share of 0 withholds nothing at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from spanlore.memory.memory import Memory, Status
from spanlore.recall.rank import is_for_block
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.brevity import fit_most, without_line
from spanlore_proxy.injection.ledger import PlacementKind
from spanlore_proxy.injection.overlap import Said
from spanlore_proxy.injection.wording import STANDARD, Wording

MAX_CANDIDATES: Final = 256
"""Memories considered for one block; ten fit."""
TRIAL_WITHHOLD_SHARE: Final = 0.5
CLIENT_BLOCK: Final = "client_block"
"""Placement kind of a block that the client itself sends."""


@dataclass(frozen=True, slots=True)
class Note:
    """What was decided about some memories, for the log of opportunities."""

    kind: str
    """A `PlacementKind`, or `CLIENT_BLOCK`."""
    state: str
    """shown (by the client), withheld or skipped."""
    memory_ids: tuple[str, ...]
    reason: str = ""
    """Of skipped: said (the request says it already), contradicted (the user's files say otherwise), budget, same_slot,
    repeated, cap, attested; answered (before a rewind); unclear (the prompt names too little of it); what
    `recall.fit.Weighed` has."""
    anchor: str = ""
    is_first: bool = False
    """The occasion is a new one: shown for the first time, or withheld where it would have been."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a session block would hold."""

    shown: tuple[Memory, ...] = ()
    notes: tuple[Note, ...] = ()


def select(
    snapshot: Snapshot,
    scope: str,
    harness: str,
    settings: InjectionSettings,
    seed: str,
    now_ns: int,
    said: Said | None,
    sub_path: str = "",
    words: Wording = STANDARD,
    first: Sequence[Memory] = (),
) -> Selection:
    """The memories of a session block. `seed` decides who is withheld; `said`: what the request already holds;
    `sub_path`: the directory of the repository that the work is in; `first`: what the opening prompt is about."""
    notes: list[Note] = []
    ids = {memory.id for memory in first}
    others = (memory for memory in snapshot.in_scope(scope, harness, sub_path) if memory.id not in ids)
    possible = filter(is_for_block, chain(first, others))
    candidates = _candidates(islice(possible, MAX_CANDIDATES), said, notes)
    budget = settings.session_block_tokens
    fitting, missed = fit_most(
        candidates, lambda some: wording.fit_session_block(some, scope, now_ns, budget, words), without_line
    )
    kept, withheld = withhold(fitting, seed, settings.withhold_share)
    kind = PlacementKind.SESSION_BLOCK
    notes += make_notes(kind, "skipped", missed, "budget")
    notes += make_notes(kind, "withheld", withheld, is_first=True)
    return Selection(tuple(kept), tuple(notes))


def is_withheld(seed: str, memory: Memory, share: float) -> bool:
    """Whether a memory is held back in a session; always the same for the same two."""
    if memory.pinned or share <= 0:
        return False
    wanted = max(share, TRIAL_WITHHOLD_SHARE) if memory.status is Status.TRIAL else share
    digest = hashlib.blake2b(f"{seed}\0{memory.id}".encode("utf-8", "replace"), digest_size=8, person=b"withhold")
    return int.from_bytes(digest.digest(), "big") < wanted * 2**64


def _candidates(memories: Iterable[Memory], said: Said | None, notes: list[Note]) -> Iterator[Memory]:
    """Those that say something new: not what the request says, and one for each property of a subject."""
    slots: set[tuple[str, str]] = set()
    for memory in memories:
        slot = (memory.subject, memory.slot)
        if memory.slot and slot in slots:
            notes += make_notes(PlacementKind.SESSION_BLOCK, "skipped", [memory], "same_slot")
        elif said is not None and (objection := said.objection(memory)):
            notes += make_notes(PlacementKind.SESSION_BLOCK, "skipped", [memory], objection)
        else:
            slots.add(slot)
            yield memory


def withhold(memories: Iterable[Memory], seed: str, share: float) -> tuple[list[Memory], list[Memory]]:
    kept: list[Memory] = []
    withheld: list[Memory] = []
    for memory in memories:
        (withheld if is_withheld(seed, memory, share) else kept).append(memory)
    return kept, withheld


def make_notes(
    kind: str, state: str, memories: Iterable[Memory], reason: str = "", anchor: str = "", *, is_first: bool = False
) -> list[Note]:
    """One note about all of the memories; none about none."""
    ids = tuple(memory.id for memory in memories)
    return [Note(kind, state, ids, reason, anchor, is_first)] if ids else []

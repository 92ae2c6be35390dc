"""A plan in the making: what the stages of the policy add to, one after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.recall.index import Hit
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection.facts import RequestFacts
from spanlore_proxy.injection.ledger import Entry, Placement
from spanlore_proxy.injection.overlap import Said
from spanlore_proxy.injection.selection import Note
from spanlore_proxy.injection.wording import STANDARD, Wording

MAX_HITS: Final = 32


@dataclass(slots=True)
class Draft:
    """What is known of a request, and what has been decided about it so far."""

    facts: RequestFacts
    snapshot: Snapshot
    settings: InjectionSettings
    now_ns: int
    entry: Entry
    words: Wording = STANDARD
    is_changed: bool = False
    new: set[str] = field(default_factory=set)
    """Anchors of placements made now."""
    notes: list[Note] = field(default_factory=list)
    skipped: str = "nothing"
    _said: Said | None = None
    _hits: list[Hit] | None = None

    def change(self, entry: Entry) -> None:
        """The ledger's entry is to be this."""
        self.is_changed = self.is_changed or entry != self.entry
        self.entry = entry

    def add(self, placement: Placement) -> None:
        """One more hint."""
        self.new.add(placement.anchor)
        self.change(dataclasses.replace(self.entry, placements=(*self.entry.placements, placement)))

    def hits(self) -> list[Hit]:
        """Memories that share words with the newest prompt, best first; searched once."""
        if self._hits is None:
            facts, prompt = self.facts, self.facts.prompt
            self._hits = (
                self.snapshot.search(facts.repository, facts.harness, prompt.text, MAX_HITS, facts.sub_path)
                if prompt is not None
                else []
            )
        return self._hits

    def said(self) -> Said:
        """What the client itself says; read once."""
        if self._said is None:
            self._said = Said(self.facts.system_texts, self.facts.opening_texts)
        return self._said

    def is_withheld_only(self, withheld: Iterable[Memory]) -> None:
        """Nothing is placed here because all that would have been is withheld."""
        if any(True for _ in withheld) and self.skipped == "nothing":
            self.skipped = "withheld"

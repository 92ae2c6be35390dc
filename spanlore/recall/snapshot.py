"""Snapshot: the memories that may be shown, as the proxy holds them while requests go by.

Built once per change, in the background, and never changed: sorted by standing and indexed by scope, by failure
signature, and by program and error class, so that a decision on the request path touches a few entries however many
memories there are. Evidence is dropped on reading: it is for people, and it is most of the bytes. The words of a memory
are counted once; the next snapshot takes them over.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from spanlore.memory.memory import USER_SCOPE, Memory, memory_from_json
from spanlore.memory.sharing import Sharing, sharing_from_json
from spanlore.recall.index import Document, Hit, Index
from spanlore.recall.rank import Match, Tier, is_eligible, order_matches, standing, suits

type _Index = Mapping[tuple[str, ...], tuple[Memory, ...]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An unchanging set of eligible memories. `Snapshot()` is the empty one; `Snapshot.of` builds."""

    memories: tuple[Memory, ...] = ()
    """By standing, best first."""
    etag: str = ""
    """The collector's name of this state; '' when it was not told."""
    left_out: int = 0
    """How many entries were no memory this version understands."""
    sharing: Sharing = field(default_factory=Sharing)
    """Which repositories read which others' memories."""
    ends_ns: int = 0
    """When the first of them is over; 0: none has an end."""
    _by_scope: _Index = field(default_factory=lambda: MappingProxyType({}), repr=False)
    _by_signature: _Index = field(default_factory=lambda: MappingProxyType({}), repr=False)
    _by_class: _Index = field(default_factory=lambda: MappingProxyType({}), repr=False)
    _programs: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Scope → programs named by the triggers of its own memories and the user's."""
    _documents: Mapping[str, Document] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Memory id → its words."""
    _indexes: Mapping[str, Index] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """By scope."""

    @classmethod
    def of(
        cls,
        memories: Iterable[Memory],
        etag: str = "",
        left_out: int = 0,
        sharing: Sharing | None = None,
        before: Snapshot | None = None,
    ) -> Snapshot:
        """The snapshot of those memories that are eligible. O(n log n). What `before` knows of them is taken over."""
        ranked = tuple(sorted((memory for memory in memories if is_eligible(memory)), key=standing))
        by_scope: dict[tuple[str, ...], list[Memory]] = {}
        by_signature: dict[tuple[str, ...], list[Memory]] = {}
        by_class: dict[tuple[str, ...], list[Memory]] = {}
        by_program: dict[str, set[str]] = {}
        for memory in ranked:
            by_scope.setdefault((memory.scope,), []).append(memory)
            trigger = memory.trigger
            if trigger.signatures or (trigger.program and trigger.error_class):
                by_program.setdefault(memory.scope, set()).add(trigger.program)
            for signature in trigger.signatures:
                by_signature.setdefault((memory.scope, signature), []).append(memory)
            if trigger.program and trigger.error_class:
                by_class.setdefault((memory.scope, trigger.program, trigger.error_class), []).append(memory)
        sharing = sharing or Sharing()
        programs = MappingProxyType(
            {
                scope: frozenset(name for read in sharing.scopes(scope) for name in by_program.get(read, ()))
                for scope in (*by_program, *sharing.forks)
            }
        )
        documents = _documents(ranked, {} if before is None else before._documents)  # noqa: SLF001 - another of this class
        indexes = {key[0]: Index([documents[memory.id] for memory in found]) for key, found in by_scope.items()}
        return cls(
            ranked,
            etag,
            left_out,
            sharing,
            min((memory.valid_to_ns for memory in ranked if memory.valid_to_ns), default=0),
            _freeze(by_scope),
            _freeze(by_signature),
            _freeze(by_class),
            programs,
            MappingProxyType(documents),
            MappingProxyType(indexes),
        )

    def holding_at(self, now_ns: int) -> Snapshot:
        """The snapshot without what is over by then; itself, at no cost, when nothing is."""
        if not 0 < self.ends_ns <= now_ns:
            return self
        left = (memory for memory in self.memories if not memory.is_over(now_ns))
        return Snapshot.of(left, self.etag, self.left_out, self.sharing, self)

    def in_scope(self, scope: str, harness: str, sub_path: str = "") -> Iterator[Memory]:
        """Memories of the repository, its upstream and the user that hold for the harness, best first. Lazy."""
        lists = [found for name in self.sharing.scopes(scope) if (found := self._by_scope.get((name,)))]
        ordered = lists[0] if len(lists) == 1 else heapq.merge(*lists, key=standing)
        return (
            memory
            for memory in ordered
            if suits(memory, harness) and memory.holds_in(sub_path) and self.sharing.lets(memory, scope)
        )

    def admission(
        self, scope: str, harness: str, sub_path: str = "", wants: Callable[[Memory], bool] | None = None
    ) -> Callable[[Memory], bool]:
        """Whether a memory may be shown there: of the repository, its upstream or the user, and holding for the
        harness and the directory; and whether it is one of those wanted."""
        scopes = frozenset(self.sharing.scopes(scope))

        def admits(memory: Memory) -> bool:
            is_eligible_here = suits(memory, harness) and memory.holds_in(sub_path)
            is_let = is_eligible_here and memory.scope in scopes and self.sharing.lets(memory, scope)
            return is_let and (wants is None or wants(memory))

        return admits

    def search(
        self,
        scope: str,
        harness: str,
        query: str,
        limit: int,
        sub_path: str = "",
        wants: Callable[[Memory], bool] | None = None,
    ) -> list[Hit]:
        """Memories of the repository, its upstream and the user that hold for the harness and share words with the
        query, best first; only those wanted."""
        admits = self.admission(scope, harness, sub_path, wants)
        indexes = [self._indexes[name] for name in self.sharing.scopes(scope) if name in self._indexes]
        found = [index.search(query, limit, admits) for index in indexes]
        if len(found) == 1:
            return found[0]  # in that order already: its documents are by standing
        return sorted(itertools.chain(*found), key=lambda hit: (-hit.score, standing(hit.memory)))[:limit]

    def holds_any(self, scope: str) -> bool:
        """Whether there is any memory for the repository."""
        return any((name,) in self._by_scope for name in self.sharing.scopes(scope))

    def failing_programs(self, scope: str) -> frozenset[str]:
        """Programs of which a failure could be answered there; '' among them means any. Empty: nobody need look."""
        found = self._programs.get(scope)
        return self._programs.get(USER_SCOPE, frozenset()) if found is None else found

    def answering(self, scope: str, harness: str, signature: str, program: str, error_class: str) -> tuple[Match, ...]:
        """Memories that answer a failure in that repository, most exact first, each once."""
        found = [
            Match(memory, tier)
            for name in self.sharing.scopes(scope)
            for index, key, tier in (
                (self._by_signature, (name, signature), Tier.SIGNATURE),
                (self._by_class, (name, program, error_class), Tier.PROGRAM_AND_CLASS),
            )
            for memory in (index.get(key, ()) if all(key) else ())
            if suits(memory, harness) and self.sharing.lets(memory, scope)
        ]
        return order_matches(found)


def snapshot_from_json(data: Any, etag: str = "", before: Snapshot | None = None) -> Snapshot:
    """The snapshot in the collector's answer, `{"memories": [...]}` or the bare list.

    An entry this version can't read (a newer kind) is left out and counted, it does not cost the rest. An entry that
    `before` holds, of the same id and version, is not read again.

    Raises:
        ValueError: not a snapshot at all.
    """
    entries = data.get("memories") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise ValueError("not a snapshot: no list of memories")
    known = {(memory.id, memory.version): memory for memory in before.memories} if before else {}
    memories: list[Memory] = []
    for entry in entries:
        memory = _read(entry, known)
        if memory is not None:
            memories.append(memory)
    return Snapshot.of(memories, etag, len(entries) - len(memories), sharing_from_json(data), before)


def _documents(memories: Iterable[Memory], known: Mapping[str, Document]) -> dict[str, Document]:
    out: dict[str, Document] = {}
    for memory in memories:
        document = known.get(memory.id)
        # The very same object: an unchanged entry is not read again.
        out[memory.id] = document if document is not None and document.memory is memory else Document.of(memory)
    return out


def _read(entry: Any, before: Mapping[tuple[str, int], Memory]) -> Memory | None:
    if not isinstance(entry, dict):
        return None
    known = before.get((str(entry.get("id")), entry.get("version", 1)))
    if known is not None and known.status == entry.get("status"):
        return known
    try:
        memory = memory_from_json({**entry, "evidence": ()})
        standing(memory)  # a field of the wrong type shows here, not on the request path
    except (ValueError, TypeError, ArithmeticError):
        return None
    return memory


def _freeze(index: dict[tuple[str, ...], list[Memory]]) -> _Index:
    return MappingProxyType({key: tuple(memories) for key, memories in index.items()})

"""Which memories are near a question in meaning: vectors, made once for each memory, compared all at once.

The vectors come from a function that is handed in (`spanlore.embedding`); this module only keeps and compares them.
numpy is loaded by whoever imports it: nothing on the proxy's request path does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy
from numpy.typing import NDArray

from spanlore.memory.memory import Memory

type Embed = Callable[[Sequence[str]], NDArray[numpy.float32]]
"""Texts → a row of length one for each."""

MIN_SIMILARITY: Final = 0.15
"""Cosine; below it two texts have nothing to do with each other. Every text has a nearest memory."""


class Meanings:
    """The vectors of some memories. Never changes."""

    def __init__(self, memories: Sequence[Memory], rows: NDArray[numpy.float32], embed: Embed) -> None:
        self._memories = memories
        self._rows = rows
        self._embed = embed
        self._row_of = {memory.id: number for number, memory in enumerate(memories)}

    @classmethod
    def of(cls, memories: Iterable[Memory], embed: Embed, before: Meanings | None = None) -> Meanings:
        """The vectors of the memories; what `before` holds of the very same text is taken over."""
        known = list(memories)
        kept = [before.kept(memory) if before else None for memory in known]
        fresh = [said(memory) for memory, row in zip(known, kept, strict=True) if row is None]
        made = iter(embed(fresh)) if fresh else iter(())
        rows = [next(made) if row is None else row for row in kept]
        matrix = numpy.stack(rows) if rows else numpy.zeros((0, 1), numpy.float32)
        return cls(known, matrix, embed)

    def kept(self, memory: Memory) -> NDArray[numpy.float32] | None:
        """The vector of a memory that says the very same here; None of any other."""
        number = self._row_of.get(memory.id)
        if number is None or said(self._memories[number]) != said(memory):
            return None
        row: NDArray[numpy.float32] = self._rows[number]
        return row

    def nearest(self, query: str, limit: int, admits: Callable[[Memory], bool]) -> list[tuple[Memory, float]]:
        """(memory, cosine) of those admitted that are near the query, nearest first."""
        if not self._memories or not query.strip():
            return []
        # Not `@`: BLAS would take all processors for it, and wait where they are busy.
        similarities = numpy.einsum("ij,j->i", self._rows, self._embed([query])[0])
        out: list[tuple[Memory, float]] = []
        for number in numpy.argsort(-similarities, kind="stable"):
            similarity = float(similarities[number])
            if similarity < MIN_SIMILARITY or len(out) >= limit:
                break
            if admits(self._memories[number]):
                out.append((self._memories[number], similarity))
        return out


def said(memory: Memory) -> str:
    """What of a memory is compared."""
    return f"{memory.subject} {memory.text}" if memory.subject not in memory.text else memory.text

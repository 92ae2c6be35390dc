"""Beginnings of bodies, and what is known of them.

An agent resends its whole past with each call, so a body mostly begins with the bytes of the one before. A memcmp tells
(0.05 ms for 1 MB); a hash would take twenty times as long.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_COUNT: Final = 64
MAX_BYTES: Final = 5 * 1024**2
"""Of all bodies that are remembered; what is known of them takes up as much again and more. 25 conversations of 200 KB,
or one of a million tokens."""


@dataclass(frozen=True, slots=True)
class Prefix[Value]:
    """The beginning of a body."""

    body: bytes
    """All of it, since it is an object that others hold on to as well: a copy of its beginning would be one more."""
    view: memoryview
    value: Value
    """What is known of the beginning."""

    @property
    def end(self) -> int:
        """Its length."""
        return len(self.view)


class Prefixes[Value]:
    """The beginnings used last, bounded by number and bytes. Not for several threads at once."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_count: int = MAX_COUNT) -> None:
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._bytes = 0
        self._known: OrderedDict[int, Prefix[Value]] = OrderedDict()
        """By the identity of their view, the one used last at the end."""

    def __len__(self) -> int:
        return len(self._known)

    def longest(self, body: bytes, fits: Callable[[Prefix[Value]], bool]) -> Prefix[Value] | None:
        """The longest one that the body begins with and that fits."""
        found: Prefix[Value] | None = None
        for prefix in self._known.values():
            # Most differ within the first hundred bytes: told sooner than by calling `fits`.
            if (found is None or prefix.end > found.end) and body.startswith(prefix.view) and fits(prefix):
                found = prefix
        if found is not None:
            self._known.move_to_end(id(found.view))
        return found

    def may_keep(self, body: bytes) -> bool:
        """Whether the body is not so large that it would push out all others."""
        return len(body) <= self._max_bytes * 4 // 5

    def keep(self, body: bytes, end: int, value: Value, instead_of: Prefix[Value] | None = None) -> None:
        """Remembers the body's beginning, in the place of a shorter one. Those not used for longest are forgotten."""
        if instead_of is not None:
            self._forget(instead_of)
        if not self.may_keep(body):
            return
        prefix = Prefix(body, memoryview(body)[:end], value)
        self._known[id(prefix.view)] = prefix
        self._bytes += len(body)
        while self._bytes > self._max_bytes or len(self._known) > self._max_count:
            self._forget(next(iter(self._known.values())))

    def clear(self) -> None:
        """Forgets all."""
        self._known.clear()
        self._bytes = 0

    def _forget(self, prefix: Prefix[Value]) -> None:
        if self._known.pop(id(prefix.view), None) is not None:
            self._bytes -= len(prefix.body)

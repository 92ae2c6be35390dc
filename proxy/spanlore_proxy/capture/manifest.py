"""The list of a body's pieces, as its request's row holds it. Pure; where runs are kept is the caller's.

A manifest is entries of a kind byte and its data, see `Kind`. An agent resends its whole past, so each manifest of a
conversation is the one before and some entries more. Told in full each time they would grow with the square of its
length; so `FOLD` entries are a run, which is kept once under its hash and is an entry itself, and `FOLD` runs are a run
again. What begins alike is folded alike, whatever was seen before. A manifest then has less than `FOLD` entries of each
level. Those that older versions wrote are one level. `spanlore bench history` prints what that takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final

ADDRESS_BYTES: Final = 12
FOLD: Final = 16
_RUN_HASH: Final = b"spanlore run"
"""No text of a body has the address of a run."""

type Levels = tuple[tuple[bytes, ...], ...]
"""The entries that are not in a run yet: those of pieces first, then runs of pieces, runs of runs, …"""


class Kind(IntEnum):
    """Kinds of entries."""

    LITERAL = 0
    """Two bytes of length, then that many bytes of the redacted body."""
    PIECE = 1
    """An address of a piece of the body."""
    INSERTION = 2
    """Here the next insertion stands in the forwarded body."""
    RUN = 3
    """An address of entries that were folded."""


class Manifest:
    """One that is being made, from where another one was."""

    def __init__(self, keep: Callable[[bytes, bytes], None], levels: Levels = ()) -> None:
        """`keep` is given the address of each run and its entries."""
        self._keep = keep
        self._levels = [list(level) for level in levels]

    def append(self, entry: bytes, level: int = 0) -> None:
        """Adds one entry."""
        if level == len(self._levels):
            self._levels.append([])
        entries = self._levels[level]
        entries.append(entry)
        if len(entries) == FOLD:
            run = b"".join(entries)
            address = hashlib.blake2b(run, digest_size=ADDRESS_BYTES, person=_RUN_HASH).digest()
            self._keep(address, run)
            entries.clear()
            self.append(entry_of(Kind.RUN, address), level + 1)

    @property
    def levels(self) -> Levels:
        """What another one may go on from."""
        return tuple(tuple(level) for level in self._levels)

    def __bytes__(self) -> bytes:
        """What the row holds."""
        return b"".join(entry for level in reversed(self._levels) for entry in level)


def entry_of(kind: Kind, data: bytes = b"") -> bytes:
    """The entry as it stands in a manifest."""
    size = len(data).to_bytes(2, "big") if kind is Kind.LITERAL else b""
    return bytes((kind,)) + size + data


def entries_of(manifest: bytes) -> Iterator[tuple[Kind, bytes]]:
    """(kind, data) of its entries, runs as they are.

    Raises:
        ValueError: it is of a kind that this version does not know.
    """
    position = 0
    while position < len(manifest):
        kind = Kind(manifest[position])
        start, size = position + 1, 0
        if kind in (Kind.PIECE, Kind.RUN):
            size = ADDRESS_BYTES
        elif kind is Kind.LITERAL:
            start, size = position + 3, int.from_bytes(manifest[position + 1 : position + 3], "big")
        yield kind, manifest[start : start + size]
        position = start + size


def unfolded(manifest: bytes, load: Callable[[bytes], bytes | None]) -> Iterator[tuple[Kind, bytes]]:
    """(kind, data) of all entries in their order; a run stands for itself only where `load` does not have it."""
    for kind, data in entries_of(manifest):
        run = load(data) if kind is Kind.RUN else None
        if run is None:
            yield kind, data
        else:
            yield from unfolded(run, load)

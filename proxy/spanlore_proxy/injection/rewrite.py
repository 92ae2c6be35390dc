"""The one deliberate change: bytes inserted into a client's JSON body, everything else left as it came.

What is inserted, and where, each dialect says itself: `layouts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanlore_proxy.injection.layouts.layout import Piece
from spanlore_proxy.injection.layouts.table import LAYOUTS
from spanlore_proxy.injection.offsets import OffsetError, find_offsets
from spanlore_proxy.wire.request import WireRequest

SYSTEM: Final = -1
"""Index that stands for the system prompt where message indexes stand."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Text to be added after all client text of the system prompt (`SYSTEM`), or beside the results of one message."""

    index: int
    """`SYSTEM`, or the message's index in `WireRequest.raw_messages`."""
    text: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """Bytes that stand in the forwarded body and not in the client's."""

    offset: int
    """Byte position in the client's body before which they stand."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A forwarded body."""

    body: bytes
    insertions: tuple[Insertion, ...]
    """In order of offset; `without_insertions` undoes them."""


def insert(body: bytes, request: WireRequest, additions: Sequence[Addition]) -> Rewritten:
    """The body with the additions; those to one message stand in the order given.

    Raises:
        OffsetError: a place could not be proven, or the dialect has none.
    """
    if not additions:
        return Rewritten(body, ())
    pieces = list(_pieces(request, additions))
    offsets = find_offsets(body, request.document, [piece.spot for piece in pieces])
    insertions = sorted((Insertion(offsets[piece.spot], piece.data) for piece in pieces), key=_offset)
    return Rewritten(weave(body, insertions), tuple(insertions))


def weave(body: bytes, insertions: Iterable[Insertion]) -> bytes:
    """The body with the insertions, which come in order of offset; the very body where there are none."""
    placed = tuple(insertions)
    return b"".join(_weave(body, placed)) if placed else body


def without_insertions(body: bytes, insertions: Iterable[Insertion]) -> bytes:
    """The client's body that `insert` made this body from."""
    pieces, position, shift = [], 0, 0
    for insertion in insertions:
        start = insertion.offset + shift
        pieces.append(body[position:start])
        position = start + len(insertion.data)
        shift += len(insertion.data)
    return b"".join([*pieces, body[position:]])


def _pieces(request: WireRequest, additions: Iterable[Addition]) -> Iterator[Piece]:
    layout = LAYOUTS.get(request.dialect)
    if layout is None:
        raise OffsetError(f"{request.dialect} has no layout")
    grouped: dict[int, list[str]] = {}
    for addition in additions:
        grouped.setdefault(addition.index, []).append(addition.text)
    for index, texts in grouped.items():
        yield from layout.block(request, texts) if index == SYSTEM else layout.hint(request, index, texts)


def _weave(body: bytes, insertions: Iterable[Insertion]) -> Iterator[bytes | memoryview]:
    whole, position = memoryview(body), 0  # slices of it are no copies: a body can be megabytes
    for insertion in insertions:
        yield whole[position : insertion.offset]
        yield insertion.data
        position = insertion.offset
    yield whole[position:]


def _offset(insertion: Insertion) -> int:
    return insertion.offset

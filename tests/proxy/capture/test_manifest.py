"""The list of a body's pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.capture.manifest import ADDRESS_BYTES, FOLD, Kind, Manifest, entries_of, entry_of, unfolded

ENTRIES = st.lists(
    st.one_of(
        st.binary(max_size=60).map(lambda data: (Kind.LITERAL, data)),
        st.binary(min_size=ADDRESS_BYTES, max_size=ADDRESS_BYTES).map(lambda data: (Kind.PIECE, data)),
        st.just((Kind.INSERTION, b"")),
    ),
    max_size=3 * FOLD,
)


@given(ENTRIES, st.integers(0, 3 * FOLD))
def test_what_goes_in_comes_out(entries: list[tuple[Kind, bytes]], stop: int) -> None:
    """All entries in their order, also where it was gone on from another one; and that makes no difference."""
    runs: dict[bytes, bytes] = {}
    whole, first = Manifest(runs.__setitem__), Manifest(runs.__setitem__)
    for kind, data in entries:
        whole.append(entry_of(kind, data))
    for kind, data in entries[:stop]:
        first.append(entry_of(kind, data))
    second = Manifest(runs.__setitem__, first.levels)
    for kind, data in entries[stop:]:
        second.append(entry_of(kind, data))

    assert list(unfolded(bytes(whole), runs.get)) == entries
    assert bytes(second) == bytes(whole)


@pytest.mark.parametrize("count", [FOLD**2, FOLD**3 - 1])
def test_it_does_not_grow_with_its_entries(count: int) -> None:
    """At most `FOLD` entries of each level, and each run is kept once."""
    runs: list[bytes] = []
    made = Manifest(lambda address, run: runs.append(address))
    for number in range(count):
        made.append(entry_of(Kind.PIECE, number.to_bytes(ADDRESS_BYTES, "big")))

    assert len(list(entries_of(bytes(made)))) <= 3 * (FOLD - 1)
    assert len(runs) == len(set(runs)) <= count / (FOLD - 1)


def test_an_unknown_kind_is_no_manifest() -> None:
    """A newer version's file is told as such, not shown wrong."""
    with pytest.raises(ValueError, match="200"):
        list(entries_of(bytes((200,))))

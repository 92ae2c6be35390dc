"""Ledger values: JSON and the ledger that forgets."""

import json

import pytest

from spanlore_proxy.injection.ledger import (
    SYSTEM_ANCHOR,
    Entry,
    MemoryLedger,
    Placement,
    PlacementKind,
    entry_from_json,
    entry_to_json,
)

BLOCK = Placement(PlacementKind.SESSION_BLOCK, SYSTEM_ANCHOR, 'é\n"', ("m-1", "m-2"))
HINT = Placement(PlacementKind.FAILURE_HINT, "toolu_1", "h", ("m-1",), "ab")
ENTRY = Entry("00ff", is_decided=True, has_answer=True, epoch="e", placements=(BLOCK, HINT), updated_at_ns=7)


def test_json_is_an_exact_inverse() -> None:
    """An entry comes back from JSON text as it went in, kinds and all."""
    back = entry_from_json(json.loads(json.dumps(entry_to_json(ENTRY))))

    assert back == ENTRY
    assert isinstance(back.placements[0].kind, PlacementKind)


def test_unknown_keys_are_left_out() -> None:
    """A newer version's field does not make a conversation unknown."""
    assert entry_from_json(entry_to_json(ENTRY) | {"newer": 1}) == ENTRY


@pytest.mark.parametrize(
    "data", [{}, {"conversation": "x", "placements": [{}]}, {"conversation": "x", "placements": 3}, []]
)
def test_what_is_no_entry_is_refused(data: object) -> None:
    """A damaged row is a ValueError."""
    with pytest.raises(ValueError):
        entry_from_json(data)  # type: ignore[arg-type]  # that is the point


def test_block_and_hints_are_told_apart() -> None:
    """The block is found wherever it stands; an entry without one has none."""
    assert (ENTRY.session_block, ENTRY.hints) == (BLOCK, (HINT,))
    assert Entry("x", placements=(HINT,)).session_block is None


def test_a_forgetful_ledger_keeps_the_newest() -> None:
    """What was saved is loaded, what was not is unknown."""
    ledger = MemoryLedger()
    ledger.save(Entry("00ff"))
    ledger.save(ENTRY)

    assert ledger.load("00ff") is ENTRY
    assert ledger.load("other") is None

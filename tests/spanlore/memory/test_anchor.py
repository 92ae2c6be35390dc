from dataclasses import asdict, replace

import pytest

from spanlore.memory.anchor import Anchor, AnchorKind, AnchorState, anchor_from_json, state_of

ANCHOR = Anchor(AnchorKind.PATH, "src/a.py", "src/a.py", "0" * 16, AnchorState.FRESH)


def test_the_worst_state_counts() -> None:
    """One thing that is gone makes the memory an orphan; nothing looked at is unknown."""
    drifted, gone = (replace(ANCHOR, state=state) for state in (AnchorState.DRIFTED, AnchorState.ORPHANED))

    assert state_of([ANCHOR, gone, drifted]) is AnchorState.ORPHANED
    assert state_of([ANCHOR, drifted]) is AnchorState.DRIFTED
    assert state_of([replace(ANCHOR, state=AnchorState.UNKNOWN)]) is state_of(()) is AnchorState.UNKNOWN


def test_json_and_back() -> None:
    """An anchor survives its JSON; another kind is an error."""
    assert anchor_from_json(asdict(ANCHOR)) == ANCHOR
    with pytest.raises(ValueError, match="planet"):
        anchor_from_json({**asdict(ANCHOR), "kind": "planet"})

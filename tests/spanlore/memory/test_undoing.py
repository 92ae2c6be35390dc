from dataclasses import asdict, replace

import pytest

from spanlore.memory.anchor import Anchor, AnchorKind, AnchorState
from spanlore.memory.memory import Kind, Memory, Source, Status, memory_to_json
from spanlore.memory.undoing import UndoError, last_batch, undo_batch, undo_one
from spanlore_collector.store.history import Change

ONE = Memory("m-1", Kind.EXPLICIT, Source.EXPLICIT, Status.ACTIVE, "a/b/c", "one")


def change(at_ns: int, verb: str, version: int = 1, reason: str = "", memory_id: str = "m-1") -> Change:
    return Change(at_ns, memory_id, version, verb, "user", reason)


def event(version: int, verb: str, text: str) -> dict[str, object]:
    return {"version": version, "verb": verb, "memory": memory_to_json(replace(ONE, text=text, version=version))}


def test_an_undo_is_not_undone_but_goes_further_back() -> None:
    """Undos and what they undid are passed over, and so is looking for anchors."""
    batches = [
        [change(5, "checked", 5)], [change(4, "restored", 4, "undo of 3")], [change(3, "edited", 3)],
        [change(2, "pinned", 2)], [change(1, "added", 1)],
    ]  # fmt: skip

    assert last_batch(batches)[0].at_ns == 2
    with pytest.raises(UndoError, match="nothing to undo"):
        last_batch(batches[:3])


def test_back_to_the_state_before() -> None:
    """A new version that says what the old one said; what was added is retired, so that it does not come back."""
    edited, added = replace(ONE, text="new", version=2), replace(ONE, id="m-2", version=1)
    batch = [change(3, "edited", 2), change(3, "added", 1, memory_id="m-2")]
    first, second = undo_batch(batch, {("m-1", 1): ONE, ("m-1", 2): edited}, {"m-1": edited, "m-2": added})

    assert (first.memory, first.reason) == (replace(ONE, version=3), "undo of 3")
    assert (second.memory.status, second.memory.version) == (Status.RETIRED, 2)


def test_what_was_changed_since_is_refused() -> None:
    """A newer change would be lost; looking for anchors is none."""
    edited = replace(ONE, text="new", version=2)
    seen = replace(edited, version=3, anchors=(Anchor(AnchorKind.PATH, "a", "a", "", AnchorState.FRESH),))
    newer = replace(edited, text="newer", version=3)
    states = {("m-1", 1): ONE, ("m-1", 2): edited, ("m-1", 3): newer}
    batch = [change(3, "edited", 2)]

    with pytest.raises(UndoError, match="changed again since"):
        undo_batch(batch, states, {"m-1": newer})
    assert undo_batch(batch, {**states, ("m-1", 3): seen}, {"m-1": seen})[0].memory == replace(ONE, version=4)


def test_one_memory_step_by_step() -> None:
    """Each undo goes one further back, to the very beginning."""
    events = [event(1, "added", "one"), event(2, "edited", "two"), event(3, "checked", "two"), event(4, "pinned", "2")]
    first = undo_one(replace(ONE, version=4), events)
    again = undo_one(first.memory, [*events, event(5, "restored", "two")])
    last = undo_one(again.memory, [*events, event(5, "restored", "two"), event(6, "restored", "one")])

    assert [item.memory.text for item in (first, again, last)] == ["two", "one", "one"]
    assert last.memory.status is Status.RETIRED
    with pytest.raises(UndoError, match="nothing of m-1"):
        undo_one(last.memory, [event(1, "added", "one"), event(2, "restored", "one")])
    assert asdict(last.memory)["version"] == 7

"""What a person does to a memory."""

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Verb
from spanlore_dashboards.web.memory_actions import ACTIONS, DONE, MAX_TEXT_CHARS, ActionError, act, offered


def memory(status: Status = Status.ACTIVE, pinned: bool = False) -> Memory:
    return Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, status, "user", "Old words.", pinned=pinned, version=7)


@pytest.mark.parametrize(
    ("action", "verb", "status", "confidence"),
    [
        ("pin", Verb.PINNED, Status.ACTIVE, 1 / 2),
        ("confirm", Verb.CONFIRMED, Status.ACTIVE, 2 / 3),
        ("reject", Verb.RETIRED, Status.RETIRED, 1 / 3),
        ("forget", Verb.FORGOTTEN, Status.FORGOTTEN, 1 / 2),
    ],
)
def test_actions(action: str, verb: Verb, status: Status, confidence: float) -> None:
    """Each is one operation of the user's, one version on."""
    operation = act(memory(), action)

    assert (operation.verb, operation.memory.status, operation.actor) == (verb, status, "user")
    assert operation.memory.version == 8
    assert operation.memory.confidence == pytest.approx(confidence)
    assert operation.memory.pinned is (action == "pin")


def test_an_edit_changes_the_text_only() -> None:
    """White space is made even; the id stays, so that its evidence stays its evidence."""
    operation = act(memory(), "edit", "  New\n words. ")

    assert (operation.verb, operation.memory.text, operation.memory.id) == (Verb.EDITED, "New words.", "m-1")


@pytest.mark.parametrize("text", ["", " \n", "Old words.", "x" * (MAX_TEXT_CHARS + 1)])
def test_edits_that_make_no_sense(text: str) -> None:
    """Nothing, the same, too much."""
    with pytest.raises(ActionError):
        act(memory(), "edit", text)


@pytest.mark.parametrize("status", list(Status))
def test_only_what_is_offered_can_be_done(status: Status) -> None:
    """In every status something is offered, and anything else is refused with a reason."""
    for action in set(ACTIONS) - {"edit"}:
        if action in offered(memory(status)):
            assert act(memory(status), action).memory.version == 8
        else:
            with pytest.raises(ActionError, match=status.value):
                act(memory(status), action)
    assert offered(memory(status))
    assert set(DONE) == set(ACTIONS)


def test_a_pin_comes_off() -> None:
    """What is pinned is offered that, and not to be pinned again."""
    assert "unpin" in offered(memory(pinned=True))
    assert "pin" not in offered(memory(pinned=True))
    assert act(memory(pinned=True), "unpin").verb is Verb.UNPINNED


def test_review_brings_it_to_agents() -> None:
    """A quarantined memory that is confirmed is shown from then on."""
    assert act(memory(Status.QUARANTINED), "confirm").memory.is_shown

"""What a person does to a memory on the page."""

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_dashboards.web.memory_actions import ACTIONS, DONE, ActionError, act, offered


def memory(status: Status = Status.ACTIVE, pinned: bool = False) -> Memory:
    return Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, status, "user", "Old words.", pinned=pinned, version=7)


def done(action: str, of: Memory | None = None, text: str = "") -> Operation:
    return act(of or memory(), action, [], 9, text)[0]


@pytest.mark.parametrize(
    ("action", "verb", "status"),
    [
        ("edit", Verb.EDITED, Status.ACTIVE),
        ("pin", Verb.PINNED, Status.ACTIVE),
        ("confirm", Verb.CONFIRMED, Status.ACTIVE),
        ("reject", Verb.RETIRED, Status.RETIRED),
        ("forget", Verb.FORGOTTEN, Status.FORGOTTEN),
    ],
)
def test_actions(action: str, verb: Verb, status: Status) -> None:
    """Each is the user's, one version on, and does what the commands of that name do."""
    operation = done(action, text="New words.")

    assert (operation.verb, operation.memory.status, operation.actor) == (verb, status, "user")
    assert operation.memory.version == 8
    assert operation.memory.is_edited is (action == "edit")


@pytest.mark.parametrize("text", ["", " \n", "Old words.", "x" * 401])
def test_edits_that_make_no_sense(text: str) -> None:
    """Nothing, the same, too much."""
    with pytest.raises(ActionError):
        done("edit", text=text)


@pytest.mark.parametrize("status", list(Status))
def test_only_what_is_offered_can_be_done(status: Status) -> None:
    """In every status something is offered, and anything else is refused with a reason."""
    for action in set(ACTIONS) - {"edit"}:
        if action in offered(memory(status)):
            assert done(action, memory(status)).memory.version == 8
        else:
            with pytest.raises(ActionError, match=status.value):
                done(action, memory(status))
    assert offered(memory(status))
    assert set(DONE) == set(ACTIONS)


def test_a_pin_comes_off() -> None:
    """What is pinned is offered that, and not to be pinned again."""
    assert "unpin" in offered(memory(pinned=True))
    assert "pin" not in offered(memory(pinned=True))
    assert done("unpin", memory(pinned=True)).verb is Verb.UNPINNED


def test_review_brings_it_to_agents() -> None:
    """A quarantined memory that is confirmed is shown from then on."""
    assert done("confirm", memory(Status.QUARANTINED)).memory.is_shown

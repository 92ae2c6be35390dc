"""What a person does to a memory on the page."""

from dataclasses import replace
from typing import Any

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status, memory_to_json
from spanlore.memory.operations import Operation, Verb
from spanlore_dashboards.web.memory_actions import ALWAYS, DONE, ActionError, act, offered, remember, undoable


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
    for action in set(DONE) - ALWAYS - {"remember"}:
        if action in offered(memory(status)):
            assert done(action, memory(status)).memory.version == 8
        else:
            with pytest.raises(ActionError, match=status.value):
                done(action, memory(status))
    assert offered(memory(status))


def test_a_pin_comes_off() -> None:
    """What is pinned is offered that, and not to be pinned again."""
    assert "unpin" in offered(memory(pinned=True))
    assert "pin" not in offered(memory(pinned=True))
    assert done("unpin", memory(pinned=True)).verb is Verb.UNPINNED


def test_review_brings_it_to_agents() -> None:
    """A quarantined memory that is confirmed is shown from then on."""
    assert done("confirm", memory(Status.QUARANTINED)).memory.is_shown


def event(verb: Verb, of: Memory, actor: str = "user") -> dict[str, Any]:
    return {"verb": verb.value, "actor": actor, "version": of.version, "memory": memory_to_json(of)}


def test_undo_goes_one_change_back() -> None:
    """An edit is taken back to the words before, as a change of the user's own."""
    was = memory()
    edited = done("edit", was, "New words.").memory
    life = [event(Verb.ADDED, was, "extractor"), event(Verb.EDITED, edited)]
    (operation,) = act(edited, "undo", [], 9, events=life)

    assert (operation.verb, operation.actor) == (Verb.RESTORED, "user")
    assert (operation.memory.text, operation.memory.version) == ("Old words.", edited.version + 1)
    assert undoable(life) == life[1]


def test_what_can_not_be_undone() -> None:
    """What mining made is rejected instead; what was taken back already is not offered, and refused with the reason."""
    was = memory()

    assert undoable([event(Verb.ADDED, was, "extractor")]) is None
    assert undoable([event(Verb.ADDED, was)]) is not None
    assert undoable([event(Verb.ADDED, was), event(Verb.RESTORED, was)]) is None
    with pytest.raises(ActionError, match="nothing of m-1 is left to undo"):
        act(was, "undo", [], 9, events=[event(Verb.ADDED, was), event(Verb.RESTORED, was)])


def test_words_are_remembered_where_agents_worked() -> None:
    """For a repository that is known, or for all; never twice, and never for a place that nobody has seen."""
    (operation,) = remember("Use make.", "github.com/acme/shop", [], ["github.com/acme/shop"], 9)

    assert (operation.verb, operation.memory.status, operation.actor) == (Verb.ADDED, Status.ACTIVE, "user")
    assert remember("Use make.", "user", [], [], 9)[0].memory.scope == "user"
    with pytest.raises(ActionError, match="already"):
        remember("use make", "github.com/acme/shop", [operation.memory], ["github.com/acme/shop"], 9)
    for text, scope in (("Use make.", ""), ("Use make.", "github.com/acme/none"), (" ", "user"), ("x" * 341, "user")):
        with pytest.raises(ActionError):
            remember(text, scope, [], ["github.com/acme/shop"], 9)


def test_what_says_the_same_is_merged() -> None:
    """Where a judge named the other one and it is still there; the kept one's operation comes first."""
    twice = replace(memory(), duplicate_of="m-2")
    other = replace(memory(), id="m-2", source=Source.EXPLICIT, text="Better words.")

    kept, ended = act(twice, "merge", [twice, other], 9)

    assert (kept.memory.id, kept.memory.text, kept.memory.status) == ("m-2", "Better words.", Status.ACTIVE)
    assert (ended.memory.id, ended.memory.status, ended.memory.superseded_by) == ("m-1", Status.SUPERSEDED, "m-2")
    with pytest.raises(ActionError, match="no judge says"):
        act(memory(), "merge", [other], 9)

from dataclasses import replace

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.notes.plan import Entry, Folder, Plan, file_of, plan_of
from support.payloads import PAYLOADS

ONE = Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "h/a/b", "`a` failed; `b` worked instead.")
TWO = replace(ONE, id="m-2", text="`c` failed; `d` worked instead.")
NOW_NS = 10**18


def planned(
    memories: list[Memory], files: dict[str, str], index: dict[str, Entry], conflicts: frozenset[str] = frozenset(),
    *, is_new: bool = False, with_deletions: bool = False,
) -> Plan:  # fmt: skip
    folder = Folder(files, conflicts, is_new)
    return plan_of(memories, folder, index, Redactor(()), NOW_NS, with_deletions=with_deletions)


def in_step(memories: list[Memory]) -> tuple[dict[str, str], dict[str, Entry]]:
    """Files and index after a first round."""
    first = planned(memories, {}, {}, is_new=True)
    assert not first.operations
    return dict(first.writes), dict(first.index)


def applied(memories: list[Memory], plan: Plan) -> list[Memory]:
    state = {memory.id: memory for memory in memories}
    state.update({operation.memory.id: operation.memory for operation in plan.operations})
    return list(state.values())


def test_nothing_changed_nothing_done() -> None:
    """A second round writes nothing; what ended loses its note."""
    files, index = in_step([ONE, TWO])
    again = planned([ONE, TWO], files, index)
    ended = planned([replace(ONE, status=Status.RETIRED), TWO], files, index)

    assert sorted(files) == sorted([file_of(ONE), file_of(TWO)])
    assert (again.writes, again.operations, again.removals) == ({}, [], [])
    assert ended.removals == [file_of(ONE)]


def test_an_edit_by_hand_is_the_users_word() -> None:
    """Text, pin and status; then the note is written anew, and the next round is quiet."""
    files, index = in_step([ONE, TWO])
    file = file_of(ONE)
    files[file] = files[file].replace("`b` worked instead.", "use `b`.").replace("pinned: false", "pinned: true")
    plan = planned([ONE, TWO], files, index)
    after = applied([ONE, TWO], plan)
    files.update(plan.writes)

    assert [operation.verb.value for operation in plan.operations] == ["edited", "pinned"]
    assert (after[0].text, after[0].is_edited, after[0].pinned) == ("`a` failed; use `b`.", True, True)
    assert not planned(after, files, plan.index).operations


def test_a_deleted_note_is_a_memory_to_forget() -> None:
    """And it stays away; so does one whose status was set to forgotten."""
    files, index = in_step([ONE, TWO])
    kept = {name: text for name, text in files.items() if name != file_of(ONE)}
    deleted = planned([ONE, TWO], kept, index)
    forgotten = files[file_of(ONE)].replace("status: active", "status: forgotten")
    marked = planned([ONE, TWO], {**files, file_of(ONE): forgotten}, index)

    assert [operation.memory.status for operation in deleted.operations] == [Status.FORGOTTEN]
    assert [operation.memory.status for operation in marked.operations] == [Status.FORGOTTEN]
    assert marked.removals == [file_of(ONE)]
    assert not planned(applied([ONE, TWO], deleted), kept, deleted.index).writes


def test_most_of_the_notes_gone_is_an_accident() -> None:
    """Unless it is said; a folder that is not there at all is only made again."""
    many = [replace(ONE, id=f"m-{number}", text=f"`{number}` worked.") for number in range(12)]
    files, index = in_step(many)
    few = dict(list(files.items())[:3])
    spared = planned(many, few, index)
    meant = planned(many, few, index, with_deletions=True)
    new = planned(many, {}, index, is_new=True)

    assert (spared.operations, spared.withheld_deletions, len(spared.writes)) == ([], 9, 9)
    assert len(meant.operations) == 9
    assert (new.operations, new.withheld_deletions, len(new.writes)) == ([], 0, 12)


def test_changed_on_both_sides() -> None:
    """The person's file stays, ours lies beside it, until that one is taken away: then the person's word holds."""
    files, index = in_step([ONE])
    file = file_of(ONE)
    files[file] = files[file].replace("`b` worked instead.", "mine")
    theirs = [replace(ONE, text="theirs", version=2)]
    first = planned(theirs, files, index)
    waiting = planned(theirs, files, first.index, frozenset({f"{file}.conflict"}))
    solved = planned(theirs, files, waiting.index)

    assert (first.operations, first.conflicts, list(first.writes)) == ([], [file], [f"{file}.conflict"])
    assert "theirs" in first.writes[f"{file}.conflict"]
    assert (waiting.operations, waiting.writes, waiting.conflicts) == ([], {}, [file])
    assert solved.operations[0].memory.text == "`a` failed; mine"


def test_moved_copied_and_broken_notes() -> None:
    """A note is known by its id, wherever it lies; a copy is told; a broken one is neither lost nor forgotten."""
    files, index = in_step([ONE])
    text = files[file_of(ONE)]
    moved = planned([ONE], {"elsewhere/x.md": text}, index)
    copied = planned([ONE], {file_of(ONE): text, "z.md": text}, index)
    broken = planned([ONE], {file_of(ONE): "---\n["}, index)
    unknown = planned([ONE], {file_of(ONE): "---\n["}, {})

    assert (moved.operations, moved.index["m-1"].file) == ([], "elsewhere/x.md")
    assert "second note" in copied.problems[0][1]
    assert (broken.operations, broken.writes, len(broken.problems)) == ([], {}, 1)
    assert (unknown.operations, unknown.writes) == ([], {})


def test_a_note_of_ones_own_is_remembered() -> None:
    """Each observation, in the scope it names; without one it is told; a session's note is not read."""
    own = "---\ntitle: x\nscope: {}\ntype: {}\n---\n- [rule] run the tests with tox\n- [rule] we use tabs here\n"
    made = planned([ONE], {"mine.md": own.format("h/a/b", "note")}, {})
    nowhere = planned([ONE], {"mine.md": own.format("planet", "note")}, {})
    session = planned([ONE], {"mine.md": own.format("h/a/b", "session")}, {})

    assert [operation.memory.why for operation in made.operations] == ["run the tests with tox", "we use tabs here"]
    assert nowhere.operations == [] and "scope" in nowhere.problems[0][1]
    assert session.operations == []
    files = {**made.writes, "mine.md": own.format("h/a/b", "note")}
    assert not planned(applied([ONE], made), files, made.index).operations


@pytest.mark.parametrize("payload", PAYLOADS)
def test_poison_in_a_note_is_never_shown(payload: str) -> None:
    """Whoever wrote it there: edited in, or in a file of its own."""
    files, index = in_step([ONE])
    words = " ".join(payload.split())[:300]
    file = file_of(ONE)
    edited = {file: files[file].replace(ONE.text, words)}
    own = {**files, "x.md": f"---\nscope: h/a/b\n---\n- [rule] {words}\n"}
    after = [*applied([ONE], planned([ONE], edited, index)), *applied([ONE], planned([ONE], own, index))]

    assert not [memory for memory in after if memory.is_shown and memory.text != ONE.text]


def test_what_can_not_be_said_is_told() -> None:
    """A status that nobody can give, a text that is too long; the note stays as it is."""
    files, index = in_step([ONE])
    file = file_of(ONE)
    for wrong in (("status: active", "status: superseded"), ("`b` worked instead.", "x" * 500)):
        plan = planned([ONE], {file: files[file].replace(*wrong)}, index)
        assert (plan.operations, plan.writes, len(plan.problems)) == ([], {}, 1)


def test_secrets_are_replaced() -> None:
    """Before anything is kept."""
    files, index = in_step([ONE])
    file = file_of(ONE)
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    plan = planned([ONE], {file: files[file].replace("`b` worked instead.", f"use the key {secret}")}, index)

    assert secret not in plan.operations[0].memory.text

import pytest

from spanlore.spans.place import Outcome
from spanlore_extractor.mining.answer import DeltaType, Match
from spanlore_extractor.mining.file_pairing import edit_likeness, found_path
from spanlore_extractor.mining.pairing import match
from spanlore_extractor.mining.session import ToolStep
from support.told import Told, steps_of


def tools(told: Told) -> list[ToolStep]:
    return [step for step in steps_of(told) if isinstance(step, ToolStep)]


def edit(old: str, path: str = "a.py") -> dict[str, str]:
    return {"file_path": path, "old_string": old, "new_string": old + "\nmore"}


def paired(told: Told) -> Match | None:
    """What the first call and the last have to do with each other."""
    first, *between, last = tools(told)
    return match(first, last, between)


REFUSED = "<tool_use_error>String to replace not found in file.</tool_use_error>"


@pytest.mark.parametrize(
    ("refusal", "name", "arguments"),
    [
        ("File has not been read yet. Read it first.", "Edit", edit("one\ntwo")),
        ("String to replace not found in file.", "Write", {"file_path": "a.py", "content": "one"}),
        ("String to replace not found in file.", "Bash", {"command": "sed -i s/one/1/ a.py"}),
    ],
)
def test_refused_edits_are_the_harness(refusal: str, name: str, arguments: dict[str, str]) -> None:
    """The same edit going through in another form says how the tool wants it."""
    found = paired(Told().fails("Edit", edit("one\ntwo"), refusal).call(name, arguments))

    assert found is not None
    assert found.type is DeltaType.HARNESS


def test_another_edit_of_the_file_is_no_answer() -> None:
    """Only the edit that was refused counts, tried again."""
    told = Told().fails("Edit", edit("one\ntwo"), "String to replace not found").call("Edit", edit("seven\neight"))

    assert paired(told) is None


def test_a_file_elsewhere_is_a_location() -> None:
    """A read of much the same name, or of what a search for it listed."""
    missing = ("Read", {"file_path": "src/text/textutil.go"}, "File does not exist.")
    near = Told().fails(*missing).call("Read", {"file_path": "src/util/textutil.go"}, "package util")
    searched = Told().fails(*missing).call("Glob", {"pattern": "src/text/*.go"}, "src/text/ide_tags.go")
    searched.call("Read", {"file_path": "src/text/ide_tags.go"}, "package text")
    other = Told().fails(*missing).call("Read", {"file_path": "docs/readme.md"}, "hello")

    assert [found.type if (found := paired(told)) else None for told in (near, searched, other)] == [
        DeltaType.LOCATION,
        DeltaType.LOCATION,
        None,
    ]


def test_a_tool_that_is_not_there_is_replaced() -> None:
    """What was done at once instead of an unknown skill."""
    found = paired(Told().fails("Skill", {"skill": "commit"}, "Unknown skill: commit").run("git status"))

    assert found is not None
    assert found.type is DeltaType.HARNESS


def test_edit_likeness_ignores_white_space() -> None:
    """A tab too few is the same edit."""
    one, other = tools(Told().call("Edit", edit("\tone\n\ttwo")).call("Edit", edit("one\ntwo")))

    assert edit_likeness(one, other) == 1.0


def test_a_listed_folder_leads_to_its_file() -> None:
    """The folder was looked at, and the next file read lies in it; one elsewhere says nothing."""
    told = Told().fails("Read", {"file_path": "/r/pkg/utils.go"}, "File does not exist.")
    told.run("ls -la /r/pkg", "env.go\nmain.go\na\nb\nc")
    found = paired(told.call("Read", {"file_path": "/r/pkg/env.go"}, "package pkg"))

    assert found is not None and found.type is DeltaType.LOCATION


def read(told: Told, path: str, output: str, *, fails: bool = False, name: str = "Read", **more: object) -> Told:
    outcome = Outcome.FAILURE if fails else Outcome.SUCCESS
    return told.call(name, {"file_path": path, **more}, output, outcome=outcome)


def test_arguments_that_the_tool_does_not_take() -> None:
    """The same tool for the same file, with others."""
    invalid = "InputValidationError: Read failed: offset must be a number"
    told = read(read(Told(), "/r/a.py", invalid, fails=True, offset="1"), "/r/a.py", "x", offset=1)
    other = read(read(Told(), "/r/a.py", invalid, fails=True, offset="1"), "/r/b.py", "x", offset=1)

    found = paired(told)
    assert found is not None
    assert found.type is DeltaType.HARNESS
    assert paired(other) is None


def test_a_folder_is_listed_instead() -> None:
    """Only that folder."""
    is_folder = "EISDIR: illegal operation on a directory, read '/r/src'"

    found = paired(read(Told(), "/r/src", is_folder, fails=True).run("ls /r/src", "a.py"))
    assert found is not None
    assert found.type is DeltaType.HARNESS
    assert paired(read(Told(), "/r/src", is_folder, fails=True).run("ls /r/doc", "a.md")) is None


def test_a_file_is_read_elsewhere_by_the_shell() -> None:
    """The path that the line reads is the one that was meant."""
    missing = "File does not exist."
    told = read(Told(), "/w/db/server/receive_pack.go", missing, fails=True).run(
        "cat ../db/server/receive_pack.go", "x"
    )

    found = paired(told)
    assert found is not None
    assert found.type is DeltaType.LOCATION
    first, last = tools(told)
    assert found_path(first, last) == "../db/server/receive_pack.go"
    assert paired(read(Told(), "/w/db/receive_pack.go", missing, fails=True).run("cat ../db/send.go", "x")) is None


@pytest.mark.parametrize(
    ("command", "is_fix"),
    [
        ("cd /r/src && python3 -c \"open('tabs.tsx','w').write(x)\"", True),
        ("sed -i s/a/b/ src/tabs.tsx", True),
        ("cd /other && python3 -c \"open('tabs.tsx','w').write(x)\"", False),
        ("cat > /tmp/notes.md <<'E'\nsrc/tabs.tsx was changed\nE", False),
    ],
)
def test_a_file_is_changed_by_a_shell_line(command: str, is_fix: bool) -> None:
    """The line must name it as a file there; a text that only mentions it does not."""
    refused = Told().call("Edit", {"file_path": "/r/src/tabs.tsx"}, REFUSED, outcome=Outcome.FAILURE)
    assert (paired(refused.run(command, "")) is not None) is is_fix


def test_a_line_copied_wrongly_is_the_same_edit() -> None:
    """Of one or two lines no whole line need agree; most of the text must."""
    refused = Told().fails("Edit", edit("login(user)"), REFUSED)
    other = Told().fails("Edit", edit("login(user)"), REFUSED)

    assert paired(refused.call("Edit", edit("await login(user)")))
    another = {"file_path": "a.py", "old_string": "return total", "new_string": "return sum"}
    assert paired(other.call("Edit", another)) is None


def test_a_file_that_the_refusal_names() -> None:
    """Some tools say which files they have; a part of the missing path's own name is none."""
    named = Told().fails("Read", {"file_path": "src/c/index.ts"}, "File not found. Did you mean src/c/settings.ts?")
    bare = Told().fails("Read", {"file_path": "docs/README.md"}, "no such file or directory, open 'docs/README.md'")

    assert paired(named.call("Read", {"file_path": "src/c/settings.ts"}))
    assert paired(bare.call("Read", {"file_path": "README.md"})) is None

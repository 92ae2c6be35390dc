from dataclasses import replace

import pytest

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Source, Trigger
from spanlore_extractor.memories.generality import core_of, is_of_one_session
from spanlore_extractor.mining.candidate import Candidate


@pytest.mark.parametrize(
    ("words", "core"),
    [
        ("my dude, this exploded with -r. invalid themes must NEVER explode\nDebugger attached.",
         "invalid themes must NEVER explode"),
        ("and prefer subagents to save on the main context", "prefer subagents to save on the main context"),
        ("stop committing everything", "stop committing everything"),
        ("do not stash anything, read the files you need", "do not stash anything, read the files you need"),
        ("no deprecation alias!", "no deprecation alias!"),
        ("we use tabs", "we use tabs"),
        ("the interface is better no? We don't want if-else call site logic", "We don't want if-else call site logic"),
        ("never, ever stash that", "never, ever stash that"),
    ],
)  # fmt: skip
def test_a_standing_rule_is_told_by_its_own_sentence(words: str, core: str) -> None:
    """What only belongs to the moment is left out."""
    assert core_of(words, is_standing=True) == core


@pytest.mark.parametrize(
    "words",
    ["no don't set it, let's see if it keeps happening",
     "and remember to use pagination", "is there no library to do this?", "that's not it", "don't check this in",
     "let's not do the nuclear thing", "always", "no!"],
)  # fmt: skip
def test_words_about_the_matter_at_hand_are_none(words: str) -> None:
    """Questions, pointing words, and what names nothing."""
    assert core_of(words, is_standing=True) == ""


@pytest.mark.parametrize(
    ("words", "core"),
    [
        ("I want the formula to be called home-tab instead of home-entire", True),
        ("entire backend is in ../entiredb", True),
        ("no console logs! setTheme should return an error", False),
        ("we should stick to 5k batches, 10k fails in `push`", True),
        ("if i change the `theme`, only half of it is updated", False),
        ("instead of `Another session` print something like that", False),
        ("still reads as if we start a new branch always", False),
        ("No tests found in `src/a`, use another", False),
        ("omfg use rgb values in the themes, no rgb indices!", True),
        ("I like option 1, from the side of `enable` it is in the wrapper, not in the flag", False),
        ("we should keep in mind that the user might use `git stash`", False),
        ("add an option to run `reset --force`", False),
        ("look at /home/dev/x.png it points at tool, not usr", False),
        ("Hooks not recognized. High Severity The `new` mode should not install them", False),
        ("please use the format we use for the diagrams above", False),
        ("delete the custom theme", False),
        ("you fucked that component up, read the full file", False),
        ("can you revert this change?", False),
        ("make sure the README.md says so", False),
        ("No matching commits at b8d967c0 in fork/checkpoints, only there", False),
    ],
)
def test_what_was_no_standing_rule_must_name_something(words: str, core: bool) -> None:
    """A rule or a fact about a thing that has a name; a wish for the program being built is neither."""
    assert bool(core_of(words, is_standing=False)) == core


def delta(kind: Kind = Kind.USAGE, error_class: str = "usage", **more: str) -> Candidate:
    cited = Evidence("1" * 32, "1" * 16, "s1", EvidenceRole.FAILURE, 1)
    made = Candidate(
        kind, Source.FAILURE_DELTA, "a/b/c", "s1", "make", "x", "chek → check", (cited,), 1, "rule",
        trigger=Trigger((), "make", error_class), failed="make chek", worked="make check",
        error_line="no rule to make target",
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]  # its texts only


@pytest.mark.parametrize(
    "made",
    [
        delta(worked="/Users/dev/app/tools/lint"),
        delta(Kind.LOCATION, failed="a.go", worked="/home/dev/app/a.go"),
        delta(Kind.DEAD_END, "test_failure"),
        delta(Kind.ENVIRONMENT, worked="rm -rf tmp/clones/x9"),
        delta(Kind.ENVIRONMENT, worked="git add a.go b.go"),
        delta(Kind.ENVIRONMENT, worked="git read-tree HEAD"),
        delta(Kind.HARNESS, error_line="ENOENT: no such file or directory, posix_spawn '<dir>/claude'"),
        delta(error_line="cat: mise-tasks/lint: Is a directory"),
        delta(error_line="error: Item N failed"),
    ],
)
def test_lessons_of_one_session(made: Candidate) -> None:
    """Paths of one machine, code being worked on, what was done for that once, failures that say nothing."""
    assert is_of_one_session(made)


@pytest.mark.parametrize(
    ("term", "path", "is_kept"),
    [("StoreClient", "src/client.py", True), ("base_url", "src/client.py", True), ("Agent", "src/a.py", False),
     ("capability", "src/a.py", False), ("example.com", "src/a.py", False), ("StoreClient", "../other/a.py", False),
     ("StoreClient", "tests/test_client.py", False), ("StoreClient", "/home/me/r/src/a.py", False),
     ("TestStoreClient", "tests/test_client.py", True)],
)  # fmt: skip
def test_only_made_up_names_are_places_worth_counting(term: str, path: str, is_kept: bool) -> None:
    """A common word is found in many files, another repository's file is not of this one."""
    made = replace(delta(Kind.LOCATION), source=Source.REPEATED_LOOKUP, subject=term, value=path, worked=path)
    assert bool(is_of_one_session(made)) != is_kept


def test_lessons_for_everybody() -> None:
    """Usage, environment, and a dead end that is not a failing test."""
    assert not is_of_one_session(delta())
    assert not is_of_one_session(delta(Kind.ENVIRONMENT, worked="npm ci"))
    assert not is_of_one_session(delta(Kind.DEAD_END, "command_not_found"))
    assert not is_of_one_session(delta(Kind.TRAP, "test_failure", error_line="KeyError: 'X'"))

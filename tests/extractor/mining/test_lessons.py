import pytest

from spanlore.memory.memory import EvidenceRole, Kind
from spanlore.spans.place import Outcome
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.failures import find_deltas
from spanlore_extractor.mining.lessons import dead_end_of, lesson_of, relative, shown_command
from spanlore_extractor.mining.loops import find_loops
from support.told import Told, failing_tests

WINDOW_NS = 600 * 10**9


def lesson(told: Told) -> Candidate | str:
    session = told.session()
    [delta] = find_deltas(session.conversations[0], WINDOW_NS).deltas
    return lesson_of(delta, session)


def key(told: Told) -> tuple[str, str, str]:
    found = lesson(told)
    assert isinstance(found, Candidate), found
    return found.subject, found.slot, found.value


def test_usage_is_the_words_that_changed() -> None:
    """Other arguments of another day don't make another lesson."""
    other = Told("b").run("rtk bun run lint", "error: unrecognized subcommand 'bun'", 2).run("bun run lint", "fine")

    assert key(failing_tests("a")) == key(other) == ("rtk bun", "unknown_command:rtk", "rtk → ∅")


def test_evidence_cites_both_calls() -> None:
    """The failing call with its line, and the fix."""
    found = lesson(failing_tests("a"))

    assert isinstance(found, Candidate)
    assert [item.role for item in found.evidence] == [EvidenceRole.FAILURE, EvidenceRole.FIX]
    assert found.evidence[0].quote == "rtk bun run test 2>&1\nerror: unrecognized subcommand 'bun'"
    assert found.trigger.signatures and found.trigger.program == "rtk"
    assert (found.scope, found.branch, found.harness) == ("github.com/example/tally", "main", "")


def test_variables() -> None:
    """What was set is the value."""
    told = Told().run("python3 -m unittest", "ModuleNotFoundError: No module named 'tally'", 1)
    told.run("PYTHONPATH=src python3 -m unittest", "OK")

    assert key(told)[2] == "∅ → PYTHONPATH=src"


def test_a_target_that_runs_the_tests_is_one_lesson() -> None:
    """Whatever the tests were given, and whatever did not load: the target worked, instead of the tests by hand."""
    told = Told().run("python3 -m unittest discover -s tests", "ModuleNotFoundError: No module named 'tally'", 1)
    found = lesson(told.run("cat Makefile", "check:").run("make check", "OK"))
    again = Told("b").run("python3 -m unittest", "ModuleNotFoundError: No module named 'tally.x'", 1)

    assert isinstance(found, Candidate)
    assert (found.kind, found.worked) == (Kind.USAGE, "make check")
    assert key(again.run("make check", "OK")) == (found.subject, found.slot, found.value)
    assert (found.subject, found.slot, found.value) == ("python unittest", "target", "make check")


def test_a_remedy_is_the_command_that_set_it_up() -> None:
    """The environment kind names what was run, not the failing command again."""
    told = Told().run("make it", "cannot connect to 'db'", 1).run("docker compose up -d").run("make it", "ok")

    found = lesson(told)

    assert isinstance(found, Candidate)
    assert (found.kind, found.value, found.worked) == (Kind.ENVIRONMENT, "docker compose up -d", "docker compose up -d")


def test_paths_are_told_below_the_repository() -> None:
    """Another machine has the repository elsewhere."""
    told = Told(cwd="/home/dev/tally").fails("Read", {"file_path": "/home/dev/tally/a/x.py"}, "File does not exist.")
    told.call("Read", {"file_path": "/home/dev/tally/b/x.py"}, "code")

    assert key(told) == ("a/x.py", "path", "b/x.py")


def test_directories() -> None:
    """From where a command works."""
    told = Told(cwd="/home/dev/tally").run("make check", "no rule to make target 'check'", 2)
    told.run("cd /home/dev/tally/api && make check", "ok")

    assert key(told) == ("make check", "directory", "api")


def test_harness_lessons_stay_with_their_harness() -> None:
    """Tool names and argument shapes are not shared across agents."""
    edit = {"file_path": "a.py", "old_string": "x y", "new_string": "z"}
    told = Told(harness="pi").fails("edit", edit, "File has not been read yet.").call("read", {"path": "a.py"})

    found = lesson(told.call("edit", edit))

    assert isinstance(found, Candidate)
    assert (found.kind, found.harness, found.value) == (Kind.HARNESS, "pi", "after the file was read")


def test_sandbox_lessons() -> None:
    """A command that needs approval is the harness's business."""
    told = Told(harness="codex")
    told.call("exec_command", {"cmd": "git fetch"}, "Exit code: 1\nfatal: not permitted", Outcome.FAILURE, exit_code=1)
    told.call("exec_command", {"cmd": "git fetch", "sandbox_permissions": "require_escalated"}, "ok")

    assert key(told) == ("git fetch", "sandbox", "with approval")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            Told().run("cat /tmp/x/a.py", "no such file or directory", 1).run("cat /tmp/y/a.py", "x"),
            "about a temporary file",
        ),
        (
            Told().run("pytest", "1 failed", 1).call("Edit", {"file_path": "a"}).run("pytest", "ok"),
            "code was fixed, and the failure's line says too little to recognise it again",
        ),
        (
            Told().run("git add a.py", "fatal: pathspec 'a.py' did not match", 128).run("git add a.py b.py", "ok"),
            "what made the difference can't be told in words that would hold again",
        ),
    ],
)
def test_no_lessons(told: Told, reason: str) -> None:
    """What would not hold again is dropped, with the reason."""
    assert lesson(told) == reason


def test_traps_wait_for_another_session() -> None:
    """A code fix makes a candidate of its own kind, with the files that were changed."""
    told = Told(cwd="/home/dev/tally").run("pytest", "E       KeyError: 'TALLY_CURRENCY'", 1)
    told.call("Edit", {"file_path": "/home/dev/tally/src/a.py"}).run("pytest", "ok")

    found = lesson(told)

    assert isinstance(found, Candidate)
    assert (found.kind, found.paths, found.slot) == (Kind.TRAP, ("src/a.py",), found.trigger.signatures[0])


def test_dead_ends() -> None:
    """A loop is about the failing command and its signature."""
    told = Told()
    for _ in range(4):
        told.run("docker build .", "ERROR: failed to solve: no route", 1)
    session = told.session()
    [loop] = find_loops(session.conversations[0], ())

    found = dead_end_of(loop, session)

    assert (found.kind, found.subject, found.count, len(found.evidence)) == (Kind.DEAD_END, "docker build", 4, 3)


def test_commands_are_told_without_trimmings() -> None:
    """Neither the shape of the output, nor going where one is, nor a heredoc's text."""
    session = Told(cwd="/home/dev/tally").session()

    assert shown_command("cd /home/dev/tally && pytest -q 2>&1 | tail -20", session) == "pytest -q"
    assert shown_command("git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"", session) == "git commit -m …"
    assert relative("cat /home/dev/tally/a.py /etc/hosts", session) == "cat a.py /etc/hosts"


def test_other_arguments_are_no_lesson() -> None:
    """Where nothing says what made the tool accept the call, there is nothing to remember."""
    edit = {"file_path": "a.py", "old_string": "x y", "new_string": "z"}
    told = Told(harness="swe-agent").fails("edit", edit, "Your proposed edit has introduced new syntax error(s).")

    found = lesson(told.call("edit", {**edit, "new_string": "zz"}))

    assert found == "what made the difference can't be told in words that would hold again"

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_extractor.mining.shell import action_of, program_of, take_apart


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("cd web && rtk bun run test 2>&1 | tail -20", [("rtk", "bun", "run", "test")]),
        ("FOO=1 pytest -q tests > out.txt", [("pytest", "-q", "tests")]),
        ("git status; echo done", [("git", "status")]),
        ("cat a.py | grep x", [("cat", "a.py")]),
        ("export A=1 && make check", [("make", "check")]),
    ],
)
def test_what_a_line_runs(line: str, commands: list[tuple[str, ...]]) -> None:
    """Filters, redirections and preparations are left out; wrappers stay."""
    assert list(take_apart(line).commands) == commands


def test_directory_and_assignments_are_told_apart() -> None:
    """Where a line runs and which variables it sets are no part of what it runs."""
    line = take_apart("cd web && export A=1 && B=2 make check")

    assert (line.directory, line.assignments, line.last) == ("web", ("A=1", "B=2"), ("make", "check"))


def test_heredocs_make_lines_differ() -> None:
    """Two scripts given to the same interpreter are not the same command."""
    one, other = (take_apart(f"python3 - <<'EOF'\nprint({n})\nEOF") for n in (1, 2))

    assert one.commands == other.commands
    assert one != other


@pytest.mark.parametrize(
    ("argv", "action"),
    [
        (("git", "-C", "x", "commit", "-m", "y"), ("git", "commit")),
        (("npm", "run", "lint", "--", "x"), ("npm", "run", "lint")),
        (("python3", "-m", "pytest", "-q"), ("python", "pytest")),
        (("gofmt", "-l", "."), ("gofmt",)),
        (("gh", "pr", "checks", "1"), ("gh", "pr", "checks")),
        (("gh", "api", "repos/a/b"), ("gh", "api")),
        (("docker", "run", "-d", "-p", "1:2", "x"), ("docker", "run")),
    ],
)
def test_action_is_what_a_command_does(argv: tuple[str, ...], action: tuple[str, ...]) -> None:
    """Program and sub-command, without options and arguments."""
    assert action_of(argv) == action


def test_program_has_no_path_and_no_version() -> None:
    """`/usr/bin/python3.12` is python."""
    assert program_of(("/usr/bin/python3.12",)) == "python"
    assert program_of(()) == ""


@given(st.text())
def test_nothing_raises(line: str) -> None:
    """Any text is some command line."""
    for argv in take_apart(line).commands:
        assert action_of(argv)


def test_env_before_a_command_only_sets() -> None:
    """`env A=1 go test` runs go."""
    line = take_apart("env GOFLAGS=-mod=mod A=1 go test ./...")

    assert (line.commands, line.assignments) == ((("go", "test", "./..."),), ("GOFLAGS=-mod=mod", "A=1"))
    assert take_apart("env").commands == (("env",),)

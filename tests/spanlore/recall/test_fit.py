"""A memory beside a failure fits it, or is not shown. The cases are those of real sessions."""

from __future__ import annotations

import pytest

from spanlore.memory.memory import Kind, Trigger
from spanlore.recall.fit import Failed, misfit, weigh
from spanlore.recall.rank import Match, Tier
from support.injecting import make_memory

SAME, NEAR = Tier.SIGNATURE, Tier.PROGRAM_AND_CLASS


def fits(found: Match, failed: Failed) -> bool:
    return not misfit(found, failed)


def match(tier: Tier, kind: Kind, subject: str, value: str, text: str, error_class: str = "Error") -> Match:
    trigger = Trigger(("0" * 16,), "p", error_class)
    slot = "path" if kind is Kind.LOCATION else "x"
    return Match(make_memory(subject, kind=kind, slot=slot, value=value, text=text, trigger=trigger), tier)


def missing(tier: Tier, path: str) -> Match:
    return match(tier, Kind.LOCATION, path, "b.go", f"`{path}` does not exist; `b.go` does.", "no_such_file")


@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize(
    ("asked", "is_right"),
    [
        ("/home/u/cli/cmd/entire/agent/claude.go", True),
        ("cmd/entire/agent/claude.go", True),
        ("./cmd/entire/agent/claude.go", True),
        ("C:\\w\\cli\\cmd\\entire\\agent\\claude.go", True),
        ("agent/claude.go", True),
        ("claude.go", True),
        ("/home/u/cli/.golangci.yml", False),
        ("/home/u/cli/cmd/entire/agent/myclaude.go", False),
        ("cmd/entire/other/claude.go", False),
        ("", False),
    ],
)
def test_a_missing_path_is_that_path(tier: Tier, asked: str, is_right: bool) -> None:
    """All missing files have one signature; a path may be given from the root, or from further down."""
    failed = Failed("Read", asked, "File does not exist.")

    assert fits(missing(tier, "cmd/entire/agent/claude.go"), failed) == is_right


def test_the_same_signature_that_says_something() -> None:
    """Fits, whatever the command around it."""
    fix = match(
        SAME, Kind.USAGE, "bun run lint", "lint → lint:fix", "`bun run lint` failed; `bun run lint:fix` worked."
    )

    assert fits(fix, Failed("bun", "cd x && bun run typecheck && bun lint", "× Formatter would have printed"))


@pytest.mark.parametrize(("command", "is_right"), [("cd x && make test 2>&1", True), ("make deploy", False)])
def test_a_failure_without_a_word(command: str, is_right: bool) -> None:
    """Only the command can tell."""
    fix = match(SAME, Kind.ENVIRONMENT, "make test", "make db", "`make test` failed; it passed after `make db`.")

    assert fits(fix, Failed("make", command, "")) == is_right


@pytest.mark.parametrize(
    ("command", "line", "is_right"),
    [
        ("python3 x.py", "ModuleNotFoundError: No module named 'pytest'", True),
        ("python3 x.py", "ModuleNotFoundError: No module named 'erfa'", False),
        ("pytest -q", "ModuleNotFoundError: No module named 'pytest'", False),
    ],
)
def test_the_same_class_needs_what_the_remedy_names(command: str, line: str, is_right: bool) -> None:
    """And the command that the memory is about."""
    text = "`python` failed with “ModuleNotFoundError: No module named 'pytest'”; it passed after `pip install pytest`."
    fix = match(NEAR, Kind.ENVIRONMENT, "python", "pip install pytest", text, "ModuleNotFoundError")

    assert fits(fix, Failed("python" if "python" in command else "pytest", command, line)) == is_right


def test_another_form_of_a_command_helps_whatever_was_missing() -> None:
    """The remedy takes up nothing of the error: which module is missing does not matter."""
    text = "`pytest` failed with “ImportError: No module named 'shop'”; `uv run pytest` worked instead."
    fix = match(NEAR, Kind.USAGE, "pytest", "pytest → uv run pytest", text, "ImportError")

    assert fits(fix, Failed("pytest", "pytest tests/cart -q", "ImportError: No module named 'cart'"))


@pytest.mark.parametrize("error_class", ["exit_1", "exit_-9", "tool_error", ""])
def test_a_class_that_says_nothing(error_class: str) -> None:
    """`mise run lint` fails for other reasons than the one that is known."""
    text = "`mise run lint` failed with “[lint:gofmt] ERROR task failed”; it passed after `mise run fmt`."
    fix = match(NEAR, Kind.ENVIRONMENT, "mise run lint", "mise run fmt", text, error_class)

    assert not fits(fix, Failed("mise", "mise run lint", "[lint:gomod] ERROR task failed"))


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("ENOENT: no such file or directory, posix_spawn '<dir>/<version>'", True),
        ("Path does not exist: cmd/entire/cli", False),
        ("", False),
    ],
)
def test_a_tools_own_trouble(line: str, is_right: bool) -> None:
    """The words of its error tell; a path in them does not."""
    text = "`Glob` failed with “ENOENT: no such file or directory, posix_spawn '<dir>/claude'”; use `Bash`."
    fix = match(NEAR, Kind.HARNESS, "Glob", "Bash", text, "no_such_file")

    assert fits(fix, Failed("Glob", "**/*.go", line)) == is_right


def test_all_of_the_very_same_failure_are_taken() -> None:
    """In their order; the others are told with the reason."""
    found = [missing(SAME, "a.go"), missing(SAME, "x/b.go"), missing(SAME, "b.go"), missing(NEAR, "w/x/b.go")]
    weighed = weigh(found, Failed("Read", "/w/x/b.go", "File does not exist."))

    assert [one.match for one in weighed] == found
    assert [one.cut for one in weighed] == ["other_path", "", "", "outranked"]


def test_of_the_same_class_the_best_is_taken_that_was_not_taken_before() -> None:
    """One, and an old one rather than none."""
    found = [missing(NEAR, "b.go"), missing(NEAR, "x/b.go")]
    failed = Failed("Read", "/w/x/b.go", "File does not exist.")
    first, second = (match.memory.id for match in found)

    assert [one.cut for one in weigh(found, failed)] == ["", "outranked"]
    assert [one.cut for one in weigh(found, failed, {first})] == ["outranked", ""]
    assert [one.cut for one in weigh(found, failed, {first, second})] == ["", "outranked"]


@pytest.mark.parametrize(
    ("found", "failed", "cut"),
    [
        (missing(NEAR, "a.go"), Failed("Read", "b.go", "File does not exist."), "other_path"),
        (match(SAME, Kind.USAGE, "make x", "y", "t"), Failed("make", "make z", ""), "other_command"),
        (match(NEAR, Kind.USAGE, "make x", "y", "t", "exit_1"), Failed("make", "make x", "E"), "vague"),
        (match(NEAR, Kind.USAGE, "make x", "y", "t"), Failed("make", "make z", "E"), "other_command"),
        (match(NEAR, Kind.HARNESS, "Glob", "Bash", "“one two”"), Failed("Glob", "*", "three"), "other_error"),
    ],
)
def test_the_reason_is_told(found: Match, failed: Failed, cut: str) -> None:
    """So that `explain` can say what was held back, and why."""
    assert misfit(found, failed) == cut

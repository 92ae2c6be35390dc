import pytest

from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.tools import (
    ToolKind,
    argument,
    is_edit,
    is_environment_change,
    kind_of,
    path_of,
)
from support.told import Told, steps_of


def call(name: str, arguments: dict[str, str]) -> ToolStep:
    step = steps_of(Told().call(name, arguments))[0]
    assert isinstance(step, ToolStep)
    return step


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Bash", ToolKind.SHELL), ("exec_command", ToolKind.SHELL), ("Read", ToolKind.READ), ("apply_patch",
    ToolKind.EDIT),
     ("mcp__linear__get", ToolKind.OTHER)],
)  # fmt: skip
def test_kinds_hold_for_every_harness(name: str, kind: ToolKind) -> None:
    """One kind, whatever a harness calls its tool."""
    assert kind_of(call(name, {})) is kind


@pytest.mark.parametrize(
    "command",
    [
        "sed -i '' s/a/b/ x.py",
        "cat > x.py <<'EOF'\nEOF",
        "echo hi > notes.md",
        "python3 -c \"open('x', 'w').write('')\"",
    ],
)
def test_a_shell_line_that_writes_a_file_is_an_edit(command: str) -> None:
    """What an edit tool does, a command can do."""
    assert is_edit(call("Bash", {"command": command}))


@pytest.mark.parametrize("command", ["cat x.py", "pytest 2>&1", "make > /dev/null", "grep a b"])
def test_reading_is_no_edit(command: str) -> None:
    """Redirecting errors or throwing output away writes nothing."""
    assert not is_edit(call("Bash", {"command": command}))


@pytest.mark.parametrize(
    "command",
    [
        "pip install x",
        "mkdir -p a",
        "docker compose up -d",
        "git fetch",
        "bun run lint:fix",
        "black src",
        "ruff check --fix .",
        "helm repo add a https://charts.example.com",
    ],
)
def test_setting_up_is_an_environment_change(command: str) -> None:
    """Installing, starting, making and fetching change what the next command finds."""
    assert is_environment_change(call("Bash", {"command": command}))


def test_looking_is_no_environment_change() -> None:
    """Nor is it one when another kind of tool did it."""
    assert not is_environment_change(call("Bash", {"command": "git status && ls"}))
    assert not is_environment_change(call("Edit", {"file_path": "a.py"}))


def test_path_and_arguments() -> None:
    """A file tool has a path; a shell tool has none; arguments that were cut have no values."""
    assert path_of(call("Read", {"file_path": "/a/b.py"})) == "/a/b.py"
    assert path_of(call("Bash", {"command": "ls"})) == ""
    assert argument(call("Read", {"file_path": "x"}), "path", "file_path") == "x"
    assert argument(call("Read", {"file_path": "x" * 5000}), "file_path") == ""

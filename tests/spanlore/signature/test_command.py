"""Which program a command really runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.genai.messages import ToolCall
from spanlore.signature.command import MAX_COMMAND_CHARS, parse_command, program_name, shell_text, tool_program


@pytest.mark.parametrize(
    ("shell", "program", "wrappers"),
    [
        ("cd x && uv run pytest -q", "pytest", ("uv run",)),
        ("uv run --with pytest-xdist --python 3.12 pytest", "pytest", ("uv run",)),
        (
            "sudo -u bob FOO=1 env A=b timeout 30 python3.12 -m pytest",
            "pytest",
            ("sudo", "env", "timeout", "python -m"),
        ),
        ("bash -lc 'cd /a && npm test'", "npm", ("bash -c",)),
        ("bash ./scripts/build.sh --fast", "build.sh", ("bash",)),
        ("npx -y tsc --noEmit", "tsc", ("npx",)),
        ("time poetry run mypy .", "mypy", ("time", "poetry run")),
        ("conda run -n e python -c 'print(1)'", "python", ("conda run",)),
        ("export A=1; source .venv/bin/activate && ./gradlew test", "gradlew", ()),
        ("command -v foo", "command", ()),
        ("npm run test", "npm", ()),
        ("! grep -q a b", "grep", ()),
        ("timeout 5", "timeout", ()),
        ("echo hello", "echo", ()),
        ("A=1", "", ()),
        ("", "", ()),
    ],
)
def test_wrappers_and_preparations_are_taken_off(shell: str, program: str, wrappers: tuple[str, ...]) -> None:
    """The program has one name, however it is wrapped."""
    found = parse_command(shell)

    assert (found.program, found.wrappers) == (program, wrappers)


def test_who_decides_the_exit_status() -> None:
    """The last command of the text does, and a pipe's first program is told with it."""
    piped = parse_command("cd a && cargo test 2>&1 | tail -20")
    listed = parse_command("make a; grep -q x log")
    guarded = parse_command("pytest || true")

    assert (piped.program, piped.is_pipeline, piped.decider[0], piped.decider_feeds_on) == (
        "cargo",
        True,
        "tail",
        "cargo",
    )
    assert (listed.decider[0], listed.decider_feeds_on, listed.is_guarded) == ("grep", "", False)
    assert guarded.is_guarded and guarded.decider == ("pytest",)
    assert parse_command('pytest; echo "exit $?"').is_guarded


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("/usr/bin/python3.12", "python"),
        ("./gradlew", "gradlew"),
        ("C:\\x\\git.exe", "git"),
        ("pip3", "pip"),
        ("7z", "7z"),
    ],
)
def test_program_names_lose_path_and_version(word: str, name: str) -> None:
    """The same program has one name on every machine."""
    assert program_name(word) == name


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Bash", {"command": "uv run pytest"}, ("pytest", "uv run pytest")),
        ("exec_command", {"cmd": "ls"}, ("ls", "ls")),
        ("shell", {"command": ["bash", "-lc", "cargo build"]}, ("cargo", "cargo build")),
        ("shell", {"command": ["git", "status"]}, ("git", "git status")),
        ("Read", {"file_path": "/a/b.py"}, ("Read", "/a/b.py")),
        ("Bash", "not json", ("Bash", "")),
        ("mcp__x__y", {"q": 1}, ("mcp__x__y", "")),
    ],
)
def test_tool_program(name: str, arguments: object, expected: tuple[str, str]) -> None:
    """A shell tool gives its program and text, another tool its name and path."""
    assert tool_program(ToolCall("1", name, arguments)) == expected


def test_long_commands_are_cut() -> None:
    """A command of any length is recorded in at most 4096 characters."""
    assert len(tool_program(ToolCall("1", "Bash", {"command": "x" * 9_000}))[1]) == MAX_COMMAND_CHARS


@pytest.mark.parametrize(
    ("name", "arguments", "shell"),
    [
        ("functions.shell", {"command": ["bash", "-lc", "make"]}, "make"),
        ("mcp__desktop__execute_command", {"command": "make", "requires_approval": False}, "make"),
        ("do_it", {"command": "make -j", "timeout": 60, "workDir": "/r"}, "make -j"),
        ("do_it", {"cmd": "make"}, "make"),
        ("editor", {"command": "view", "path": "/a"}, None),
        ("edit", {"command": "edit 1:2"}, None),
        ("SlashCommand", {"command": "/review 12"}, None),
        ("do_it", {"command": "make", "prompt": "x"}, None),
        ("Read", {"file_path": "/a"}, None),
    ],
)
def test_a_tool_that_is_given_a_command_alone_is_a_shell(
    name: str, arguments: dict[str, object], shell: str | None
) -> None:
    """Whatever an unknown agent calls its shell, it is told by what it is given; one that is given more is none."""
    assert shell_text(ToolCall("1", name, arguments)) == shell


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(["pytest -q", "go test ./...", "npm run build"]),
    st.lists(
        st.sampled_from(["sudo ", "FOO=bar ", "env ", "time ", "nohup ", "timeout 60 ", "uv run ", "npx "]), max_size=4
    ),
)
def test_any_wrapping_gives_the_same_program(command: str, wrappers: list[str]) -> None:
    """Wrappers never change the program, in whatever order they stand."""
    assert parse_command("".join(wrappers) + command).program == command.split(maxsplit=1)[0]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('const r = await tools.exec_command({ cmd: "pytest -q", workdir: "/w" });', "pytest -q"),
        ("await tools.exec_command({yield_time_ms: 1000, 'cmd': 'echo \\'hi\\''})", "echo 'hi'"),
        ("tools.exec_command({cmd: `cd x\nmake`})", "cd x\nmake"),
        ('tools.exec_command({cmd: "echo \\"a\\"\\nls"})', 'echo "a"\nls'),
        ("tools.exec_command({cmd: `make ${target}`})", None),
        ('tools.exec_command({cmd: "a"}); tools.exec_command({cmd: "b"})', None),
        ("tools.exec_command({cmd: command})", None),
        ("text(1)", None),
    ],
)
def test_the_command_in_a_script(script: str, expected: str | None) -> None:
    """Codex's code mode: JavaScript that runs one command, written out."""
    assert shell_text(ToolCall("t", "exec", script)) == expected


def test_several_commands_of_one_call() -> None:
    """The Responses API's shell runs them one after the other."""
    assert shell_text(ToolCall("t", "shell", {"commands": ["cd x", "make"]})) == "cd x\nmake"

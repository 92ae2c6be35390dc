"""Which program did a shell command, or a tool call, really run?

Agents wrap the program that matters: `cd x && uv run pytest -q 2>&1 | tail -20` is pytest. Wrappers (sudo, env,
timeout, uv run, npx, bash -lc, `python -m` …) and preparations (cd, export, source, echo …) are taken off, so that the
same program has one name in every session. Package scripts (`npm run test`, `make test`) keep their runner's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from spanlore.genai.messages import ToolCall
from spanlore.signature.shell import Simple, simple_commands

MAX_COMMAND_CHARS: Final = 4096
"""Longest command text that is recorded (`semconv.lore.COMMAND`)."""
MAX_REMEMBERED_CHARS: Final = 2000
_MAX_DEPTH: Final = 4

SHELL_TOOLS: Final = frozenset(
    {
        "bash", "shell", "exec_command", "local_shell", "run_shell_command", "exec", "terminal", "execute_command",
        "run_terminal_cmd", "container.exec", "shell_command", "execute_bash", "run_command", "powershell",
        "run_in_terminal", "run_commands", "run_terminal_command", "execute", "developer__shell", "launch-process",
    }
)  # fmt: skip
"""Names (lower case) under which agents offer a shell, without the server they come from."""
_MANNERS: Final = frozenset(
    {
        "description", "explanation", "reason", "justification", "timeout", "timeout_ms", "timeout_seconds", "cwd",
        "workdir", "working_dir", "working_directory", "workingdirectory", "directory", "dir_path", "run_in_background",
        "is_background", "background", "blocking", "wait", "shell", "login", "tty", "env", "requires_approval",
        "sandbox_permissions", "with_escalated_permissions", "prefix_rule", "yield_time_ms", "max_output_tokens",
        "security_risk", "is_input", "thought", "task_progress",
    }
)  # fmt: skip
"""Arguments (lower case) that say how a command is to be run."""
_NO_SHELLS: Final = frozenset(
    {
        "edit", "open", "create", "goto", "insert", "scroll_up", "scroll_down", "search_dir", "search_file",
        "find_file", "str_replace_editor", "str_replace_based_edit_tool", "submit",
    }
)  # fmt: skip
"""Tools whose `command` is their own: SWE-agent's, Anthropic's editor."""
_TEXT_KEYS: Final = ("command", "cmd", "script", "input")
_SLASH_COMMAND = re.compile(r"/[\w:-]+(?:\s|\Z)")

_PREPARATIONS: Final = frozenset(
    {
        "cd", "pushd", "popd", "export", "unset", "source", ".", "set", "echo", "printf", "true", ":", "sleep", "alias",
        "eval", "local", "declare", "shopt", "umask", "ulimit", "trap", "wait", "pwd", "read", "exit", "return",
        "break", "continue",
    }
)  # fmt: skip
_FLAG_ARGUMENTS: Final[Mapping[str, frozenset[str]]] = {
    "sudo": frozenset({"-u", "-g", "-p", "-C", "-h", "-U"}),
    "env": frozenset({"-u", "-C", "--chdir", "--unset"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "time": frozenset({"-f", "-o"}),
    "xvfb-run": frozenset({"-s", "-n", "-e"}),
    "uv run": frozenset({"--with", "--python", "-p", "--extra", "--group", "--project", "--directory", "--package",
                         "--env-file", "--with-requirements", "--index", "--only-group", "--no-group"}),
    "uvx": frozenset({"--from", "--with", "--python", "-p"}),
    "npx": frozenset({"-p", "--package", "-w", "--workspace"}),
    "conda run": frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    "poetry run": frozenset({"-C", "--directory"}),
    "pnpm exec": frozenset({"--filter", "-F", "-C", "--dir"}),
}  # fmt: skip
"""Flags of a wrapper that take the next word with them."""
_ONE_WORD_WRAPPERS: Final = frozenset(
    {
        "sudo", "doas", "env", "time", "gtime", "nice", "ionice", "nohup", "timeout", "gtimeout", "stdbuf", "exec",
        "command", "builtin", "setsid", "unbuffer", "xvfb-run", "caffeinate", "chronic", "uvx", "npx", "bunx", "pipx",
        "dotenv", "winpty", "busybox",
    }
)  # fmt: skip
_TWO_WORD_WRAPPERS: Final = frozenset(
    {
        "uv run", "uv x", "poetry run", "pipenv run", "pdm run", "hatch run", "rye run", "pixi run", "conda run",
        "mamba run", "micromamba run", "bundle exec", "rbenv exec", "pyenv exec", "mise exec", "mise x", "asdf exec",
        "direnv exec", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "npm exec", "bun x", "pipx run", "op run",
        "doppler run", "infisical run",
    }
)  # fmt: skip
_OPERANDS: Final[Mapping[str, int]] = {"timeout": 1, "gtimeout": 1, "direnv exec": 1}
"""Words of its own that a wrapper takes before the command."""
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "fish", "ksh"})
_SCRIPTED = re.compile(
    r"exec_command\(\s*\{.{0,400}?(?<![\w.])[\"']?cmd[\"']?\s*:\s*(?P<quote>[\"'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)",
    re.S,
)
_ESCAPED = re.compile(r"\\(.)", re.S)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VERSIONED = re.compile(r"(python|pip|ruby|node|php|perl|lua|gcc|g\+\+|clang|clang\+\+)-?\d+(?:\.\d+)*\Z")


@dataclass(frozen=True, slots=True)
class Command:
    """What a shell text runs."""

    program: str
    """Base name of the program that matters, '' when there is none."""
    argv: tuple[str, ...]
    """Its words, the program first."""
    wrappers: tuple[str, ...] = ()
    """What was taken off in front of it, outermost first: `sudo`, `uv run`, `python -m`, `bash -c`."""
    is_pipeline: bool = False
    """The program's output went into another command."""
    is_guarded: bool = False
    """`|| true` or the like: the exit status says nothing about the program."""
    decider: tuple[str, ...] = ()
    """Words of the command whose exit status the shell reports: the last one written. Wrappers stripped."""
    decider_feeds_on: str = ""
    """First program of the pipeline that ends in `decider`; '' when it is not a pipeline."""
    programs: tuple[str, ...] = ()
    """All programs in order, preparations among them."""


def parse_command(shell: str) -> Command:
    """The command of a shell text. Never raises; empty text gives an empty command.

    Where several programs run, the first that is not a preparation counts: the others follow from its result.
    """
    return _parse_again(shell) if len(shell) <= MAX_REMEMBERED_CHARS else _parse(shell, 0)


@lru_cache(512)
def _parse_again(shell: str) -> Command:
    # A call is looked at by who judges it, who signs it and who names it.
    return _parse(shell, 0)


def _parse(shell: str, depth: int) -> Command:
    simples = simple_commands(shell)
    stripped = [_strip(simple.words) for simple in simples]
    chosen = next((i for i, (words, _) in enumerate(stripped) if words and words[0] not in _PREPARATIONS), None)
    if chosen is None:
        chosen = next((i for i, (words, _) in enumerate(stripped) if words), None)
    if chosen is None:
        return Command("", ())
    words, wrappers = stripped[chosen]
    inner = _inner_script(words)
    if inner is not None and depth < _MAX_DEPTH:
        found = _parse(inner, depth + 1)
        if found.program:
            return _outer(found, (*wrappers, f"{words[0]} -c"), simples, chosen)
    last = _last(simples)
    return Command(
        program=words[0],
        argv=words,
        wrappers=wrappers,
        is_pipeline=simples[chosen].then == "|",
        is_guarded=_is_guarded(simples, stripped),
        decider=stripped[last][0],
        decider_feeds_on=_feeding(simples, stripped, last),
        programs=tuple(words[0] for words, _ in stripped if words),
    )


def _outer(found: Command, wrappers: tuple[str, ...], simples: tuple[Simple, ...], chosen: int) -> Command:
    """The command inside a `bash -c`, with what stands around that."""
    return Command(
        program=found.program,
        argv=found.argv,
        wrappers=(*wrappers, *found.wrappers),
        is_pipeline=found.is_pipeline or simples[chosen].then == "|",
        is_guarded=found.is_guarded or _is_guarded(simples, [_strip(simple.words) for simple in simples]),
        decider=found.decider,
        decider_feeds_on=found.decider_feeds_on,
        programs=found.programs,
    )


def _last(simples: tuple[Simple, ...]) -> int:
    """The command whose status is reported: the last, but not what only runs after a failure (`|| echo no`)."""
    last = len(simples) - 1
    while last > 0 and simples[last - 1].then == "||":
        last -= 1
    return last


def _is_guarded(simples: tuple[Simple, ...], stripped: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> bool:
    """`a || true`, or a list whose last command only reports (`a; echo "exit $?"`)."""
    for i, simple in enumerate(simples[:-1]):
        words = stripped[i + 1][0]
        if (
            simple.then == "||"
            and (not words or words[0] in _PREPARATIONS)
            and words[:1] not in (("exit",), ("return",))
        ):
            return True
    tail = stripped[-1][0]
    return len(simples) > 1 and simples[-2].then == ";" and bool(tail) and tail[0] in ("echo", "printf", "true", ":")


def _feeding(simples: tuple[Simple, ...], stripped: list[tuple[tuple[str, ...], tuple[str, ...]]], last: int) -> str:
    first = last
    while first > 0 and simples[first - 1].then == "|":
        first -= 1
    words = stripped[first][0]
    return words[0] if first < last and words else ""


def _strip(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words without assignments and wrappers, program normalised; and the wrappers."""
    wrappers: list[str] = []
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
            continue
        program = program_name(words[0])
        two = f"{program} {words[1]}" if len(words) > 1 else ""
        if two in _TWO_WORD_WRAPPERS:
            wrapper, rest = two, words[2:]
        elif program in _ONE_WORD_WRAPPERS:
            wrapper, rest = program, words[1:]
        elif program == "python" and len(words) > 2 and words[1] == "-m":
            wrapper, rest = "python -m", words[2:]
        elif program in _SHELLS and len(words) > 1 and not words[1].startswith("-"):
            wrapper, rest = program, words[1:]  # a script run by its shell counts as the script
        else:
            return (program, *words[1:]), tuple(wrappers)
        stripped = _operands(wrapper, rest)
        if not stripped or (wrapper == "command" and rest[0] in ("-v", "-V")):
            return (program, *words[1:]), tuple(wrappers)
        wrappers.append(wrapper)
        words = stripped
    return (), tuple(wrappers)


def _operands(wrapper: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """What follows a wrapper's own flags and operands."""
    with_argument = _FLAG_ARGUMENTS.get(wrapper, frozenset())
    i = 0
    while i < len(words) and words[i].startswith("-") and words[i] != "-":
        if words[i] == "--":
            i += 1
            break
        i += 2 if words[i] in with_argument else 1
    i += _OPERANDS.get(wrapper, 0)
    return words[i:]


def _inner_script(words: tuple[str, ...]) -> str | None:
    """The script of `bash -c SCRIPT`, or None."""
    if not words or words[0] not in _SHELLS:
        return None
    for i, word in enumerate(words[1:-1], start=1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return words[i + 1]
        if not word.startswith("-"):
            return None
    return None


def program_name(word: str) -> str:
    """Base name without version: `/usr/bin/python3.12` → python, `./gradlew` → gradlew, `C:\\x\\git.exe` → git."""
    name = word.rstrip("/").replace("\\", "/").rpartition("/")[2]
    name = name.removesuffix(".exe")
    versioned = _VERSIONED.match(name)
    return versioned[1] if versioned else name


def shell_text(call: ToolCall) -> str | None:
    """The shell text of a call to a shell tool, whatever the agent calls tool and argument; None for other tools.

    A tool whose name nobody knows is a shell when all it is given is a command, and how to run it.
    """
    name = base_name(call.name)
    if name not in SHELL_TOOLS and (name in _NO_SHELLS or not _is_given_a_command(call.arguments)):
        return None
    if isinstance(call.arguments, str):
        return _in_script(call.arguments)
    if not isinstance(call.arguments, dict):
        return None
    commands = call.arguments.get("commands")
    if isinstance(commands, list) and commands and all(isinstance(text, str) for text in commands):
        return "\n".join(commands)  # one after the other, each on its own
    for key in _TEXT_KEYS:
        value: Any = call.arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _joined(value)
    return None


@lru_cache(512)
def base_name(tool: str) -> str:
    """A tool's own name, lower case: `mcp__desktop__run_command`, `functions.shell` without what offers them."""
    name = tool.lower()
    return name if name in SHELL_TOOLS else re.split(r"__|[.:/]", name)[-1]


def _is_given_a_command(arguments: Any) -> bool:
    if not isinstance(arguments, dict):
        return False
    text = arguments.get("command", arguments.get("cmd"))
    if isinstance(text, list):
        text = text[0] if text and all(isinstance(word, str) for word in text) else None
    if not isinstance(text, str) or not text.strip() or _SLASH_COMMAND.match(text):
        return False
    return all(key in ("command", "cmd") or key.lower() in _MANNERS for key in arguments)


def _in_script(script: str) -> str | None:
    """The one command that Codex's code mode runs from JavaScript; None for none, several, or one made at run time."""
    if script.count("exec_command(") != 1:
        return None
    found = _SCRIPTED.search(script)
    if found is None or (found["quote"] == "`" and "${" in found["text"]):
        return None
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), found["text"])


def _joined(argv: list[str]) -> str:
    if program_name(argv[0]) in _SHELLS and len(argv) > 2 and argv[1].startswith("-"):
        return argv[2]
    return " ".join(argv)


def tool_program(call: ToolCall) -> tuple[str, str]:
    """(program, command) of a tool call: the parsed program and the shell text, or the tool's name and its path.

    The command is cut at `MAX_COMMAND_CHARS`; '' when the tool has neither.
    """
    shell = shell_text(call)
    if shell is not None:
        return parse_command(shell).program or call.name, shell[:MAX_COMMAND_CHARS]
    if isinstance(call.arguments, dict):
        for key in ("file_path", "path", "filePath", "notebook_path", "absolute_path", "url", "pattern"):
            value = call.arguments.get(key)
            if isinstance(value, str) and value:
                return call.name, value[:MAX_COMMAND_CHARS]
    return call.name, ""

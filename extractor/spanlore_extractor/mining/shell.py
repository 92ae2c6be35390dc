"""Shell commands as mining compares them: which simple commands a line runs, where, and what of it only trims output.

The words come from `spanlore.signature.shell`, which is tolerant and never raises. Wrappers are left where they are:
that `rtk bun test` fails where `bun test` works is just what is to be learned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from spanlore.signature.command import program_name
from spanlore.signature.shell import simple_commands

_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:\n[ \t]*\2[ \t]*(?=\n|\)|$)|\Z)", re.S)
_TO_FILE: Final = re.compile(r"(?:^|[;&|(\n])\s*(?:sudo )?(?:tee\b[^;&|\n]*|cat\b[^;&|\n]*>[^;&|\n]*)$")
_TO_FILE_AFTER: Final = re.compile(r"(?:^|[;&|(\n])\s*(?:sudo )?cat\s*$")
_ASSIGNMENT: Final = re.compile(r"^[A-Za-z_]\w*\+?=")
# These only trim or count what stands before them in a pipe.
_FILTERS: Final = frozenset(
    {"head", "tail", "grep", "rg", "egrep", "sed", "awk", "cut", "sort", "uniq", "wc", "tee", "less", "cat", "jq",
    "tr", "column", "xargs"}
)  # fmt: skip
_NO_COMMANDS: Final = frozenset(
    {"cd", "pushd", "popd", "export", "set", "unset", "source", ".", "true", "false", ":", "echo", "printf", "sleep",
    "wait"}
)  # fmt: skip
_SUBCOMMANDED: Final = {
    "git": 1, "go": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "deno": 1, "cargo": 1, "docker": 1, "podman": 1,
    "kubectl": 1, "gh": 2,
    "mise": 1, "uv": 1, "pip": 1, "poetry": 1, "brew": 1, "apt": 1, "apt-get": 1, "make": 1, "just": 1, "task": 1,
    "terraform": 1,
    "helm": 1, "aws": 2, "gcloud": 2, "az": 2, "systemctl": 1, "conda": 1, "bundle": 1, "rails": 1, "rake": 1,
    "dotnet": 1, "gradle": 1,
    "gradlew": 1, "mvn": 1, "nix": 1, "pre-commit": 1, "rtk": 1, "flutter": 1, "swift": 1, "composer": 1,
    "rustup": 1, "hatch": 1,
}  # fmt: skip
"""How many words after the program say what it does. `run` (npm run X, mise run X) takes one more."""


@dataclass(frozen=True, slots=True)
class ShellLine:
    """One shell command line, taken apart."""

    commands: tuple[tuple[str, ...], ...]
    """The simple commands that do something, words without redirections; filters at the end of a pipe left out."""
    directory: str = ""
    """Where the last `cd` leads, '' when there is none."""
    assignments: tuple[str, ...] = ()
    """`NAME=value` words, exported or before a command."""
    heredocs: tuple[str, ...] = ()
    """Texts given to commands on their standard input; two lines that differ in these are different lines."""
    inputs: tuple[str, ...] = ()
    """Of those the ones that a program reads; the others are only written to a file."""

    @property
    def last(self) -> tuple[str, ...]:
        """The command whose exit code the line most likely has."""
        return self.commands[-1] if self.commands else ()


@lru_cache(maxsize=4096)
def take_apart(command: str) -> ShellLine:
    """What a command line runs."""
    commands: list[tuple[str, ...]] = []
    directory, assignments, is_piped = "", [], False
    for simple in simple_commands(command):
        argv = list(simple.words)
        reads_pipe, is_piped = is_piped, simple.then == "|"
        if argv[:1] == ["env"] and argv[1:] and _ASSIGNMENT.match(argv[1]):
            argv.pop(0)
        while argv and _ASSIGNMENT.match(argv[0]):
            assignments.append(argv.pop(0))
        if not argv or (reads_pipe and commands and argv[0] in _FILTERS):
            continue
        if argv[0] in ("cd", "pushd") and len(argv) > 1:
            directory = argv[1]
        elif argv[0] == "export":
            assignments += argv[1:]
        elif argv[0] not in _NO_COMMANDS:
            commands.append(tuple(argv))
    found = list(_HEREDOC.finditer(command)) if "<<" in command else []
    heredocs = tuple(one[0] for one in found)
    inputs = tuple(one[0] for one in found if not _is_written(command[: one.start()], one[0]))
    return ShellLine(tuple(commands), directory, tuple(assignments), heredocs, inputs)


def _is_written(before: str, heredoc: str) -> bool:
    """Whether a text goes to a file: `cat > f <<E`, `cat <<E > f`, `tee f <<E`."""
    head = before[before.rfind("\n") + 1 :]
    rest = heredoc.partition("\n")[0]
    return bool(_TO_FILE.search(head) or (_TO_FILE_AFTER.search(head) and ">" in rest))


def program_of(argv: tuple[str, ...]) -> str:
    """Base name of the program, without a version."""
    return program_name(argv[0]) if argv else ""


def action_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Program and the words that say what it does: ('git', 'commit'), ('npm', 'run', 'lint'), ('pytest',)."""
    program = program_of(argv)
    if program == "python" and len(argv) > 2 and argv[1] == "-m":
        return (program, argv[2])
    depth = _SUBCOMMANDED.get(program, 0)
    if program == "gh" and argv[1:2] == ("api",):
        return (program, "api")
    rest = _without_options(argv[1:], values_too=program in ("git", "docker", "kubectl", "make"))
    runners = ("compose",) if program in ("docker", "podman") else ("run", "exec", "x")
    is_runner = bool(rest[depth - 1 : depth]) and rest[depth - 1] in runners
    return (program, *rest[: depth + is_runner]) if depth else (program,)


def _without_options(words: tuple[str, ...], values_too: bool) -> list[str]:
    """Words that are no options nor, where asked, the value of `-C`, `-c`, `-f`, `-n` (git -C DIR, make -f FILE)."""
    out, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif values_too and word in ("-C", "-c", "-f", "-n"):
            skip = True
        elif not word.startswith(("-", "/")):
            out.append(word)
    return out

"""Commands whose non-zero exit is an answer and not a failure, and pipes that hide the real one.

Sources: POSIX (grep, diff, cmp, test, expr: 1 means "no" and more than 1 trouble), git-diff(1) `--exit-code`,
git-merge-base(1) `--is-ancestor`, git-config(1), git-check-ignore(1), systemctl(1), procps, jq(1) `-e`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from spanlore.signature.command import Command

READERS: Final = frozenset(
    {
        "cat", "ls", "echo", "printf", "find", "fd", "grep", "egrep", "fgrep", "rg", "ag", "ack", "ps", "env", "head",
        "tail", "sort", "wc", "tree", "history", "date", "du", "df", "stat", "file", "which", "sed", "awk", "cut", "tr",
        "uniq", "column", "xxd", "od", "strings", "jq", "nl", "less", "more", "true", "yes", "seq", "ss", "lsof",
        "pgrep",
    }
)  # fmt: skip
"""Programs that only look: whether they managed to is no lesson, so a pipe behind them hides nothing."""

STATUS_HIDERS: Final = frozenset(
    {
        "head", "tail", "cat", "grep", "egrep", "fgrep", "rg", "sed", "awk", "less", "more", "tee", "wc", "sort",
        "uniq", "cut", "tr", "column", "jq", "nl", "fold", "strings", "xargs", "tac", "rev", "fmt", "pr", "bat", "ts",
    }
)  # fmt: skip
"""Filters that end in 0 whatever happened before them in the pipe."""

_ONE: Final = frozenset(
    {
        "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "diff", "cmp", "colordiff", "sdiff", "comm", "test", "[",
        "[[", "pgrep", "pkill", "pidof", "killall", "which", "type", "hash", "where", "command", "expr", "let", "lsof",
        "fuser", "false", "!",
    }
)  # fmt: skip
"""Programs for which exit 1 means no."""


def is_benign(command: Command, exit_code: int) -> bool:
    """Whether this exit code is an answer of the command that decided the status."""
    if _answers(command.decider, exit_code):
        return True
    # `grep -q x f && echo yes` stops at grep: one that can say no, and nothing behind it that could fail.
    rest = [program for program in command.programs if program not in _ONE]
    return exit_code == 1 and len(rest) < len(command.programs) and all(program in _HARMLESS for program in rest)


_HARMLESS: Final = frozenset({"echo", "printf", "cd", "true", ":", "pwd", "head", "tail", "wc", "sort", "cat"})


def _answers(words: tuple[str, ...], exit_code: int) -> bool:
    if not words:
        return False
    if exit_code == 1 and words[0] in _ONE:
        return True
    rule = _RULES.get(words[0])
    return rule is not None and rule(words[1:], exit_code)


def _git(words: tuple[str, ...], exit_code: int) -> bool:
    verb, rest = _git_verb(words)
    match verb:
        case "diff" | "diff-index" | "diff-files" | "diff-tree":
            return exit_code == 1 and bool({"--quiet", "--exit-code", "--no-index", "--check"} & set(rest))
        case "merge-base":
            return exit_code == 1 and "--is-ancestor" in rest
        case "grep" | "check-ignore":
            return exit_code == 1
        case "config":
            return exit_code == 1
        case "rev-parse":
            return exit_code in (1, 128) and bool({"--verify", "-q", "--quiet"} & set(rest))
        case "show-ref":
            return exit_code == 1
        case "ls-remote":
            return exit_code == 2 and "--exit-code" in rest
        case "cat-file":
            return "-e" in rest
        case "ls-files":
            return exit_code == 1 and "--error-unmatch" in rest
        case _:
            return False


def _git_verb(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The verb after git's own options."""
    i = 0
    while i < len(words) and words[i].startswith("-"):
        i += 2 if words[i] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return (words[i], words[i + 1 :]) if i < len(words) else ("", ())


_RULES: Final[Mapping[str, Callable[[tuple[str, ...], int], bool]]] = {
    "git": _git,
    "jq": lambda words, code: code in (1, 4) and bool({"-e", "--exit-status"} & set(words)),
    "systemctl": lambda words, code: (
        code in (1, 3, 4) and bool({"is-active", "is-enabled", "status", "is-failed"} & set(words))
    ),
    "kill": lambda words, code: code == 1 and "-0" in words,
    "pip": lambda words, code: code == 1 and words[:1] == ("show",),
    "npm": lambda words, code: code == 1 and words[:1] == ("outdated",),
    "brew": lambda words, code: code == 1 and words[:1] in (("list",), ("ls",)),
    "dpkg": lambda words, code: code == 1 and words[:1] in (("-s",), ("-l",), ("-L",)),
    "pg_isready": lambda words, code: code in (1, 2),
}

"""What kinds of tools there are, whatever a harness calls them, and what a call changed.

The names are those of Claude Code, Codex, OpenCode, Gemini CLI, pi, mini-swe-agent and SWE-agent.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import orjson

from spanlore.signature.command import SHELL_TOOLS
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import action_of, program_of, take_apart


class ToolKind(StrEnum):
    """What a tool does."""

    SHELL = "shell"
    READ = "read"
    """Looks at files or lists them."""
    EDIT = "edit"
    OTHER = "other"


_KINDS: Final = {
    **dict.fromkeys(SHELL_TOOLS, ToolKind.SHELL),
    **dict.fromkeys(
        ("read", "grep", "glob", "ls", "view", "read_file", "read_many_files", "list_directory",
        "search_file_content", "notebookread",
         "open", "search_dir", "search_file", "find_file", "find", "list", "view_image", "rg", "codesearch",
         "file_search", "grep_search"),
        ToolKind.READ,
    ),
    **dict.fromkeys(
        ("edit", "write", "multiedit", "notebookedit", "apply_patch", "patch", "replace", "write_file", "create",
        "insert", "str_replace",
         "str_replace_editor", "str_replace_based_edit_tool", "edit_file", "create_file", "search_replace",
         "write_to_file", "replace_string_in_file", "insert_edit_into_file"),
        ToolKind.EDIT,
    ),
}  # fmt: skip

_WRITES_FILE: Final = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-i|\bperl\s+-\w*i|\btee\s+(?!/dev)|(?:^|[\s;&|])(?:cat|echo|"
    r"printf)\b[^|;&\n]*>>?\s*(?!/dev|&)|"
    r"open\([^)]*['\"][wa]b?['\"]\)|write_text\(|writeFileSync\("
)
_CHANGES: Final = frozenset(
    {"mkdir", "touch", "cp", "mv", "rm", "chmod", "chown", "ln", "kill", "pkill", "createdb", "dropdb", "unzip",
    "tar", "direnv", "nvm",
     "pyenv", "rbenv", "asdf", "corepack", "ssh-add", "initdb", "pg_ctl", "redis-server", "psql", "launchctl",
     "service", "systemctl", "black", "prettier", "isort", "rustfmt", "gofmt", "goimports", "autopep8", "yapf",
     "clang-format", "shfmt", "stylua", "dprint", "swiftformat", "colima", "minikube"}
)  # fmt: skip
_FIXING_OPTIONS: Final = frozenset(
    {"--fix", "--write", "--autocorrect", "--autocorrect-all", "--apply", "--unsafe-fixes"}
)
_NOUNS: Final = frozenset(
    {
        "repo",
        "remote",
        "config",
        "network",
        "volume",
        "plugin",
        "context",
        "auth",
        "workspace",
        "extension",
        "cache",
        "compose",
        "mod",
        "toolchain",
        "component",
        "target",
        "db",
        "env",
    }
)
"""What a subcommand of two words is about; the second says what it does (`helm repo add`)."""
_CHANGING_WORDS: Final = frozenset(
    {"install", "add", "i", "ci", "sync", "tidy", "download", "update", "upgrade", "get", "up", "start", "restart",
    "init", "trust", "use",
     "activate", "login", "fetch", "pull", "checkout", "switch", "stash", "reset", "read-tree", "worktree", "clean",
     "generate", "migrate", "push",
     "build", "fmt", "format", "fix", "prune", "rm", "remove", "set", "link", "restore", "merge", "rebase", "commit"}
)  # fmt: skip


def kind_of(step: ToolStep) -> ToolKind:
    """The kind of tool a step used. An editor that can also show a file reads when it does."""
    kind = _KINDS.get(step.tool_name.lower(), ToolKind.OTHER)
    return ToolKind.READ if kind is ToolKind.EDIT and argument(step, "command") == "view" else kind


@lru_cache(maxsize=1024)
def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None


def argument(step: ToolStep, *names: str) -> str:
    """The first of `names` that the call was given as text; '' when none, or when the arguments were cut."""
    data = _parsed(step.arguments)
    if not isinstance(data, dict):
        return ""
    return next((data[name] for name in names if isinstance(data.get(name), str)), "")


def path_of(step: ToolStep) -> str:
    """The path a file tool was given; '' for other tools."""
    if kind_of(step) is ToolKind.SHELL:
        return ""
    given = argument(step, "file_path", "path", "filePath", "notebook_path", "absolute_path")
    return given or ("" if any(char.isspace() for char in step.command) else step.command)


def is_edit(step: ToolStep) -> bool:
    """Whether the call wrote a file: an edit tool, or a shell line that does the same."""
    kind = kind_of(step)
    return kind is ToolKind.EDIT or (kind is ToolKind.SHELL and bool(_WRITES_FILE.search(step.command)))


def is_environment_change(step: ToolStep) -> bool:
    """Whether a shell line installed, started, moved or made something, apart from writing a file's text."""
    if kind_of(step) is not ToolKind.SHELL:
        return False
    for argv in take_apart(step.command).commands:
        action = action_of(argv)
        words = [*action[1:], *_second_word(argv, action)]
        if program_of(argv) in _CHANGES or any(map(_is_changing, words)) or _FIXING_OPTIONS & set(argv):
            return True
    return False


def _second_word(argv: tuple[str, ...], action: tuple[str, ...]) -> tuple[str, ...]:
    """What is done to the thing that the subcommand names."""
    if len(action) < 2 or action[-1] not in _NOUNS or action[-1] not in argv:
        return ()
    return argv[argv.index(action[-1]) + 1 :][:1]


def _is_changing(word: str) -> bool:
    return any(part in _CHANGING_WORDS for part in (word.lower(), *re.split(r"[:_-]", word.lower())))

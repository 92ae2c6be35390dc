"""What kinds of tools there are, whatever a harness calls them, and what a call changed.

The names are those of Claude Code, Codex, OpenCode, Gemini CLI, pi, mini-swe-agent and SWE-agent. A tool that none of
them has is known by what it is given: a command, a file with a text for it, a file.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import orjson

from spanlore.genai.messages import ToolCall
from spanlore.signature.command import SHELL_TOOLS, base_name, shell_text
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


_PATH_ARGUMENTS: Final = (
    "file_path", "path", "filePath", "notebook_path", "absolute_path", "target_file", "filename", "relative_path",
    "relative_workspace_path", "filepath", "file", "absolutePath", "AbsolutePath", "TargetFile",
)  # fmt: skip
_PATH_KEYS: Final = frozenset(name.replace("_", "").lower() for name in _PATH_ARGUMENTS)
_WRITTEN_KEYS: Final = frozenset(
    {
        "oldstring", "newstring", "oldstr", "newstr", "oldtext", "newtext", "content", "contents", "filetext", "diff",
        "patch", "patchtext", "replacement", "replace", "edits", "codeedit", "newcontent", "newsource", "insertline",
        "codecontent", "replacementchunks", "changes",
    }
)  # fmt: skip
"""Arguments (lower case, without `_`) that hold a text for a file."""
_COMMAND_KEYS: Final = frozenset({"command", "cmd"})
_SEARCH_KEYS: Final = frozenset({"pattern", "regex", "globpattern", "includepattern", "searchterm"})
_GREP_KEYS: Final = frozenset({"outputmode", "glob", "include", "-n", "-i", "-a", "-b", "-c", "casesensitive"})
_SEARCHERS: Final = frozenset({"grep", "search_file_content", "grep_search", "search_dir", "codesearch", "rg"})
_LISTERS: Final = frozenset({"ls", "find", "glob", "list", "list_directory", "find_file", "search_dir"})
_KEY: Final = re.compile(r'[{,]"([\w-]{1,40})":')
_PATCHED: Final = "*** Begin Patch"


def kind_of(step: ToolStep) -> ToolKind:
    """The kind of tool a step used. An editor that can also show a file reads when it does."""
    kind = _KINDS.get(base_name(step.tool_name)) or _kind_by_arguments(step)
    return ToolKind.READ if kind is ToolKind.EDIT and argument(step, "command") == "view" else kind


def _kind_by_arguments(step: ToolStep) -> ToolKind:
    data = _parsed(step.arguments)
    if shell_text(ToolCall(step.tool_call_id, step.tool_name, data)) is not None:
        return ToolKind.SHELL
    if _PATCHED in step.arguments:
        return ToolKind.EDIT
    keys = _keys(step.arguments, data)
    if not keys & _PATH_KEYS and not (data is None and keys & _WRITTEN_KEYS and step.command):
        is_cut = data is None and bool(keys & _COMMAND_KEYS)
        return ToolKind.SHELL if is_cut else ToolKind.READ if keys & _SEARCH_KEYS else ToolKind.OTHER
    return ToolKind.EDIT if keys & _WRITTEN_KEYS else ToolKind.READ


def is_search(step: ToolStep) -> bool:
    """Whether a tool that is no shell looked for text in files."""
    name = base_name(step.tool_name)
    if name in _SEARCHERS or name in _KINDS:
        return name in _SEARCHERS
    # What only matches names of files has no other options.
    keys = _keys(step.arguments, _parsed(step.arguments))
    return bool(keys & {"regex", "searchterm"} or ("pattern" in keys and keys & _GREP_KEYS))


def writes_whole(step: ToolStep) -> bool:
    """Whether an edit gives a file's whole text, whatever it was before."""
    keys = _keys(step.arguments, _parsed(step.arguments))
    return bool(keys & {"content", "contents", "filetext"}) and not keys & {"oldstring", "oldstr", "oldtext", "search"}


def is_listing_tool(step: ToolStep) -> bool:
    """Whether a tool that is no shell tells which files there are."""
    name = base_name(step.tool_name)
    if name in _KINDS:
        return name in _LISTERS
    pattern = argument(step, "pattern", "glob_pattern")
    return not is_search(step) and (bool(pattern) or "list" in name or "glob" in name)


def _keys(arguments: str, data: Any) -> frozenset[str]:
    """Names of the arguments, lower case without `_`; of arguments that were cut, all that look like one."""
    names = data if isinstance(data, dict) else _KEY.findall(arguments) if data is None else ()
    return frozenset(name.replace("_", "").lower() for name in names)


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
    given = argument(step, *_PATH_ARGUMENTS)
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

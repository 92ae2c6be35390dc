"""Which files does a tool call read or write, as far as the call itself tells?

Editors' and readers' tools name their file in an argument, patches in their headers, and shell commands in the words
of programs that print files. What a program reads by itself, and what a variable or a substitution names, is not seen.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai.messages import ToolCall
from spanlore.signature.command import program_name, shell_text
from spanlore.signature.shell import simple_commands

PATH_KEYS: Final = frozenset(
    {
        "file_path", "filepath", "path", "notebook_path", "absolute_path", "relative_path", "filename", "file",
        "file_name", "target_file", "old_path", "new_path", "source", "destination", "uri", "paths", "files",
    }
)  # fmt: skip
"""Arguments (lower case) in which tools name files."""
_LISTING: Final = frozenset({"ls", "glob", "list", "list_dir", "list_directory", "list_files", "find", "find_files"})
"""Tools (lower case) that tell names of files and nothing of what is in them."""
_PRINTING: Final = frozenset(
    {
        "cat", "head", "tail", "less", "more", "bat", "batcat", "nl", "tac", "sed", "awk", "gawk", "grep", "egrep",
        "fgrep", "rg", "ag", "cut", "sort", "uniq", "tr", "diff", "jq", "yq", "xxd", "od", "hexdump", "strings",
        "base64", "openssl", "type", "get-content", "gc", "column", "fold", "paste", "rev", "xargs", "envsubst",
    }
)  # fmt: skip
"""Programs whose output is what is in the files they are given."""
_SEARCHING: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag"})
_WRITING: Final = frozenset({"cat", "echo", "printf", "tee"})
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ b/|--- a/)(.+?)\s*$", re.M
)
_REDIRECTED: Final = re.compile(r"(?<![<>&\d])(<(?!<)|>{1,2})\s*([^\s<>|&;()]+)")
_SEARCHED_LINE: Final = re.compile(r"^(?P<path>[^\s:][^:\n]{0,400})(?=:)", re.M)
_MANNERS: Final = frozenset({"command", "mode", "output_mode", "type", "description", "workdir", "cwd"})
"""Arguments that say how something is to be done, as long as they are a few words on one line."""
_MAX_MANNER_CHARS: Final = 60
_MAX_TEXT: Final = 200_000
_MAX_DEPTH: Final = 2


@dataclass(frozen=True, slots=True)
class Touched:
    """A file whose content a call, or its answer, has in it."""

    path: str
    """Absolute; with `*`, `?` or `[` where a shell would fill them in."""
    is_in_call: bool
    """The call itself may carry content: it writes, or names its file in an argument beside others."""


def touched_files(call: ToolCall, cwd: str) -> Iterator[Touched]:
    """The files. `cwd` is where the agent works; '' gives only what the call itself names whole."""
    shell = shell_text(call)
    for path, is_in_call in _in_shell(shell, cwd, 0) if shell is not None else _in_arguments(call):
        whole = posixpath.join(cwd, path.strip("\"'").removeprefix("file://"))
        if whole.startswith("/"):
            yield Touched(whole, is_in_call)


def searched_lines(call: ToolCall, response: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, path) of the lines of a search's answer that begin with the path of their file."""
    shell = shell_text(call)
    name = call.name.lower() if shell is None else ""
    words = {program_name(word) for simple in simple_commands(shell or "") for word in simple.words[:3]}
    if "grep" in name or "search" in name or words & _SEARCHING:
        for found in _SEARCHED_LINE.finditer(response[:_MAX_TEXT]):
            end = response.find("\n", found.end())
            yield found.start(), len(response) if end < 0 else end, found["path"]


def without_content(arguments: Any, mark: str) -> Any:
    """A call's arguments with `mark` in place of all text but the names of files and words of one line that are short:
    what is left tells which file it was and what was to be done."""
    if isinstance(arguments, str):
        heads = [found[0] for found in _PATCHED.finditer(arguments[:_MAX_TEXT])]
        first = arguments.partition("\n")[0]
        if not heads and "<<" in first:
            heads = [first]  # a here-document, by the command that takes it
        return "\n".join([*heads, mark])
    if isinstance(arguments, list):
        return [without_content(item, mark) for item in arguments]
    if not isinstance(arguments, dict):
        return arguments
    return {key: value if _is_kept(key, value) else without_content(value, mark) for key, value in arguments.items()}


def _is_kept(key: str, value: Any) -> bool:
    name = key.lower()
    if name in PATH_KEYS:
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    if name not in _MANNERS or not isinstance(value, str):
        return False
    return len(value) <= _MAX_MANNER_CHARS and "\n" not in value and ">" not in value


def _in_arguments(call: ToolCall) -> Iterator[tuple[str, bool]]:
    if call.name.lower() not in _LISTING:
        yield from _named(call.arguments, 0)


def _named(arguments: Any, depth: int) -> Iterator[tuple[str, bool]]:
    if isinstance(arguments, str):
        yield from ((found[1], True) for found in _PATCHED.finditer(arguments[:_MAX_TEXT]))
    elif isinstance(arguments, dict) and depth <= _MAX_DEPTH:
        for key, value in arguments.items():
            if key.lower() in PATH_KEYS:
                values = value if isinstance(value, list) else [value]
                yield from ((one, True) for one in values if isinstance(one, str) and one and "\n" not in one)
            if isinstance(value, dict | list) or (isinstance(value, str) and "\n" in value):
                yield from _named(value, depth + 1)
    elif isinstance(arguments, list) and depth <= _MAX_DEPTH:
        for item in arguments[:200]:
            if isinstance(item, dict):
                yield from _named(item, depth + 1)


def _in_shell(text: str, cwd: str, depth: int) -> Iterator[tuple[str, bool]]:
    where, is_writing = cwd, False
    for simple in simple_commands(text):
        words = simple.words
        programs = {program_name(word) for word in words[:3]}  # behind sudo, env, command …
        if words[0] == "cd" and len(words) > 1:
            where = posixpath.join(where, words[1])
        elif depth < _MAX_DEPTH and programs & {"bash", "sh", "zsh"} and len(words) > 2:
            yield from _in_shell(words[-1], where, depth + 1)
        elif programs & _PRINTING:
            yield from ((posixpath.join(where, word), False) for word in words[1:] if not word.startswith("-"))
        is_writing = is_writing or bool(programs & _WRITING)
    if "*** Begin Patch" in text:
        yield from ((posixpath.join(where, found[1]), True) for found in _PATCHED.finditer(text[:_MAX_TEXT]))
    for found in _REDIRECTED.finditer(text[:_MAX_TEXT]):
        if found[1] == "<" or is_writing:
            yield posixpath.join(where, found[2]), found[1] != "<"

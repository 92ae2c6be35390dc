"""Whether a later call answers a file tool, or any other that is no shell, that failed.

Refused edits, files that are elsewhere, too large or a folder, arguments that a tool does not take, tools that are not
there. One pair at a time, no search; `pairing` has the rules for commands.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

from spanlore_extractor.mining.answer import (
    MAX_LISTINGS,
    MIN_TELLING_CHARS,
    NOT_FOUND,
    DeltaType,
    Match,
    is_success,
)
from spanlore_extractor.mining.paths import (
    SAME_FILE,
    is_everywhere,
    looks_like_path,
    same_folder,
    shares_word,
    similarity,
)
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import program_of, take_apart
from spanlore_extractor.mining.tools import ToolKind, argument, is_edit, is_listing_tool, kind_of, path_of, writes_whole

_UNAVAILABLE: Final = re.compile(
    r"unknown skill|no such tool|unavailable tool|tool [\w'\"-]+ (?:is )?not (?:available|found)|posix_spawn", re.I
)
_EDIT_REFUSED: Final = re.compile(
    r"has not been read yet|string to replace not found|matches of the string to replace|no match(?:es)? found|"
    r"modified since|unexpectedly modified|verification failed|failed to find expected|proposed edit|old_string|"
    r"could not find (?:the )?(?:exact )?text|must be unique|occurrences|multiple matches|"
    r"old_?str(?:ing)? (?:was )?not found|must (?:first )?(?:be )?read|before (?:editing|overwriting|writing)",
    re.I,
)
_INPUT_INVALID: Final = re.compile(
    r"InputValidationError|invalid (?:tool )?(?:input|arguments?|parameters?|params?)\b|"
    r"(?:missing|unexpected|unknown) (?:required )?(?:parameter|argument|property|field)|"
    r"(?:parameter|argument|property|field) [`'\"]?[\w.]+[`'\"]? (?:is )?(?:missing|required)|"
    r"must have required property",
    re.I,
)
_IS_DIRECTORY: Final = re.compile(r"EISDIR|\bis a directory\b|illegal operation on a directory", re.I)
_TOO_LARGE: Final = re.compile(r"exceeds maximum|too large|token limit", re.I)
_FILE_READERS: Final = frozenset({"cat", "sed", "head", "tail", "less", "nl", "bat", "grep", "rg", "awk", "wc"})
_LISTERS: Final = frozenset({"ls", "find", "fd", "tree"})
_OLD: Final = ("old_string", "oldText", "old_str", "oldString", "search")
_NEW: Final = (
    "new_string", "newText", "new_str", "newString", "replace", "content", "contents", "file_text", "code_edit",
)  # fmt: skip
FEW_LINES: Final = 3
MAX_COMPARED_CHARS: Final = 600
MIN_RUN_CHARS: Final = 4
"""A shorter run of characters is in any two texts."""
MAX_LISTED: Final = 3
"""A search that lists more lines than this has not singled out a file."""


def match_file_tool(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    """The rule by which `later`, which succeeded, answers `failure`, or None."""
    if _UNAVAILABLE.search(failure.output):
        return _replacement(failure, later, between)
    if _INPUT_INVALID.search(failure.output[:600]):
        return _valid_input(failure, later, between)
    if kind_of(failure) is ToolKind.EDIT:
        return _edit(failure, later)
    if kind_of(failure) is ToolKind.READ:
        return _read(failure, later, between)
    return _same_tool(failure, later, between)


def _replacement(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    """The tool itself is not there: what the agent did instead at once."""
    if later.tool_name == failure.tool_name or len(between) > 1:
        return None
    if kind_of(failure) is ToolKind.READ:
        programs = {program_of(argv) for argv in take_apart(later.command).commands}
        if kind_of(later) is not ToolKind.SHELL or not programs & {"grep", "rg", "find", "ls", "cat"}:
            return None
    return Match(DeltaType.HARNESS, f"the {failure.tool_name} tool can't be used; this was used instead")


def _valid_input(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    """The tool did not take its arguments: the same tool for the same thing, with others."""
    if later.tool_name != failure.tool_name or later.arguments == failure.arguments or len(between) > MAX_LISTINGS:
        return None
    if path_of(failure) and path_of(later) != path_of(failure):
        return None
    return Match(DeltaType.HARNESS, "the same tool with arguments that it takes")


def _edit(failure: ToolStep, later: ToolStep) -> Match | None:
    path = path_of(failure)
    if NOT_FOUND.search(failure.output) and not _EDIT_REFUSED.search(failure.output):
        return _moved(failure, later)
    if kind_of(later) is ToolKind.EDIT and (path_of(later) == path or not path):
        is_whole = failure.tool_name != later.tool_name and writes_whole(later)
        if is_whole or edit_likeness(failure, later) >= 0.5:
            return Match(DeltaType.HARNESS, "the same edit went through when written as the tool wants it")
    elif path and is_edit(later) and _names(path, later.command):
        return Match(DeltaType.HARNESS, "the same file was changed by a shell command instead")
    return None


def _names(path: str, command: str) -> bool:
    """Whether a shell line names a file: whole, from its folder's parent on, or bare from within its folder."""
    folder, _, name = path.rpartition("/")
    if path in command:
        return True
    line = take_apart(command)
    for text in line.heredocs:
        command = command if text in line.inputs else command.replace(text, "\n")
    if folder and f"{folder.rpartition('/')[2]}/{name}" in command:
        return True
    directory = line.directory.rstrip("/")
    is_there = not directory or folder.endswith(directory.lstrip("./"))
    return len(name) >= MIN_TELLING_CHARS and is_there and bool(re.search(rf"(?<![\w./-]){re.escape(name)}\b", command))


def edit_likeness(one: ToolStep, other: ToolStep) -> float:
    """0 to 1: how alike what two edits want to write is."""
    if not one.arguments or not other.arguments:
        return 1.0
    best = 0.0
    for names in (_OLD, _NEW, ("input", "patch", "patchText", "diff", "command")):
        before, after = argument(one, *names), argument(other, *names)
        if before and after:
            best = max(best, _line_likeness(before, after) or _text_likeness(before, after))
    # Arguments too long to be kept whole do not parse; their text still tells.
    return best or _line_likeness(one.arguments.replace("\\n", "\n"), other.arguments.replace("\\n", "\n"))


def _line_likeness(before: str, after: str) -> float:
    """Share of the smaller text's lines that are in the other one, white space aside."""
    lines = {"".join(line.split()) for line in before.splitlines() if line.strip()}
    others = {"".join(line.split()) for line in after.splitlines() if line.strip()}
    smaller = min(len(lines), len(others))
    return len(lines & others) / smaller if smaller else 0.0


def _text_likeness(before: str, after: str) -> float:
    """Of few lines that were all copied wrongly: how much of the shorter text is in the other."""
    if before.count("\n") >= FEW_LINES or after.count("\n") >= FEW_LINES:
        return 0.0
    text, other = ("".join(part.split())[:MAX_COMPARED_CHARS] for part in (before, after))
    short, long = sorted((text, other), key=len)
    matcher = difflib.SequenceMatcher(None, short, long, autojunk=False)
    shared = sum(block.size for block in matcher.get_matching_blocks() if block.size >= MIN_RUN_CHARS)
    return shared / len(short) if short else 0.0


def _read(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    if _TOO_LARGE.search(failure.output):
        path = path_of(failure)
        is_same = path and (path_of(later) == path or path in later.command)
        return (
            Match(DeltaType.HARNESS, "the file is too large to be read whole; a part of it was read")
            if is_same
            else None
        )
    if _IS_DIRECTORY.search(failure.output):
        path = path_of(failure)
        is_listed = bool(path) and _is_listing(later) and (path_of(later) == path or path in later.command)
        return Match(DeltaType.HARNESS, "a folder can't be read; it was listed") if is_listed else None
    return _moved(failure, later, between) if NOT_FOUND.search(failure.output) else None


def _moved(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep] = ()) -> Match | None:
    """The file is elsewhere: a path much like it, or one that a search for it listed."""
    path, found = path_of(failure), found_path(failure, later)
    if kind_of(later) is ToolKind.OTHER or not looks_like_path(found) or found == path:
        return None
    if is_listing_tool(later) or "*" in found:
        return None
    if similarity(path, found) >= SAME_FILE:
        return Match(DeltaType.LOCATION, "a file of much the same name was read instead")
    if found in failure.output and found not in path and path not in found:
        return Match(DeltaType.LOCATION, "the refusal names this file")
    if any(_found_by_search(path, found, step) for step in between):
        return Match(DeltaType.LOCATION, "a search for the missing file led to this one")
    if between and len(between) <= MAX_LISTINGS and same_folder(path, found) and all(map(_is_listing, between)):
        return Match(DeltaType.LOCATION, "the folder was listed, and this file of it read instead")
    return None


def found_path(failure: ToolStep, later: ToolStep) -> str:
    """The path that a later call found a missing file under; of a shell line, the one it reads."""
    if kind_of(later) is not ToolKind.SHELL:
        return path_of(later)
    path = path_of(failure)
    for argv in take_apart(later.command).commands:
        if program_of(argv) in _FILE_READERS:
            for word in argv[1:]:
                if looks_like_path(word) and word != path and similarity(path, word) >= SAME_FILE:
                    return word
    return ""


def _is_listing(step: ToolStep) -> bool:
    """Whether a call only looks which files there are."""
    if kind_of(step) is ToolKind.READ:
        return is_listing_tool(step)
    commands = take_apart(step.command).commands
    return kind_of(step) is ToolKind.SHELL and bool(commands) and all(program_of(argv) in _LISTERS for argv in commands)


def _found_by_search(path: str, found: str, step: ToolStep) -> bool:
    """Whether `step` searched for what `path` was to be, and `found` is what it showed."""
    if not is_success(step) or found.rsplit("/", 1)[-1] not in step.output:
        return False
    folder, _, name = path.rstrip("/").rpartition("/")
    if is_everywhere(path) and name == found.rsplit("/", 1)[-1]:
        return False  # another folder's is another file
    stem = name.lstrip(".").split(".", 1)[0].lower()
    asked = f"{step.command} {step.arguments}".lower()
    asks_for_it = len(stem) >= 4 and stem in asked
    asks_for_its_folder = bool(folder) and folder.rsplit("/", 1)[-1].lower() in asked and same_folder(path, found)
    singled_out = step.output.count("\n") <= MAX_LISTED or shares_word(path, found)
    return singled_out and (asks_for_it or asks_for_its_folder)


def _same_tool(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    """Another tool (MCP, skills): the same one with arguments that differ in part."""
    if failure.tool_name != later.tool_name or not failure.arguments or failure.arguments == later.arguments or between:
        return None
    ratio = difflib.SequenceMatcher(None, failure.arguments, later.arguments, autojunk=False).ratio()
    return Match(DeltaType.HARNESS, "the same tool with other arguments") if ratio >= 0.6 else None

"""Look-ups: something was searched for, and found in a file that was then read. A person would remember where it is.

One is nothing; the gate pins the location when three sessions looked for the same thing and found it in the same file.
What the search shows must name the file, and the read must follow at once: so it is the search that led there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore_extractor.mining.answer import is_success
from spanlore_extractor.mining.paths import looks_like_path
from spanlore_extractor.mining.session import Conversation, ToolStep
from spanlore_extractor.mining.shell import program_of, take_apart
from spanlore_extractor.mining.tools import ToolKind, argument, is_search, kind_of, path_of

MIN_TERM_CHARS: Final = 5
MAX_TERM_CHARS: Final = 60
MAX_FILES: Final = 8
"""A search that shows more files has not found one."""
NEXT_CALLS: Final = 2
_TERM: Final = re.compile(r"[A-Za-z_][\w.:-]*\w")
_DEFINING: Final = (
    r"\b(?:func(?:\s*\([^)]*\))?|def|class|type|const|let|var|function\*?|interface|struct|enum|trait|fn|mod|module|"
    r"namespace|object|record|fun|val|static|public|private|protected|abstract|async|export(?: default)?|#\s*define)\s+"
    r"(?:[\w<>\[\],*&?]+\s+){0,3}"
)
"""What stands before a name where it is made, in many languages."""
_SEARCHES: Final = frozenset({"grep", "rg", "egrep", "ag", "ack"})
_COMMON: Final = frozenset({"import", "class", "const", "function", "return", "export", "error", "package", "default",
"TODO", "FIXME", "async", "interface", "struct", "public", "private", "static", "string"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lookup:
    """One thing that was searched for, and the file where it was found."""

    term: str
    path: str
    """As the read names it."""
    search: ToolStep
    read: ToolStep
    reason: str


def find_lookups(conversation: Conversation) -> list[Lookup]:
    """The conversation's look-ups, each term and file once, in order."""
    calls = [step for step in conversation.steps if isinstance(step, ToolStep)]
    found: dict[tuple[str, str], Lookup] = {}
    for index, search in enumerate(calls):
        term = searched_for(search)
        if not term or not is_success(search) or len(_files(search.output)) > MAX_FILES:
            continue
        for read in calls[index + 1 : index + 1 + NEXT_CALLS]:
            path = read_path(read)
            if path and is_success(read) and path.rsplit("/", 1)[-1] in search.output:
                if _is_only_used(term, path, search, read):
                    break
                reason = f"“{term}” was searched for, and {path.rsplit('/', 1)[-1]} was read next"
                found.setdefault((term, path), Lookup(term, path, search, read, reason))
                break
    return list(found.values())


def _is_only_used(term: str, path: str, search: ToolStep, read: ToolStep) -> bool:
    """Whether what was shown tells that the file uses the name, and does not define it. Where neither the search nor
    the file's head shows a line with the name, nobody knows."""
    name = path.rsplit("/", 1)[-1]
    shown = [line for line in search.output.splitlines() if term in line.replace(name, "")]
    own = [line for line in shown if name in line] if any(name in line for line in shown) else []
    own += [line for line in read.output.splitlines() if term in line]
    return bool(own or shown) and not any(_defines(term, line) for line in own)


def _defines(term: str, line: str) -> bool:
    last = re.escape(re.split(r"[.:]+", term)[-1])
    return bool(re.search(rf"{_DEFINING}{last}\b|(?:^|[\s:\-|→])\s*{last}\s*(?::=|=(?![=>])|:(?!:))", line))


def searched_for(step: ToolStep) -> str:
    """The one name that a call searches for; '' when it does not search, or for a pattern that is no name."""
    pattern = ""
    if is_search(step):
        pattern = argument(step, "pattern", "query", "regex", "search_term")
    elif kind_of(step) is ToolKind.SHELL:
        argv = next((one for one in take_apart(step.command).commands if program_of(one) in _SEARCHES), ())
        words = [word for word in argv[1:] if not word.startswith("-") and not word.isdecimal()]
        pattern = words[0] if words else ""
    names = _TERM.findall(pattern.replace("\\b", " ").replace("\\", ""))
    if len(names) != 1 or not MIN_TERM_CHARS <= len(names[0]) <= MAX_TERM_CHARS or names[0] in _COMMON:
        # `func NewClient`: the name is what follows the keyword.
        names = [name for name in names if name not in _COMMON and len(name) >= MIN_TERM_CHARS]
    return names[0] if len(names) == 1 and len(names[0]) <= MAX_TERM_CHARS and "|" not in pattern else ""


def read_path(step: ToolStep) -> str:
    """The one file that a call shows; '' when it shows none, or several."""
    if kind_of(step) is ToolKind.READ and not is_search(step):
        path = path_of(step)
        return path if looks_like_path(path) and "*" not in path else ""
    if kind_of(step) is not ToolKind.SHELL:
        return ""
    for argv in take_apart(step.command).commands:
        if program_of(argv) in ("cat", "head", "tail", "sed", "less", "nl", "bat"):
            paths = [word for word in argv[1:] if looks_like_path(word)]
            return paths[0] if len(paths) == 1 else ""
    return ""


def _files(output: str) -> set[str]:
    return {line.split(":", 1)[0] for line in output.splitlines() if looks_like_path(line.split(":", 1)[0])}

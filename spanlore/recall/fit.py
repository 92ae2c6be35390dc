"""Does a memory fit the failure it is found for? What is found by signature, or by program and error class, may not.

A hint beside a failure is followed whether it fits or not (a small model names the command of a placebo in half of its
answers), so one that may not fit is not shown. What was learned from one failure fits another

- of a path that is not there, only when that very path was asked for: `Read` says the same of every missing file;
- of the same signature, unless the failure said nothing: then the commands have to be the same;
- of the same program and error class, only when the class says something (`exit_1` is none), the command is the one
  that the memory is about, and what the memory's remedy takes up of its error stands in this error as well: after
  `No module named 'pytest'` comes `pip install pytest`, which is no help for `No module named 'yaml'`. What is known of
  a tool that is no shell's has only its error's words to go by.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from spanlore.memory.memory import Kind, Memory
from spanlore.recall.rank import Match, Tier
from spanlore.signature.command import program_name

MIN_SHARED_WORDS: Final = 0.6
"""Of the words of a tool's error, for another one to be the same trouble."""

_NO_CLASS: Final = re.compile(r"exit_-?\d+|tool_error|")
_ERROR: Final = re.compile("“(.+)”")
"""The memory's own error, as templates quote it."""
_QUOTED: Final = re.compile(r"""['"`‘]([^'"`‘’]{2,80})['"`’]""")
_WORD: Final = re.compile(r"(?<![\w<>./:@+-])[\w<>./:@+-]*\w>?")
_PATH: Final = "path"
"""Slot of a memory of a path that is not there; its subject is the path."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed, and what it said."""

    program: str
    command: str
    """Of a shell; of another tool its path."""
    error_line: str
    """Normalised."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A memory that was found for a failure, and whether it is to stand beside it."""

    match: Match
    cut: str
    """Why not: other_path, other_command, other_error, vague (the class of its error says nothing), outranked (another
    one fits better); '' when it is to."""


def weigh(matches: Iterable[Match], failed: Failed, last: Collection[str] = ()) -> tuple[Weighed, ...]:
    """All matches in their order, most exact first. Of those that fit all of the very same failure are to stand beside
    it, else the best one; `last`: ids of memories that come after all others then."""
    found = [Weighed(match, misfit(match, failed)) for match in matches]
    fitting = [one.match for one in found if not one.cut]
    chosen = [match for match in fitting if match.tier is Tier.SIGNATURE]
    chosen = chosen or sorted(fitting, key=lambda match: match.memory.id in last)[:1]
    return tuple(Weighed(one.match, one.cut or ("" if one.match in chosen else "outranked")) for one in found)


def misfit(match: Match, failed: Failed) -> str:
    """Why the memory does not fit the failure that it was found for, in the words of `Weighed.cut`; '' when it does."""
    memory = match.memory
    if memory.kind is Kind.LOCATION and memory.slot == _PATH:
        return "" if _is_same_path(memory.subject, failed.command) else "other_path"
    if match.tier is Tier.SIGNATURE:
        return "" if failed.error_line or _is_about(memory, failed) else "other_command"
    if _NO_CLASS.fullmatch(memory.trigger.error_class):
        return "vague"
    if memory.kind is Kind.HARNESS:
        return "" if _is_same_trouble(memory, failed) else "other_error"
    if not _is_about(memory, failed):
        return "other_command"
    return "" if _names_the_same(memory, failed) else "other_error"


def _is_same_path(one: str, other: str) -> bool:
    """One of them may be relative to a directory further down."""
    first, second = (path.strip().replace("\\", "/").rstrip("/").removeprefix("./") for path in (one, other))
    shorter, longer = sorted((first, second), key=len)
    return bool(shorter) and (longer == shorter or longer.endswith(f"/{shorter.lstrip('/')}"))


def _is_about(memory: Memory, failed: Failed) -> bool:
    """Whether the command is the one that the memory is about: all words of its subject stand in it."""
    said = failed.command.split()
    known = {failed.program, *said, *map(program_name, said)}
    return all(word in known for word in memory.subject.split())


def _names_the_same(memory: Memory, failed: Failed) -> bool:
    """Whether what the memory's remedy takes up of the memory's error is named here, too."""
    error = _error_of(memory)
    remedy = set(_words(memory.value))
    said = set(_words(f"{failed.error_line} {failed.command}"))
    named = {word for quoted in _QUOTED.findall(error) for word in _words(quoted)}
    named |= {word for word in _words(error) if re.search(r"[./:@_-]", word)}
    return all(word in said for word in named & remedy)


def _is_same_trouble(memory: Memory, failed: Failed) -> bool:
    error = set(_words(_error_of(memory)))
    shared = error & set(_words(failed.error_line))
    return bool(error) and len(shared) >= MIN_SHARED_WORDS * len(error)


def _error_of(memory: Memory) -> str:
    found = _ERROR.search(memory.text)
    return found[1] if found else ""


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]

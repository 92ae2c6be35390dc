"""Whether a command was given a name that is not there, and then the right one: of a script, target, module or file.

The failing output complains of the word, the two commands differ in that word alone, and something ties the new word to
it: it holds the old one as a part (`e2e`, `test:e2e`), has the same parts (`test-unit`, `unit-test`), or the failing
output, or what was listed in between, shows it.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Sequence
from typing import Final

from spanlore_extractor.mining.answer import MAX_LISTINGS, NOT_FOUND, DeltaType, Match, is_success
from spanlore_extractor.mining.paths import looks_like_path
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import ShellLine, program_of

_NOT_THERE: Final = re.compile(
    r"\bnot (?:be )?found\b|\bno [\w ]{1,40}found\b|\bno such\b|"
    r"could ?n[o']t (?:find|open|locate)|could not (?:find|open|locate|load)|"
    r"cannot find|unable to (?:find|open|locate)|does ?n[o']t (?:exist|contain)|does not (?:exist|contain)|"
    r"\bunknown\b|\bno \w+ (?:target|package|module|project|task|script) (?:named|called|matching|matches)|"
    r"missing script|no rule to make|do(?:n't| not) know how|is not a directory|"
    r"\bunrecognized\b|invalid (?:choice|value)|did not match|"
    r"no package|not a valid",
    re.I,
)
_PARTS: Final = re.compile(r"[^\W_]+")
_TARGETS: Final = frozenset(
    {"--target", "--bin", "--example", "-p", "--package", "-pl", "--projects", "-scheme", "--scheme", "--filter",
     "--workspace", "-w", "--project", "--module"}
)  # fmt: skip
"""Options whose value says what the command is for."""
_READERS: Final = frozenset({"cat", "sed", "head", "tail", "less", "nl", "bat", "wc", "ls", "cp", "mv", "rm"})
"""What is given to these are files, which `paths` compares."""
_LISTS: Final = frozenset({"help", "list", "tasks", "targets"})
SAME_NAME: Final = 0.6
"""Likeness from which one name is another, mistyped."""
MIN_NAME_CHARS: Final = 2
MIN_LIKENESS: Final = 0.4
"""Of two names that begin alike, where the new one is shown: `database` and `db`."""


def is_other_target(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether two forms of a command are for different things: the values of such options differ."""
    was, is_now = _targets(before), _targets(after)
    return any(is_now[option] != was[option] for option in was.keys() & is_now.keys())


def _targets(argv: Sequence[str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for word, value in zip(argv, [*argv[1:], ""], strict=True):
        name, _, given = word.partition("=")
        if name in _TARGETS and any(char.isalpha() for char in given or value):
            out[name] = given or value
    return out


def another_name(failure: ToolStep, one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """The rule by which `other` gives the right name for the one that `failure` complains of, or None."""
    words = _replaced(one.last, other.last)
    if words is None or len(between) > MAX_LISTINGS or one.heredocs != other.heredocs:
        return None
    if program_of(one.last) in _READERS:
        return None
    old, new = words
    if not _misses(failure, old) or new.strip(":./") in _LISTS:
        return None
    if not (_is_related(old, new) or _is_shown(failure, between, old, new)):
        return None
    kind = DeltaType.LOCATION if looks_like_path(new) and looks_like_path(old) else DeltaType.USAGE
    return Match(kind, f"it is `{new[:80]}`, not `{old[:80]}`")


def _replaced(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """The one word in which two commands of a program differ, or the last one where both stand alone."""
    if len(before) != len(after) or len(before) < 2 or program_of(tuple(before)) != program_of(tuple(after)):
        return None
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if len(changed) != 1 or before[0] != after[0]:
        return None
    old, new = changed[0]
    if any(char.isspace() for char in old + new):
        return _replaced_within(old.split(), new.split())
    if old.startswith("-") != new.startswith("-"):
        return None
    old, new = _value(old), _value(new)
    return (old, new) if min(len(old), len(new)) > 0 and len(old) >= MIN_NAME_CHARS and old != new else None


def _replaced_within(old: list[str], new: list[str]) -> tuple[str, str] | None:
    """The same of a text that is given as one word (`-c "select 1 from carts"`)."""
    changed = [(one, other) for one, other in zip(old, new, strict=False) if one != other]
    return changed[0] if len(old) == len(new) and len(changed) == 1 else None


def _value(word: str) -> str:
    return word.partition("=")[2] if word.startswith("-") and "=" in word else word


def _names(text: str, word: str) -> bool:
    """Whether a text has the word by itself, as it was given or without what leads to it."""
    name = word.strip(":./")
    return len(name) >= MIN_NAME_CHARS and (
        re.search(rf"(?<![\w-])(?<!\w[./:]){re.escape(name)}(?![\w-]|[./:]+\w)", text) is not None
    )


def is_unlike(failure: ToolStep, one: ShellLine, other: ShellLine) -> bool:
    """Whether the failing output misses what the command is about, and the other command is the same about something
    that nothing ties to it: what was not there was given up."""
    words = _replaced(one.last, other.last)
    if words is None or words[0].startswith("-") or not _misses(failure, words[0]) or _is_like(*words):
        return False
    return words[0] not in one.last or not one.last[one.last.index(words[0]) - 1].startswith("-")


def is_sibling(failure: ToolStep, one: ShellLine, other: ShellLine) -> bool:
    """Whether nothing was missed, and the other command is about something beside it (`a/cart:lib`, `a/price:lib`)."""
    words = _replaced(one.last, other.last)
    return (
        words is not None
        and not _NOT_THERE.search(f"{failure.error_line}\n{failure.output[:2000]}")
        and _are_siblings(*words)
    )


def _are_siblings(old: str, new: str) -> bool:
    """Whether two names of several parts are the same but for one part that is quite another."""
    was, is_now = (_PARTS.findall(word) for word in (old, new))
    changed = [pair for pair in zip(was, is_now, strict=False) if pair[0] != pair[1]]
    return len(was) == len(is_now) > 1 and len(changed) == 1 and not _is_like(*changed[0])


def _misses(failure: ToolStep, word: str) -> bool:
    complaint = f"{failure.error_line}\n{failure.output[:2000]}"
    return _NOT_THERE.search(complaint) is not None and _names(complaint, word)


def _is_shown(failure: ToolStep, between: Sequence[ToolStep], old: str, new: str) -> bool:
    """Whether the failing output or what was looked at since shows the new name, and it is like the old one or told
    beside it."""
    looks = [step for step in between if _shows(step, new)]
    lines = [line.lower() for step in looks for line in step.output.splitlines()]
    if any(old.lower() in line and new.lower() in line for line in lines):
        return True
    in_folder = any(not _names(step.output, new) for step in looks)
    return in_folder or (_is_like(old, new) and bool(looks or _names(failure.output[:2000], new)))


def _is_like(old: str, new: str) -> bool:
    if _is_related(old, new) or _is_related(new, old) or posixpath.basename(old) == posixpath.basename(new):
        return True
    if _are_siblings(old, new):
        return False
    was, is_now = (frozenset(part.lower() for part in _PARTS.findall(word)) for word in (old, new))
    if was & is_now:
        return True
    likeness = difflib.SequenceMatcher(None, old.lower(), new.lower(), autojunk=False).ratio()
    return likeness >= SAME_NAME or (likeness >= MIN_LIKENESS and old[:1].lower() == new[:1].lower())


def _shows(step: ToolStep, word: str) -> bool:
    """Whether what was looked at in between shows the name, or the folder that was listed holds it."""
    if not is_success(step):
        return False
    folder, name = posixpath.split(word.rstrip("/"))
    where = folder.removeprefix("./").strip(".")
    return _names(step.output, word) or bool(where and where in step.command and _names(step.output, name))


def _is_related(old: str, new: str) -> bool:
    was, is_now = (tuple(part.lower() for part in _PARTS.findall(word)) for word in (old, new))
    if not was or not is_now:
        return False
    if sorted(was) == sorted(is_now):
        return True
    size = len(was)
    return any(is_now[start : start + size] == was for start in range(len(is_now) - size + 1))


def pointed(failure: ToolStep, one: ShellLine, other: ShellLine) -> Match | None:
    """A program that did not find its file where it stood, then told where to look (`ninja`, `ninja -C build`)."""
    before, after = one.last, other.last
    is_told = len(before) == 1 and after[:1] == before and len(after) > 1 and after[1].startswith("-")
    if not is_told or not NOT_FOUND.search(failure.output[:2000]):
        return None
    return Match(DeltaType.LOCATION, f"the same with `{' '.join(after[1:])[:80]}`")

"""Which of eight categories a memory falls into, by rule. Derived whenever it is asked for, stored nowhere. Pure.

A kind says how a memory came about, and decides what may be done with it; a category says what it is about, for the
person who looks through them. What was learned from calls is told by its kind and its commands, what a person said by
the words. The rules go from the narrow to the wide: the first that fits wins.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from spanlore.memory.memory import USER_SCOPE, Kind, Memory


class Category(StrEnum):
    """What a memory is about."""

    ARCHITECTURE = "architecture"
    """How the parts of the program stand to each other."""
    PREFERENCE = "preference"
    """How the person wants to be worked with."""
    BUGFIX = "bugfix"
    """A failure of the program and what was done about it."""
    CONVENTION = "convention"
    """How things are done here."""
    DEPENDENCY = "dependency"
    """Packages, their versions, and what manages them."""
    FILE_PATTERN = "file_pattern"
    """Where something is, or how certain files are to be treated."""
    TASK_CONTEXT = "task_context"
    """True of what is being done now."""
    LEARNING = "learning"
    """A fact that fits nowhere else."""


_MANAGERS: Final = frozenset(
    ("apt", "apt-get", "brew", "bun", "bundle", "cargo", "composer", "conda", "dnf", "dotnet", "gem", "go", "gradle",
     "mvn", "npm", "nuget", "pdm", "pip", "pip3", "pipenv", "pipx", "pnpm", "poetry", "uv", "yarn")
)  # fmt: skip
_ACTS: Final = r"(?:install|add|ci|sync|lock|mod|get|remove|uninstall|update|upgrade|restore|require|fetch)"
_INSTALLS: Final = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(sorted(map(re.escape, _MANAGERS), key=len, reverse=True))})"
    rf"(?:\s+(?:pip|tool|-{{1,2}}[\w=./-]+)){{0,3}}\s+{_ACTS}(?![\w-])",
)
_WORDS: Final = (
    (
        Category.TASK_CONTEXT,
        r"for (?:now|the moment|today|the time being)|currently|right now|today|tomorrow|temporarily|in progress|wip"
        r"|this (?:week|month|sprint|branch|task|ticket|pr|pull request|release)"
        r"|until (?:the|we|it|next|further|mon|tues|wednes|thurs|fri|satur|sun|\d)\w*"
        r"|we(?:'re|’re| are) (?:now )?(?:working|migrating|moving|refactoring|rewriting|in the middle)",
    ),
    (
        Category.BUGFIX,
        r"bugs?|regressions?|root cause|work-?arounds?|crash(?:es|ed|ing)?|race conditions?|deadlocks?"
        r"|fixed (?:by|with|in)",
    ),
    (
        Category.DEPENDENCY,
        r"dependenc(?:y|ies)|package managers?|packages? versions?|librar(?:y|ies)|third[- ]party|lock ?files?"
        r"|package\.json|requirements\.txt|go\.mod|cargo\.toml"
        r"|pin(?:ned)? (?:[\w@/-]+ )?(?:to|at) (?:version )?v?\d[\w.]*",
    ),
    (
        Category.PREFERENCE,
        r"i(?: really| always| never| don'?t| do not)? (?:like|want|prefer|hate|dislike|expect)|i'd (?:like|rather)"
        r"|please|prefer|ask me|tell me|show me|(?:be|keep it) (?:brief|short|concise|terse)"
        r"|(?:your|my) (?:answers?|repl(?:y|ies)|explanations?)|answer (?:me )?in|subagents?",
    ),
    (
        Category.ARCHITECTURE,
        r"architectur(?:e|al)|layer(?:s|ed)?|mono-?repo|micro-?services?|boundar(?:y|ies)|event bus|state machines?"
        r"|(?:may|must|can|should)(?: only| not|n't|not)? (?:import|depend on|know)|imports? only|talks? to"
        r"|back-?end|front-?end|single source of truth|append-only|domain model",
    ),
)  # fmt: skip
_SAID: Final = tuple((category, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.I)) for category, words in _WORDS)
_PATH: Final = re.compile(
    r"(?<![\w:/.])(?:~|\.{1,2})?/?(?:[\w.@*-]+/)+[\w.*-]*|(?<![\w/])\*?\.?[\w*-]+\.[a-z]{1,4}(?![\w.(/])",
)
_RULE: Final = re.compile(
    r"\b(?:always|never|must|should|shall|don'?t|do not|no|not|only|use|using|run|avoid|keep|make|write|put|add|call"
    r"|name|stop|start|instead|commit|test|deploy|build|format)\b", re.I
)  # fmt: skip
_BY_KIND: Final = {
    Kind.TRAP: Category.BUGFIX,
    Kind.DEAD_END: Category.BUGFIX,
    Kind.LOCATION: Category.FILE_PATTERN,
    Kind.HARNESS: Category.LEARNING,
}


def category_of(memory: Memory) -> Category:
    """The memory's category."""
    if memory.kind.is_stated:
        return _of_words(memory)
    if memory.kind in _BY_KIND:
        return _BY_KIND[memory.kind]
    if _INSTALLS.search(memory.value) or _INSTALLS.search(memory.text):
        return Category.DEPENDENCY
    return Category.CONVENTION if memory.kind is Kind.USAGE else Category.LEARNING


def _of_words(memory: Memory) -> Category:
    words = memory.text if memory.is_edited or not memory.why else memory.why
    if memory.valid_to_ns and not memory.superseded_by:
        return Category.TASK_CONTEXT
    if _INSTALLS.search(words) or _swaps_managers(memory):
        return Category.DEPENDENCY
    for category, told in _SAID:
        if told.search(words):
            return category
    if memory.scope == USER_SCOPE:
        return Category.PREFERENCE
    if _PATH.search(words):
        return Category.FILE_PATTERN
    return Category.CONVENTION if _RULE.search(words) else Category.LEARNING


def _swaps_managers(memory: Memory) -> bool:
    """One package manager is to be used in place of another."""
    return memory.slot == "instead" and memory.subject in _MANAGERS and memory.value in _MANAGERS

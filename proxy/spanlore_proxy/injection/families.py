"""Families of commands that projects have rules about: tests and releases. By the prompt that asks for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.signature.command import parse_command


@dataclass(frozen=True, slots=True)
class Family:
    """Commands that serve one end."""

    name: str
    asked: re.Pattern[str]
    """Words of a prompt that ask for it."""
    programs: frozenset[str]
    value: re.Pattern[str]
    """A command of it whose program serves other ends too."""


FAMILIES: Final = (
    Family(
        "tests",
        re.compile(r"(?i)\b(?:tests?|pytest|unittest|coverage|test suite|specs?)\b"),
        frozenset({"pytest", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "playwright"}),
        re.compile(r"(?i)\b(?:make|npm|pnpm|yarn|bun|cargo|go|mvn|gradle|dotnet|mix|uv|just)\b[^`]*\btests?\b"),
    ),
    Family(
        "release",
        re.compile(r"(?i)\b(?:release|publish|deploy|push|tag|ship|bump (?:the )?version)\b"),
        frozenset({"twine", "goreleaser", "semantic-release", "release-it", "changeset", "fly", "helm", "terraform"}),
        re.compile(
            r"(?i)\bgit (?:push|tag)\b|\b(?:npm|pnpm|yarn|cargo|poetry|uv|gem) publish\b"
            r"|\b(?:make|just|npm run|kubectl|docker)\b[^`]*\b(?:release|deploy|publish|push)\b"
        ),
    ),
)


def asked_for(prompt: str) -> tuple[Family, ...]:
    """The families that a prompt asks for."""
    return tuple(family for family in FAMILIES if family.asked.search(prompt))


def belongs(memory: Memory, family: Family) -> bool:
    """Whether a memory is about a command of the family."""
    named = {memory.subject, memory.trigger.program}
    if memory.value:
        named.add(parse_command(memory.value).program)
    if not family.programs.isdisjoint(named):
        return True
    return family.value.search(memory.value) is not None or family.value.search(memory.text) is not None


def words_of(family: Family) -> str:
    """A query that finds memories of the family."""
    return " ".join((*sorted(family.programs), family.name, "test", "push", "tag", "deploy", "publish", "release"))

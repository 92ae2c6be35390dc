"""Families of commands that projects have rules about: tests and releases. By the prompt that asks for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore.harness.prose import prose
from spanlore.memory.memory import Memory
from spanlore.recall.snapshot import Snapshot
from spanlore.signature.command import parse_command

MAX_CANDIDATES: Final = 64
"""Memories looked at for one family."""


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
        # Not the verb ("easier to test"), nor what is only for a test ("a test repo", `test-x.txt`).
        re.compile(
            r"(?i)(?<![\w./-])(?:tests|pytest|unittest|coverage|specs?|test (?:suite|cases?|coverage|run)"
            r"|(?:unit|smoke|e2e|integration|regression|end.to.end) test"
            r"|(?:run|add|write|fix|mend|need) (?:(?:a|an|the|this|that|one|new|another) )*test)(?![\w/-]|\.\w| repo)"
        ),
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
    """The families that a prompt asks for, in a person's own words."""
    own = prose(prompt)
    return tuple(family for family in FAMILIES if family.asked.search(own))


def belongs(memory: Memory, family: Family) -> bool:
    """Whether a memory is about a command of the family."""
    named = {memory.subject, memory.trigger.program}
    if memory.value:
        named.add(parse_command(memory.value).program)
    if not family.programs.isdisjoint(named):
        return True
    return family.value.search(memory.value) is not None or family.value.search(memory.text) is not None


def family_matches(snapshot: Snapshot, scope: str, harness: str, prompt: str, sub_path: str = "") -> list[Memory]:
    """The memories about the commands that a prompt asks for, best first."""
    found: dict[str, Memory] = {}
    for family in asked_for(prompt):
        hits = snapshot.search(scope, harness, _words_of(family), MAX_CANDIDATES, sub_path)
        found.update((hit.memory.id, hit.memory) for hit in hits if belongs(hit.memory, family))
    return list(found.values())


def _words_of(family: Family) -> str:
    """A query that finds memories of the family."""
    return " ".join((*sorted(family.programs), family.name, "test", "push", "tag", "deploy", "publish", "release"))

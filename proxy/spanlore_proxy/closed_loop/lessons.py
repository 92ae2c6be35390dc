"""Made-up repositories with planted lessons: what fails there, what works, what their user wants."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

_AREAS: Final = ("billing", "checkout", "search", "stock", "ledger", "mailer", "export", "gateway", "auth", "reports")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing a session has to find out, unless it knows."""

    area: str
    """Named by the task's prompt."""
    is_correction: bool
    """The wrong command works and the user does not want it; else it fails."""
    wrong: str
    right: str
    failure: str
    """What the wrong command prints; '' for a correction."""

    @property
    def task(self) -> str:
        """What the user asks for."""
        verb = "Regenerate the schema" if self.is_correction else "Run the checks"
        return f"{verb} of the {self.area} package and tell me whether that worked."

    @property
    def correction(self) -> str:
        """What the user says when the wrong command was used."""
        return f"No, don't call `{self.wrong}` directly. Always use `{self.right}` in this repository."

    @property
    def look(self) -> str:
        """How somebody who does not know finds out."""
        return f"cat docs/{self.area}.md"

    def run(self, command: str) -> tuple[int, str]:
        """(exit code, output) of a command in that repository."""
        if command == self.right:
            return 0, f"{self.area}: 12 checks passed"
        if command == self.look:
            return 0, f"# {self.area}\n\nIts sources are below src/."
        if command == self.wrong:
            return (0, f"wrote {self.area}/schema.json") if self.is_correction else (1, self.failure)
        return 127, "bash: command not found"


@dataclass(frozen=True, slots=True)
class Repository:
    """A scope with its lessons."""

    scope: str
    lessons: tuple[Lesson, ...]

    @property
    def instructions(self) -> str:
        """What a person who knows everything would have written into CLAUDE.md."""
        lines = [f"- {lesson.area}: use `{lesson.right}`." for lesson in self.lessons]
        return "\n".join(["# How things are done here", *lines])


def make_repository(scope: str, seed: int, usages: int = 4, corrections: int = 2) -> Repository:
    """A repository with so many lessons of each sort, the same for the same arguments."""
    chance = random.Random(seed)
    areas = chance.sample(_AREAS, usages + corrections)
    made = []
    for number, area in enumerate(areas):
        port = chance.randrange(100, 999)
        if number >= usages:
            wrong, right = f"node scripts/{area}-schema-{port}.js", f"make {area}-schema-{port}"
            made.append(Lesson(area, True, wrong, right, ""))
        else:
            wrong = f"python3 -m unittest discover -s {area}/tests"
            failure = f"ModuleNotFoundError: No module named '{area}_{port}'"
            made.append(Lesson(area, False, wrong, f"PYTHONPATH=src/{area}{port} {wrong}", failure))
    return Repository(scope, tuple(made))


def schedule(repository: Repository, sessions: int, seed: int) -> list[Lesson]:
    """Which lesson each session needs: every one equally often, in a mixed order."""
    chance = random.Random(seed)
    order: list[Lesson] = []
    while len(order) < sessions:
        order += chance.sample(repository.lessons, len(repository.lessons))
    return order[:sessions]

"""Made-up lessons for a real model: a task, a command that fails, and what works instead, as a memory would say it.

What works holds a made-up word (`make verify-tolumbi`) that stands nowhere in the task, the failing command or its
output. So whoever names it was told, and a model that was not told can't be right by luck.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from spanlore.memory.memory import Kind, Memory, Source, Status, Trigger, memory_id
from spanlore.signature.failure import failure_signature

TOOL: Final = "bash"
DAY_NS: Final = 86_400 * 1_000_000_000
START_NS: Final = 1_790_000_000_000_000_000
"""2026-09-21; memories are from the sixty days before it."""

_AREAS: Final = (
    "billing", "checkout", "search", "stock", "ledger", "mailer", "export", "gateway", "auth", "reports", "parser",
    "scheduler", "uploads", "webhooks", "profile", "pricing", "invoices", "cache", "router", "metrics",
)  # fmt: skip
_SYLLABLES: Final = (
    "to", "lum", "bi", "var", "en", "sko", "mira", "dul", "pan", "zet", "ori", "kel", "fu", "nam", "rix", "bor", "sal",
    "qui", "tem", "ga",
)  # fmt: skip
_TESTS: Final = "Which command runs the tests of the {area} package here?"
_BUILD: Final = "Which command builds the {area} service here?"
_FAILING: Final = (
    (_TESTS, "npm test", 'npm error Missing script: "test"', 1),
    (_TESTS, "pytest {area}", "ModuleNotFoundError: No module named '{area}'", 4),
    (_BUILD, "make {area}", "make: *** No rule to make target '{area}'.  Stop.", 2),
    (_BUILD, "cargo build -p {area}", "error: package ID `{area}` did not match", 101),
    (
        "Which command checks the types of {area} here?",
        "mypy {area}",
        "mypy: error: Cannot find implementation for {area}",
        2,
    ),
    ("Which command makes the schema of {area} here?", "python scripts/schema.py {area}", "KeyError: 'SCHEMA_HOME'", 1),
    (
        "Which command starts the {area} worker here?",
        "python -m {area}.worker",
        "ConnectionRefusedError: [Errno 111] refused",
        1,
    ),
    (
        "Which command migrates {area} here?",
        "alembic upgrade head",
        "FAILED: No 'script_location' in {area}.ini",
        255,
    ),
)
"""Question, command, what it prints, exit code."""
_WORKING: Final = (
    "make verify-{word}", "just {word}", "./scripts/{word}.sh", "npm run check:{word}", "tox -e {word}",
    "python tools/{word}.py", "docker compose run {word}", "bazel run //tools:{word}",
)  # fmt: skip
_BEFORE: Final = (
    "source env/{word}.sh",
    "docker compose up -d {word}",
    "pip install -e libs/{word}",
    "make {word}-deps",
)
_MISSING: Final = (
    ("Which file holds the settings of {area} here?", "cat config/{area}.yaml", "conf.d/{word}/settings.yaml"),
    ("Which file holds the routes of {area} here?", "cat src/{area}/routes.py", "src/{word}/http.py"),
    ("Which file holds the changelog of {area} here?", "cat {area}/CHANGELOG.md", "docs/{word}/history.md"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing that a session of that repository has to find out, unless it is told."""

    number: int
    kind: Kind
    task: str
    """What the user asks. Questions, since a small base model goes on from a question, and hardly does what it is
    told."""
    wrong: str
    """The command that fails."""
    output: str
    exit_code: int
    right: str
    """The command or path that the memory names."""
    word: str
    """The made-up word in it."""
    text: str
    """The memory's text, as the extractor words such lessons: what failed, then what worked."""
    fix_first: str
    """The same the other way round."""

    def memory(self, scope: str, trigger: Trigger | None = None, *, is_fix_first: bool = False) -> Memory:
        """The lesson as an active memory of that scope; without a trigger it never stands beside a failure."""
        sessions = 2 + self.number % 4
        return Memory(
            id=memory_id(scope, self.kind, self.wrong, "invocation", self.right),
            kind=self.kind,
            source=Source.FAILURE_DELTA,
            status=Status.ACTIVE,
            scope=scope,
            text=self.fix_first if is_fix_first else self.text,
            subject=self.wrong,
            slot="invocation",
            value=self.right,
            trigger=trigger or Trigger(),
            session_count=sessions,
            alpha=1.0 + sessions,
            created_at_ns=START_NS,
            updated_at_ns=START_NS - self.number % 60 * DAY_NS,
        )

    def trigger(self) -> Trigger:
        """The failure that the wrong command ends in."""
        found = failure_signature(TOOL, self.wrong, self.output, self.exit_code)
        return Trigger((found.hash,), found.program, found.error_class)


def make_lessons(count: int, seed: int = 1) -> list[Lesson]:
    """So many lessons of three sorts (another command, something first, another path); no two share a word. The same
    for the same arguments, and a longer list begins with the shorter one."""
    chance = random.Random(seed)
    words: set[str] = set()
    return [_make(number, chance, words) for number in range(count)]


def _make(number: int, chance: random.Random, words: set[str]) -> Lesson:
    area, word = chance.choice(_AREAS), _new_word(chance, words)
    if number % 4 == 3:
        task, wrong, right = (part.format(area=area, word=word) for part in chance.choice(_MISSING))
        path = wrong.removeprefix("cat ")
        output = f"cat: {path}: No such file or directory"
        text, turned = f"`{path}` does not exist; `{right}` does.", f"`{right}` exists; `{path}` does not."
        return Lesson(number, Kind.LOCATION, task, wrong, output, 1, right, word, text, turned)
    task, wrong, output, exit_code = chance.choice(_FAILING)
    task, wrong, output = (part.format(area=area) for part in (task, wrong, output))
    is_first = number % 4 == 2
    right = chance.choice(_BEFORE if is_first else _WORKING).format(word=word)
    failed = f"`{wrong}` failed with “{output}”"
    if is_first:
        text, turned = f"{failed}; it passed after `{right}`.", f"After `{right}` it passed; before, {failed}."
    else:
        text, turned = f"{failed}; `{right}` worked instead.", f"`{right}` worked, where {failed}."
    kind = Kind.ENVIRONMENT if is_first else Kind.USAGE
    return Lesson(number, kind, task, wrong, output, exit_code, right, word, text, turned)


def _new_word(chance: random.Random, words: set[str]) -> str:
    while (word := "".join(chance.sample(_SYLLABLES, 3))) in words:
        pass
    words.add(word)
    return word

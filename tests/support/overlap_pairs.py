"""What instruction files say beside what a memory says, read by eye: said, contradicted, or '' for neither.

`TUNED` the rules were written on. `UNSEEN` was written at the same time and not looked at before it was measured.
"""

from __future__ import annotations

from typing import Final

from spanlore.memory.memory import Kind, Memory, Source
from support.injecting import make_memory


def usage(bad: str, good: str) -> Memory:
    """A mined fix, in the words of mining."""
    text = f"`{bad}` failed with “Error: x”; `{good}` worked instead."
    return make_memory(text=text, subject=bad.split(maxsplit=1)[0], value=good, slot="form")


def rule(words: str) -> Memory:
    """What a person said, in the words of mining."""
    text = f'The user said (2026-11-30): "{words}"'
    kinds = {"kind": Kind.CORRECTION, "source": Source.CORRECTION}
    return make_memory(text=text, why=words, value=words.lower(), slot="statement", **kinds)


NPM, PYTEST = usage("npm test", "pnpm test"), usage("pytest -q", "uv run pytest -q")
LINT, CARGO = usage("ruff check --fix", "make lint-fix"), usage("cargo build", "nix develop -c cargo build")
DATABASE = make_memory(
    kind=Kind.ENVIRONMENT,
    text="`pytest` failed with “E: no”; it passed after `docker compose up -d db`.",
    value="docker compose up -d db",
)
PLACE = make_memory(
    kind=Kind.LOCATION, text="`migrations` is in `services/db/migrations`.", value="services/db/migrations"
)
MOCK, TABS = rule("Never mock the database in tests"), rule("Use tabs for indentation")
PNPM, PUSH = rule("Use pnpm instead of npm"), rule("Never push to main")
LOGGER, CENTS = rule("Use the logger, not print"), rule("Amounts are integer cents everywhere, never floats")
GEN, SIGN = rule("Don't edit files under gen by hand"), rule("Always sign off commits with -s")
ENGLISH = rule("Write comments in English")

TUNED: Final[list[tuple[str, Memory, str]]] = [
    ("Tests talk to a real database; do not mock it.", MOCK, "said"),
    ("- Do not mock the database in tests.", MOCK, "said"),
    ("Mocking the database in tests is fine.", MOCK, "contradicted"),
    ("You may mock the database in unit tests.", MOCK, "contradicted"),
    ("Mock the clock in tests.", MOCK, ""),
    ("Indent with tabs.", TABS, "said"),
    ("Indentation: tabs", TABS, "said"),
    ("Einrückung mit Leerzeichen, keine Tabs.", TABS, "contradicted"),
    ("Indent with two spaces.", TABS, "contradicted"),
    ("| indentation | tabs |\n| quotes | double |", TABS, "said"),
    ("Nutze pnpm, niemals npm.", PNPM, "said"),
    ("Nie pnpm verwenden, immer npm.", PNPM, "contradicted"),
    ("| Package manager | pnpm (not npm) |", PNPM, "said"),
    ("No npm, no yarn: pnpm only.", PNPM, "said"),
    ("We use npm here.", PNPM, "contradicted"),
    ("| Task | Command |\n|---|---|\n| Tests | npm test |\n", NPM, "contradicted"),
    ("| Tests | `pnpm test` |", NPM, "said"),
    ("N'utilise jamais pnpm dans ce dépôt.", NPM, "contradicted"),
    ("No uses pnpm; usa npm.", NPM, "contradicted"),
    ("不要使用 pnpm。", NPM, "contradicted"),
    ("pnpm is banned in this repository.", NPM, "contradicted"),
    ("The pnpm lockfile is checked in.", NPM, ""),
    ("---\npaths: legacy/**\n---\nUse npm, never pnpm.", NPM, ""),
    ("Tests immer mit `uv run pytest -q` starten.", PYTEST, "said"),
    ("Starte Tests nie mit `uv run pytest -q`.", PYTEST, "contradicted"),
    ("We do not use uv.", PYTEST, "contradicted"),
    ("`uv run pytest -q` is deprecated; use `tox`.", PYTEST, "contradicted"),
    ("The tests need the database: run `docker compose up -d db` first.", DATABASE, "said"),
    ("Don't start docker; the CI database is shared.", DATABASE, "contradicted"),
    ("SQL migrations: services/db/migrations", PLACE, "said"),
    ("Do not push to main.", PUSH, "said"),
    ("Push straight to main, we have no branches.", PUSH, "contradicted"),
    ("Pushen auf main ist verboten.", PUSH, "said"),
    ("main is protected.", PUSH, ""),
    ("Use the logger instead of print.", LOGGER, "said"),
    ("print is fine in this repository.", LOGGER, "contradicted"),
    ("Money is stored as integer cents, never as floats.", CENTS, "said"),
    ("Amounts are decimals.", CENTS, "contradicted"),
    ("Never edit files under `gen/` by hand; run make gen.", GEN, "said"),
    ("Files under gen are edited by hand.", GEN, "contradicted"),
    ("Sign off every commit (`git commit -s`).", SIGN, "said"),
    ("All comments in English.", ENGLISH, "said"),
    ("Kommentare auf Deutsch schreiben.", ENGLISH, "contradicted"),
    ("Fix lint with `make lint-fix`.", LINT, "said"),
    ("Build inside the dev shell: `nix develop -c cargo build`", CARGO, "said"),
    ("The mailer has its own tests.", MOCK, ""),
]

UNSEEN: Final[list[tuple[str, Memory, str]]] = [
    ("In tests, never mock the database.", MOCK, "said"),
    ("The database must not be mocked in tests.", MOCK, "said"),
    ("Database mocks are allowed in tests.", MOCK, "contradicted"),
    ("Feel free to mock the database in tests.", MOCK, "contradicted"),
    ("The database is reset between tests.", MOCK, ""),
    ("Tabs, not spaces.", TABS, "said"),
    ("Tabs are forbidden; use four spaces.", TABS, "contradicted"),
    ("Utilise des espaces, pas de tabulations.", TABS, "contradicted"),
    ("Open files in tabs.", TABS, ""),
    ("pnpm statt npm verwenden.", PNPM, "said"),
    ("Usa npm, nunca pnpm.", PNPM, "contradicted"),
    ("| npm | ❌ |\n| pnpm | ✅ |", PNPM, "said"),
    ("All scripts run with npm.", PNPM, "contradicted"),
    ("Dependabot watches npm and pip.", PNPM, ""),
    ("- test: npm test", NPM, "contradicted"),
    ("Verwende nicht pnpm.", NPM, "contradicted"),
    ("pnpmは使わないでください。", NPM, "contradicted"),
    ("There is no pnpm on this machine.", NPM, "contradicted"),
    ("Run the unit tests with `pnpm test`, not `npm test`.", NPM, "said"),
    ("pnpm was introduced in 2023.", NPM, ""),
    ("---\nglobs: vendor/**\n---\nNever use pnpm.", NPM, ""),
    ("Pour les tests : `uv run pytest -q`", PYTEST, "said"),
    ("uv is not used here.", PYTEST, "contradicted"),
    ("Stop using `uv run pytest -q`: the cache breaks.", PYTEST, "contradicted"),
    ("uv.lock is generated.", PYTEST, ""),
    ("Before the tests, `docker compose up -d db`.", DATABASE, "said"),
    ("docker is forbidden on the build machines.", DATABASE, "contradicted"),
    ("Migrations live under services/db/migrations and are numbered.", PLACE, "said"),
    ("services/db holds the schema.", PLACE, ""),
    ("Pushing to main is not allowed.", PUSH, "said"),
    ("You can push to main.", PUSH, "contradicted"),
    ("Never force-push.", PUSH, ""),
    ("Don't print; use the logger.", LOGGER, "said"),
    ("Use print, the logger is not set up.", LOGGER, "contradicted"),
    ("The logger writes JSON.", LOGGER, ""),
    ("Never use floats for amounts: integer cents.", CENTS, "said"),
    ("Amounts are floats.", CENTS, "contradicted"),
    ("Do not edit anything under gen by hand.", GEN, "said"),
    ("You may edit files under gen by hand.", GEN, "contradicted"),
    ("Commits are always signed off with -s.", SIGN, "said"),
    ("Don't sign off commits.", SIGN, "contradicted"),
    ("Comments are written in English.", ENGLISH, "said"),
    ("Write comments in German.", ENGLISH, "contradicted"),
    ("Linting: make lint-fix", LINT, "said"),
    ("Never run make lint-fix; it reformats vendored code.", LINT, "contradicted"),
    ("`cargo build` works outside of the shell, too.", CARGO, "contradicted"),
    ("The crate builds on stable.", CARGO, ""),
]

FRAMES: Final = (
    "Contents of /w/CLAUDE.md (project instructions, checked in to the codebase):\n\n",
    "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\n",
    "--- Context from: /w/GEMINI.md ---\n",
    "Contents of /home/u/.claude/projects/w/memory/MEMORY.md (auto-memory):\n\n",
    "<skills_instructions>\n### release (file: /w/skills/release/SKILL.md)\n",
)
"""How agents quote such files."""

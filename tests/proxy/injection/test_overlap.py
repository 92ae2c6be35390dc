"""What a request already says need not be said again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import Kind, Memory, Source
from spanlore_proxy.injection.overlap import _REFUSED, _REFUSING, _USING, _WANTED, Said, _finds
from support.injecting import make_memory
from support.overlap_pairs import DATABASE, FRAMES, MOCK, PLACE, PUSH, TABS, TUNED, UNSEEN, rule, usage

RULE = make_memory(
    "rule",
    kind=Kind.CORRECTION,
    source=Source.CORRECTION,
    text="The user's rule: uv only",
    value="",
    why="Please only ever use uv here",
)


@pytest.mark.parametrize(
    ("memory", "system", "opening", "expected"),
    [
        (make_memory(text="Tests run with  `make check` here."), ["… tests RUN with\n`make check` here. …"], [], True),
        (RULE, [], ["# claudeMd\nplease only ever use uv here!"], True),
        (make_memory(), [], ["Contents of /x/CLAUDE.md: uv run pytest"], True),
        (make_memory(), ["intro\nInstructions from: /x/AGENTS.md\nuv run  pytest"], [], True),
        (make_memory(), ["Examples: `uv run pytest`"], [], False),
        (make_memory(value="make"), [], ["make it work"], False),
        (
            make_memory(kind=Kind.TRAP, value="ImportError: No module named x"),
            [],
            ["ImportError: No module named x"],
            False,
        ),
        (make_memory(), [], [], False),
    ],
    ids=[
        "text",
        "users-words",
        "value-in-opening",
        "value-in-project-part",
        "harness-example",
        "short",
        "trap",
        "nothing",
    ],
)
def test_what_counts_as_said(memory: Memory, system: list[str], opening: list[str], expected: bool) -> None:
    """Text and the user's words count anywhere, a taught value only where the project speaks."""
    assert Said(system, opening).says(memory) is expected


def test_why_of_a_failure_is_no_quotation() -> None:
    """A failure's line in the prompt does not make its fix known."""
    memory = make_memory(why="ImportError: No module named 'shop'")

    assert not Said([], ["I get ImportError: No module named 'shop'"]).says(memory)


PNPM = make_memory("pnpm", source=Source.CORRECTION, kind=Kind.CORRECTION, text="Use pnpm, not npm.", value="pnpm")


@pytest.mark.parametrize(
    ("memory", "project", "expected"),
    [
        (make_memory(), "Never use `uv run pytest` in this repository.", True),
        (make_memory(), "Don't run uv run pytest; it picks the wrong interpreter.", True),
        (make_memory(), "Run `pytest` from the root.", True),
        (make_memory(), "Run `pytest-xdist` from the root.", False),
        (make_memory(), "pytest is there. Run pytest-xdist, or\n run  the\t`pytest` of the root.", True),
        (make_memory(), "Never\nuse   the `uv run  pytest`.", True),
        (make_memory(), "Whenever run pytest-uv run pytest.", False),
        (make_memory(), "Never run `pytest` bare; uv run pytest is right.", False),
        (make_memory(), "The tests are in tests/.", False),
        (PNPM, "Use npm for everything.", True),
        (PNPM, "Use yarn instead of pnpm.", True),
        (PNPM, "Use pnpm. Do not use npm.", False),
        (PNPM, "The npm registry is mirrored.", False),
    ],
)
def test_what_counts_as_contradicted(memory: Memory, project: str, expected: bool) -> None:
    """The file refuses what the memory recommends, or orders what it refuses; and then that is the objection."""
    said = Said([], [f"Contents of /w/AGENTS.md:\n{project}"])

    assert said.contradicts(memory) is expected
    assert (said.objection(memory) == "contradicted") is expected


NPM, INSTALL = usage("npm test", "pnpm test"), usage("npm install", "pnpm install --frozen-lockfile")
PYTEST, GO = usage("pytest -q", "uv run pytest -q"), usage("go test ./...", "make test-unit")
INSTEAD, LOGGER = rule("Use pnpm instead of npm"), rule("Never use console.log, use the logger")
CONSOLE, UNKNOWN = rule("Never use `console.log`"), rule("Use `unknown` rather than `any`")
RUFF = rule("Use ruff format, not black")

PAIRS: list[tuple[str, Memory, str]] = [
    ("## Commands\n\n- Install: `pnpm install --frozen-lockfile`\n- Test: `pnpm test`", INSTALL, "said"),
    ("## Commands\n```bash\npnpm test        # unit tests\npnpm lint\n```", NPM, "said"),
    ("Run tests with pnpm test.", NPM, "said"),
    ("Always use npm. Never use pnpm or yarn in this repository.", NPM, "contradicted"),
    ("Never use `pnpm` here.", NPM, "contradicted"),
    ("pnpm is not allowed; CI only has npm.", NPM, "contradicted"),
    ("Do NOT run `pnpm install`: the lockfile is npm's.", INSTALL, "contradicted"),
    ("Do not commit to main. Use conventional commits.", NPM, ""),
    ("We use TypeScript strict mode. No `any`.", NPM, ""),
    ("Run `npm test` before every commit.", NPM, "contradicted"),
    ("- Unit tests: `npm test`", NPM, "contradicted"),
    ("Tests run with `npm test`.", NPM, "contradicted"),
    ("```sh\nnpm test\n```", NPM, "contradicted"),
    ("The npm registry is mirrored at registry.example.org.", NPM, ""),
    ("Packages are published to npm.", NPM, ""),
    ("Use `uv run pytest -q` for tests. Don't call pytest directly.", PYTEST, "said"),
    ("Use uv for everything: `uv run pytest -q`, `uv run ruff check`.", PYTEST, "said"),
    ("Use plain pytest; uv is not installed on CI.", PYTEST, "contradicted"),
    ("Avoid `uv run`; activate the venv and use pytest -q.", PYTEST, "contradicted"),
    ("Run `pytest -q` from the repository root.", PYTEST, "contradicted"),
    ("pytest fixtures live in conftest.py.", PYTEST, ""),
    ("All tests must pass (uv run pytest -q) before you push.", PYTEST, "said"),
    ("Never run go test directly; use `make test-unit`.", GO, "said"),
    ("Run `go test ./...` before committing.", GO, "contradicted"),
    ("- `make test-unit` is broken on macOS, use `go test ./...` there.", GO, "contradicted"),
    ("Don't use make; everything is a mage target.", GO, "contradicted"),
    ("Don't make changes to generated files.", GO, ""),
    ("Please don't make test-unit slower.", GO, "said"),
    ("Generated code is in `gen/`. Do not edit.", GO, ""),
    ("Database must be started first: `docker compose up -d db`", DATABASE, "said"),
    ("Start the database with docker compose up -d db before integration tests.", DATABASE, "said"),
    ("Do not use docker here; a local postgres runs on 5433.", DATABASE, "contradicted"),
    ("docker is used in production only.", DATABASE, ""),
    ("Never run `docker compose up`; it takes the shared ports.", DATABASE, "contradicted"),
    ("Migrations are in `services/db/migrations`.", PLACE, "said"),
    ("- services/db/migrations/ — SQL migrations", PLACE, "said"),
    ("Migrations live in `db/migrate`.", PLACE, ""),
    ("Use tabs for indentation.", TABS, "said"),
    ("- use TABS for\n  indentation", TABS, "said"),
    ("Use spaces, not tabs.", TABS, "contradicted"),
    ("Never use tabs.", TABS, "contradicted"),
    ("Tabs are shown four wide.", TABS, ""),
    ("Use pnpm, not npm.", INSTEAD, ""),
    ("Use npm instead of pnpm.", INSTEAD, "contradicted"),
    ("Prefer yarn over npm.", INSTEAD, ""),
    ("Always use npm.", INSTEAD, "contradicted"),
    ("Use npm scripts (`npm run build`).", INSTEAD, "contradicted"),
    ("Never mock the database.", MOCK, ""),
    ("Mock the database in unit tests.", MOCK, "contradicted"),
    ("Don't use console.log, use the logger.", LOGGER, ""),
    ("console.log is fine in scripts.", LOGGER, ""),
    ("Use `console.log` for debugging.", CONSOLE, "contradicted"),
    ("Avoid `any`; use `unknown`.", UNKNOWN, ""),
    ("Use `any` sparingly.", UNKNOWN, "contradicted"),
    ("You may use `any` in tests.", UNKNOWN, "contradicted"),
    ("IMPORTANT: never push to main.", PUSH, "said"),
    ("Push to main directly, there is no review.", PUSH, "contradicted"),
    ("Use black to format.", RUFF, "contradicted"),
    ("We moved from black to ruff.", RUFF, ""),
    ("Formatting: black (line length 100)", RUFF, ""),
    ("Do not run the formatter by hand.", RUFF, ""),
    ("❌ npm install\n✅ pnpm install --frozen-lockfile", INSTALL, "said"),
    ("| test | `pnpm test` |\n| lint | `pnpm lint` |", NPM, "said"),
    ("Use npm >= 10 to bootstrap corepack, then pnpm test.", NPM, "said"),
    ("Don't forget to use pnpm test.", NPM, "said"),
    ("Do not hesitate to run pnpm test often.", NPM, "said"),
    ("Not only pnpm test but also pnpm e2e has to pass.", NPM, "said"),
    ("You don't need to run pnpm test; CI does.", NPM, "said"),
]
"""What a project's file says, a memory, and the objection, judged by eye."""


@pytest.mark.parametrize("frame", FRAMES, ids=["claude", "agents", "gemini", "memory", "skill"])
def test_files_against_memories(frame: str) -> None:
    """Every pair, in each harness's frame."""
    objections = [(text, Said([], [frame + text]).objection(memory)) for text, memory, _ in PAIRS]

    assert objections == [(text, expected) for text, _, expected in PAIRS]


@pytest.mark.parametrize(
    "prompt",
    [
        "`npm test` fails with Error: x. Please mend it.",
        "I ran `npm test` and this came out:\n\nnpm test\n\nError: x",
        "Why does `npm test` fail here?",
        "npm test is red since yesterday",
    ],
)
def test_a_failure_in_the_prompt_denies_no_fix(prompt: str) -> None:
    """It is the very occasion of the memory: only files give commands by naming them."""
    assert Said([], [prompt]).objection(NPM) == ""


def test_the_harness_own_prompt_contradicts_nothing() -> None:
    """It knows nothing of the project."""
    assert not Said(["You are an agent. Never use `uv run pytest`."], []).contradicts(make_memory())


def test_looking_for_contradictions_compiles_no_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern for each thing a memory names would cost a millisecond of the request each."""
    said = Said([], ["Contents of /w/AGENTS.md: " + " ".join(f"run `tool{n} --all`" for n in range(20))])
    memories = [
        make_memory(text=f"`tool{n} --all` fails; `make step{n}` works.", value=f"make step{n}") for n in range(20)
    ]

    def compile_(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(re._compiler, "compile", compile_)  # type: ignore[attr-defined]

    assert all(said.contradicts(memory) for memory in memories)


@pytest.mark.parametrize(
    ("pairs", "right", "objected"),
    [(TUNED, 36, 0), (UNSEEN, 36, 1)],
    ids=["tuned", "unseen"],
)
def test_other_words_other_languages_tables(pairs: list[tuple[str, Memory, str]], right: int, objected: int) -> None:
    """So many of the pairs are judged as their reader did, and so few memories withheld that the file does not speak
    of."""
    judged = [
        (Said([], [FRAMES[number % len(FRAMES)] + text]).objection(memory), expected)
        for number, (text, memory, expected) in enumerate(pairs)
    ]
    as_read = sum(one == expected for one, expected in judged)
    without_ground = sum(bool(one) and not expected for one, expected in judged)

    assert as_read >= right
    assert without_ground <= objected


@pytest.mark.parametrize(
    "words", ["No, always run the tests with `make check` in this repository.", "Run the tests before you commit."]
)
def test_a_task_says_no_rule(words: str) -> None:
    """That a prompt asks for tests does not tell how they are run."""
    prompt = "Run the tests of this project, check them, commit, and tell me whether they pass."

    assert Said([], [prompt]).objection(rule(words)) == ""


def test_a_prompt_that_tells_of_a_breach_denies_no_rule() -> None:
    """Only files do."""
    assert Said([], ["The tests that mock the database fail. Why?"]).objection(MOCK) == ""


WORDS = ("use", "Use", "run", "never", "not", "don't", "avoid,", "user", "instead of", "rather than", "start", "and")
THINGS = ("`npm test`", "pytest", "`uv run x`", "npm,", "failed", "İ")


@given(st.lists(st.sampled_from(WORDS + THINGS), max_size=12).map(" ".join))
def test_what_a_text_orders_and_refuses_is_found_wherever_it_begins(text: str) -> None:
    """Looking only where a pattern can begin finds what looking everywhere finds."""
    for pattern, beginning in ((_REFUSED, _REFUSING), (_WANTED, _USING)):
        found = [one.span() for one in _finds(pattern, beginning, text)]

        assert found == [one.span() for one in pattern.finditer(text)]

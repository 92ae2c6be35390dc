"""What a request already says need not be said again."""

import re

import pytest

from spanlore.memory.memory import Kind, Memory, Source
from spanlore_proxy.injection.overlap import Said
from support.injecting import make_memory

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

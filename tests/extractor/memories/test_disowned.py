from typing import Any

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore_extractor.memories.disowned import disowns

UNITTEST = "PYTHONPATH=src python3 -m unittest discover -s tests"


def said(words: str, **changes: Any) -> Memory:
    made: dict[str, Any] = {
        "id": "m-1", "kind": Kind.CORRECTION, "source": Source.CORRECTION, "status": Status.ACTIVE,
        "scope": "github.com/a/b", "text": f'The user said (2026-11-30): "{words}"', "why": words,
    }  # fmt: skip
    return Memory(**{**made, **changes})


def learned(worked: str, **changes: Any) -> Memory:
    made: dict[str, Any] = {
        "id": "m-2", "kind": Kind.USAGE, "source": Source.FAILURE_DELTA, "status": Status.ACTIVE,
        "scope": "github.com/a/b", "text": f"`make chek` failed with “no rule”; `{worked}` worked instead.",
    }  # fmt: skip
    return Memory(**{**made, **changes})


@pytest.mark.parametrize(
    ("words", "worked"),
    [
        ("No, don't call unittest directly. Always run the tests with `make check`.", UNITTEST),
        ("don’t use npm here", "npm ci --legacy-peer-deps"),
        ("Never use `npm ci` in this repo; use pnpm install", "cd web && npm ci"),
        ("use pnpm instead of npm", "npm install"),
        ("stop using sudo, we have no root", "sudo apt-get install -y jq"),
        ("Avoid pytest and use tox", "uv run pytest -q tests"),
        ("do not run python directly", "python3 tools/gen.py"),
        ("never use --no-verify!", "git commit --no-verify -m x"),
    ],
)
def test_what_a_person_refuses_outright_is_disowned(words: str, worked: str) -> None:
    """The program, a wrapper, the first words in back-ticks, or an option of the recommended command is refused."""
    assert disowns(said(words), learned(worked))


@pytest.mark.parametrize(
    ("words", "worked"),
    [
        ("don't run pytest without -q", "uv run pytest -q tests"),
        ("don't use npm in the root, use packages/web", "npm test --prefix packages/web"),
        ("never run the tests twice", "npm run tests"),
        ("don't run tests directly", "python3 -m pytest tests"),
        ("don't use python directly, use `uv run python`", "uv run python tools/gen.py"),
        ("don't use pip, use `uv pip`", "uv pip install x"),
        ("always use pytest", "pytest -q"),
        ("don't commit directly to main", "git commit -m x"),
        ("is it right not to use npm?", "yarn install"),
        ("use npm, not yarn", "npm install"),
    ],
)
def test_one_way_of_doing_it_is_no_refusal_of_the_thing(words: str, worked: str) -> None:
    """What is refused under a condition, what the person wants, and words that are no program are left alone."""
    assert not disowns(said(words), learned(worked))


def test_only_a_persons_words_disown_and_only_what_was_inferred() -> None:
    """Statements never disown each other here (their slots decide), and a lesson disowns nothing."""
    words = "don't use npm here"
    assert not disowns(learned(words), learned("npm ci"))
    assert not disowns(said(words), said("npm ci"))
    assert not disowns(said(words), learned("npm ci", kind=Kind.TRAP))


def test_words_for_a_while_disown_nothing() -> None:
    """What they would end would not come back with their end."""
    assert not disowns(said("don't use npm here", valid_to_ns=10**18), learned("npm ci"))


def test_another_harness_and_a_cut_command_are_left_alone() -> None:
    """A rule for one harness says nothing of another's lesson; half a command is not judged."""
    words = "don't use npm here"
    assert not disowns(said(words, harness="codex"), learned("npm ci", harness="claude-code"))
    assert not disowns(said(words), learned("npm ci --a-very-long-option…"))

"""Tests and releases: prompts that ask for them, memories about them."""

import pytest

from spanlore.recall.families import FAMILIES, asked_for, belongs
from support.injecting import make_memory

TESTS, RELEASE = FAMILIES


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Run the TESTS", ["tests"]),
        ("tag it and push", ["release"]),
        ("run pytest, then publish", ["tests", "release"]),
        ("the latest contest", []),
        ("add a test for this", ["tests"]),
        ("write an end-to-end test", ["tests"]),
        ("it is easier to test then", []),
        ("make a test repo, and write to test-x.txt", []),
        ("why is this?\n❯ make x\n--- FAIL: tests", []),
    ],
)
def test_a_prompt_asks_for_families_in_whatever_case(prompt: str, names: list[str]) -> None:
    """By whole words."""
    assert [family.name for family in asked_for(prompt)] == names


@pytest.mark.parametrize(
    ("value", "family", "expected"),
    [
        ("uv run pytest", TESTS, True),
        ("make test-unit", TESTS, True),
        ("make docs", TESTS, False),
        ("git push origin HEAD:main", RELEASE, True),
        ("git switch main", RELEASE, False),
    ],
)
def test_memories_belong_by_their_command(value: str, family: object, expected: bool) -> None:
    """Its program, or for programs of many ends its whole form."""
    memory = make_memory("x", text="Something.", value=value)

    assert belongs(memory, family) is expected  # type: ignore[arg-type]

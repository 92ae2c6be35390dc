"""Search: what a text is about, and whether that is clear."""

import pytest

from spanlore.memory.memory import Memory
from spanlore.recall.index import MAX_POSTINGS, Document, Hit, Index
from support.injecting import make_memory

DOCKER = make_memory(
    "docker compose",
    text="`docker compose up` fails here with a missing variable; `deploy/dev.env` has it.",
    value="docker compose --env-file deploy/dev.env up",
)
MIGRATION = make_memory(
    "alembic",
    text="Migrations of the billing database live in `services/billing/migrations`, not in `db/`.",
    value="services/billing/migrations",
)
OTHERS = [make_memory(f"tool{n}", text=f"`tool{n} --all` wants the sandbox up before it starts.") for n in range(40)]
INDEX = Index([Document.of(memory) for memory in [DOCKER, MIGRATION, *OTHERS]])


def search(query: str, limit: int = 5) -> list[Hit]:
    """Hits among all of the memories."""
    return INDEX.search(query, limit)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Bring the stack up with docker compose and check that the shop answers", DOCKER),
        ("Look at services/billing/migrations and write the next one", MIGRATION),
        ("Write a migration for the billing database that adds a column", MIGRATION),
    ],
)
def test_a_prompt_that_names_what_a_memory_is_about_finds_it_first_and_clearly(query: str, expected: Memory) -> None:
    """By its subject, by a path, or by three rare words."""
    hits = search(query)

    assert hits[0].memory == expected
    assert hits[0].is_clear


@pytest.mark.parametrize(
    "query",
    [
        "Explain to me how the login page decides whether to show the captcha",
        "Write a function that reverses a string, with documentation and examples",
        "The database is slow today, could you look at the connection pool settings?",
        "What does the sandbox do?",
    ],
)
def test_a_prompt_about_something_else_finds_nothing_clear(query: str) -> None:
    """One shared word, or words that stand in many memories, are no match to show unasked."""
    assert not [hit for hit in search(query) if hit.is_clear]


def test_what_is_not_admitted_is_passed_over() -> None:
    """The limit counts what is admitted."""
    found = INDEX.search("sandbox tool1 tool2", 3, lambda memory: memory.subject == "tool2")

    assert [hit.memory.subject for hit in found] == ["tool2"]


def test_the_same_query_gives_the_same_hits_in_the_same_order() -> None:
    """Ties are broken by the order of the documents."""
    assert search("sandbox starts", 40) == search("sandbox starts", 40)
    assert [hit.memory for hit in search("sandbox", 3)] == OTHERS[:3]


def test_common_terms_only_refine() -> None:
    """With more postings than are looked at, the memory with the rare term is found, and scores more than without."""
    many = [make_memory(f"n{n}", text=f"sandbox common n{n}") for n in range(MAX_POSTINGS + 10)]
    index = Index([Document.of(memory) for memory in many])
    [hit] = index.search("sandbox common n7", 1)

    assert hit.memory == many[7]
    assert hit.matched[0] == "n7"


def test_no_memories_no_hits() -> None:
    """An empty scope is searched in vain."""
    assert Index([]).search("anything", 3) == []


def test_a_limit_is_filled_from_behind_those_that_are_not_admitted() -> None:
    """However many of the best are refused, and equal scores come in the order of the documents."""
    found = INDEX.search("sandbox", 3, lambda memory: memory.subject[-1:] == "9")

    assert [hit.memory.subject for hit in found] == ["tool9", "tool19", "tool29"]

import pytest

from spanlore_extractor.mining.explicit import find_statements
from support.told import Told


def statements(text: str) -> list[str]:
    return [item.quote for item in find_statements(Told().human(text).session().conversations[0])]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("remember that the office runs on port 4000", "the office runs on port 4000"),
        ("Please remember: staging has no TLS", "staging has no TLS"),
        ("ok, remember that tests need docker", "tests need docker"),
        ("Fix the bug. Don't forget that main is protected.", "main is protected."),
        ("For future reference: the API is versioned", "the API is versioned"),
    ],
)
def test_asking_to_remember(text: str, quote: str) -> None:
    """The person's words after the request, also in the first message of a session."""
    assert statements(text) == [quote]


@pytest.mark.parametrize(
    "text",
    [
        "do you remember that bug?",
        "I remember that we had it",
        "and remember to use pagination",
        "Note: this build fails",
        "remember that?",
        "```\nremember that this is pasted\n```",
    ],
)
def test_other_uses_of_the_word(text: str) -> None:
    """Questions, recollections, tasks and pastes ask for nothing."""
    assert statements(text) == []


def test_everywhere() -> None:
    """User scope only by the person's own words."""
    told = Told().human("remember that I want British spelling in all my projects")

    [statement] = find_statements(told.session().conversations[0])

    assert statement.is_for_everywhere

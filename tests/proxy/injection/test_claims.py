"""A rule's claim, made or denied in other words."""

import pytest

from spanlore_proxy.injection.claims import Claim, claims_of, stand_of

MOCK = "Never mock the database in tests"


def stand(rule: str, text: str) -> list[bool | None]:
    return [stand_of(claim, text.casefold()) for claim in claims_of(rule)]


def test_a_rule_is_taken_apart() -> None:
    """By clauses, without endings and fillers; what is left of one word is no claim."""
    assert claims_of(MOCK) == (Claim(("database", "mock", "test"), True),)
    assert claims_of("Amounts are integer cents everywhere, never floats") == (
        Claim(("integer", "amount", "cent"), False),
    )
    assert claims_of("Use pnpm") == claims_of("") == claims_of("Always run the tests with `make check`") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The database must not be mocked in tests.", True),
        ("Mocking the database in tests is forbidden.", True),
        ("You may mock the database in unit tests.", False),
        ("Mock the clock in tests.", None),
        ("Tests are fast. The database is large. Mock nothing.", None),
        ("Never mock the clock; mocks of the database are fine in tests.", False),
        ("Not only tests mock the database.", None),
        ("Do we mock the database in tests?", None),
        ("Mock the database in tests.\nNo! Never mock the database in tests.", True),
        ("", None),
    ],
)
def test_what_a_sentence_says_of_it(text: str, expected: bool | None) -> None:
    """All words in one sentence, negated as the rule is, or not; who says both says it."""
    assert stand(MOCK, text) == [expected]


def test_a_long_text_is_looked_at_in_part() -> None:
    """However often a word stands there."""
    assert stand(MOCK, "database " * 100_000) == [None]

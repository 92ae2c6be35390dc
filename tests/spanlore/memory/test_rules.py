import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.rules import Rule, rule_of


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("always run the tests with `make check`", Rule("tests", "by", "make check")),
        ("Always run the tests with pytest -q in this repository.", Rule("tests", "by", "pytest -q")),
        ("use pnpm instead of npm", Rule("npm", "instead", "pnpm")),
        ("please use pnpm, not npm!", Rule("npm", "instead", "pnpm")),
        ("use ruff for formatting", Rule("formatting", "by", "ruff")),
    ],
)
def test_plain_forms(words: str, rule: Rule) -> None:
    """Two ways to do one thing have one subject and slot, and can contradict each other."""
    assert rule_of(words) == rule


def test_everything_else_is_about_itself() -> None:
    """The same words are the same rule, other words another one, and neither contradicts the other."""
    one, same, other = rule_of("Never stash!"), rule_of("never  stash"), rule_of("never rebase")

    assert one == same
    assert one.slot == "statement"
    assert one.subject != other.subject


@given(st.text())
def test_any_words_have_a_rule(words: str) -> None:
    """Nothing raises, and case and spacing never matter."""
    assert rule_of(words) == rule_of(f"  {words} ")

"""Budgets are held, in tokens of four bytes."""

from hypothesis import given
from hypothesis import strategies as st

from spanlore.recall.budget import MAX_MISSES, count_tokens, fit_to_budget


@given(st.lists(st.text(max_size=60), max_size=20), st.integers(0, 80), st.text(max_size=40))
def test_budget_is_never_exceeded(lines: list[str], budget_tokens: int, frame: str) -> None:
    """Frame and kept lines together, with their line breaks, never cost more than the budget."""
    kept, _ = fit_to_budget(((line, line) for line in lines), budget_tokens, frame)

    if kept:
        assert count_tokens("\n".join([frame, *kept])) <= budget_tokens


@given(st.lists(st.text(max_size=60), max_size=MAX_MISSES), st.integers(0, 80))
def test_order_is_kept_and_nothing_is_made_up(lines: list[str], budget_tokens: int) -> None:
    """Kept and missed lines are the given ones, each in the given order."""
    numbered = list(enumerate(lines))
    kept, missed = fit_to_budget(((item, item[1]) for item in numbered), budget_tokens)

    assert kept == [item for item in numbered if item in kept]
    assert sorted([*kept, *missed]) == (numbered if budget_tokens else [])


def test_a_long_line_does_not_keep_shorter_ones_out() -> None:
    """What does not fit is passed over."""
    kept, missed = fit_to_budget([(1, "x" * 100), (2, "y")], 10)

    assert (kept, missed) == ([2], [1])


def test_it_gives_up_after_enough_misses() -> None:
    """The rest is not even looked at."""
    lines = iter([(n, "x" * 100) for n in range(MAX_MISSES + 5)])
    _, missed = fit_to_budget(lines, 10)

    assert len(missed) == MAX_MISSES
    assert len(list(lines)) == 5


def test_tokens_are_bytes_rounded_up() -> None:
    """Four bytes of UTF-8 are a token, five are two; half characters can be counted too."""
    assert [count_tokens(text) for text in ("", "abcd", "abcde", "éé", "ééé", "\ud83d")] == [0, 1, 2, 1, 2, 1]

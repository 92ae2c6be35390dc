"""Budgets are held, in tokens counted from above."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.recall.budget import MAX_MISSES, _counted, count_tokens, fit_to_budget
from support.recordings import ROOT


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


def recorded() -> list[dict[str, Any]]:
    """Blocks and hints, with the tokens that four real tokenizers make of them; recordings/README.md tells how."""
    found: list[dict[str, Any]] = json.loads((ROOT / "tokens" / "blocks_and_hints.json").read_text())
    return found


def test_no_real_tokenizer_makes_more_of_a_block_or_hint() -> None:
    """Of hundreds of them, with words, paths, hashes, base64 and scripts of the world in their memories."""
    texts = recorded()
    low = [one for one in texts if count_tokens(one["text"]) < max(one["tokens"].values())]

    assert len(texts) >= 150
    assert low == []


def test_the_count_is_no_waste() -> None:
    """Of what mining makes it is at most half as much again as the tokenizer that makes most."""
    ordinary = [one for one in recorded() if one["sort"] == "mined"]
    worst = max(count_tokens(one["text"]) / max(one["tokens"].values()) for one in ordinary)

    assert len(ordinary) >= 50
    assert worst <= 1.5


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("word", 1), ("words", 2), ("a b", 2), ("42", 2), ("é", 2), ("\ud83d", 1), ("0123456789abcdef", 16)],
)
def test_what_counts_how_much(text: str, tokens: int) -> None:
    """Letters by four, digits and bytes beyond ASCII one by one, half characters too."""
    assert count_tokens(text) == tokens


@given(st.text(max_size=200))
def test_no_text_counts_more_than_its_bytes(text: str) -> None:
    """No byte-level tokenizer makes more, so nothing above that would be needed."""
    assert count_tokens(text) <= len(text.encode("utf-8", "replace"))


@given(st.text(alphabet=st.sampled_from("aZé0/=_. \t\n"), max_size=120))
def test_a_text_counts_what_its_parts_count(text: str) -> None:
    """Counted word by word, since words are known from other texts, or in one go."""
    assert count_tokens(text) == _counted.__wrapped__(text)

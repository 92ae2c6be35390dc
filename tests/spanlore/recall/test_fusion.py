"""One order from several."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.recall.fusion import fuse

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4)


def test_the_formula() -> None:
    """1 / (60 + rank), added up."""
    assert fuse(["a", "b"], ["b", "c"]) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    assert list(fuse(["a", "b"], ["b", "c"])) == ["b", "a", "c"]


@given(RANKINGS)
def test_everything_stands_in_it_once(rankings: list[list[str]]) -> None:
    """Nothing is lost, and the best comes first."""
    scores = fuse(*rankings)

    assert set(scores) == {name for ranking in rankings for name in ranking}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_one_ranking_stays_as_it_is(ranking: list[str]) -> None:
    """And so do two that agree."""
    assert list(fuse(ranking)) == list(fuse(ranking, ranking)) == ranking

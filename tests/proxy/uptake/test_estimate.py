"""Intervals, against published values."""

import random

import pytest

from spanlore_proxy.uptake.estimate import Share, paired


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17, 857), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval(hits: int, count: int, low: float, high: float) -> None:
    """The published examples."""
    assert Share(hits, count).interval == pytest.approx((low, high), abs=5e-5)


def test_nothing_asked_is_nothing_known() -> None:
    """The interval is everything."""
    assert Share(0, 0).interval == (0.0, 1.0)
    assert paired([], []).p == 1.0


def test_the_paired_difference() -> None:
    """By hand: 20 agree, 12 gained, 2 lost, 16 neither: 0.2, and 2 × P(≤ 2 of 14) = 212 / 16384."""
    one = [True] * 20 + [True] * 12 + [False] * 2 + [False] * 16
    other = [True] * 20 + [False] * 12 + [True] * 2 + [False] * 16
    found = paired(one, other)

    assert found.value == pytest.approx(0.2)
    assert 0 < found.low < 0.2 < found.high < 0.4
    assert found.p == pytest.approx(212 / 16384)


def test_no_difference_is_none() -> None:
    """The same answers twice."""
    found = paired([True, False, True], [True, False, True])

    assert (found.value, found.p) == (0.0, 1.0)
    assert found.low <= 0.0 <= found.high


def test_the_interval_covers() -> None:
    """In at least 92 of 100 simulations of 200 lessons the true difference (0.2) lies within."""
    chance = random.Random(7)
    covered = 0
    for _ in range(300):
        luck = [chance.random() for _ in range(200)]
        found = paired([value < 0.5 for value in luck], [value < 0.2 or 0.5 < value < 0.6 for value in luck])
        covered += found.low <= 0.2 <= found.high

    assert covered >= 0.92 * 300

"""The measured effect: intervals that hold, and no number from too few."""

import random

import pytest

from spanlore_extractor.effect.estimate import (
    MIN_SESSIONS,
    Effect,
    Share,
    Unit,
    difference_interval,
    estimate,
    estimates,
)


def played(chance: random.Random, sessions: int, withheld: float, p_shown: float, p_withheld: float) -> list[Unit]:
    """Sessions with one memory, which changes the chance of a recurrence."""
    units = []
    for number in range(sessions):
        is_shown = chance.random() >= withheld
        has_recurred = chance.random() < (p_shown if is_shown else p_withheld)
        units.append(Unit("m", f"s{number}", is_shown, has_recurred, is_used=is_shown))
    return units


@pytest.mark.parametrize(
    ("sessions", "withheld", "p_shown", "p_withheld"),
    [(60, 0.5, 0.2, 0.6), (300, 0.1, 0.1, 0.5), (200, 0.5, 0.4, 0.4), (120, 0.5, 0.7, 0.3), (400, 0.1, 0.02, 0.05)],
)
def test_the_interval_holds_the_planted_effect(
    sessions: int, withheld: float, p_shown: float, p_withheld: float
) -> None:
    """In at least 95 of 100 simulations, whatever was planted: help, nothing or harm."""
    found = 0
    for seed in range(100):
        low, high = estimate(played(random.Random(seed), sessions, withheld, p_shown, p_withheld)).interval
        found += low <= p_shown - p_withheld <= high

    assert found >= 95


def test_nothing_planted_is_hardly_ever_taken_for_something() -> None:
    """At most 3 of 100 memories without an effect get a verdict."""
    verdicts = [estimate(played(random.Random(seed), 200, 0.5, 0.3, 0.3)).verdict for seed in range(100)]

    assert sum(verdict != "open" for verdict in verdicts) <= 3


@pytest.mark.parametrize(
    ("shown", "withheld", "verdict"),
    [
        (Share(0, MIN_SESSIONS - 1), Share(50, 50), "too few"),
        (Share(50, 50), Share(0, MIN_SESSIONS - 1), "too few"),
        (Share(1, 50), Share(40, 50), "helps"),
        (Share(40, 50), Share(1, 50), "harms"),
        (Share(10, 50), Share(11, 50), "open"),
    ],
)
def test_a_verdict_needs_enough_sessions_of_both_arms(shown: Share, withheld: Share, verdict: str) -> None:
    """Else it is "too few", however clear the numbers look."""
    assert Effect(shown, withheld, Share(0, 0), Share(0, 0)).verdict == verdict


@pytest.mark.parametrize(("share", "low", "high"), [(Share(0, 0), 0.0, 1.0), (Share(0, 10), 0.0, 0.2775)])
def test_wilsons_interval(share: Share, low: float, high: float) -> None:
    """At 95 % as in the literature: 0 of 10 is 0 to 0.278; nothing at all is everything."""
    assert share.interval(1.959964) == pytest.approx((low, high), abs=1e-4)


def test_newcombes_interval() -> None:
    """His own example (1998, table II, method 10): 56/70 against 48/80 is 0.0524 to 0.3339 at 95 %."""
    assert difference_interval(Share(56, 70), Share(48, 80), 1.959964) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_memories_are_told_apart() -> None:
    """Each by its own sessions."""
    units = [Unit("b", "s1", True, True, False), Unit("a", "s1", False, True, True)]
    found = estimates(units)

    assert list(found) == ["a", "b"]
    assert (found["a"].withheld, found["a"].used_withheld) == (Share(1, 1), Share(1, 1))
    assert (found["b"].shown, found["b"].used) == (Share(1, 1), Share(0, 1))

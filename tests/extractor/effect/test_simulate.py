"""Planted effects are found, and the rules do what they are for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spanlore.memory.memory import Status
from spanlore_extractor.effect.simulate import (
    LOOK_EVERY,
    MIN_COVERED,
    SCENARIOS,
    Scenario,
    evaluate,
    live,
    simulate,
    table,
)


def test_what_is_planted_is_found() -> None:
    """In at least 95 of 100 simulations of each scenario the interval holds the planted effect; harmful memories are
    retired, and others hardly ever."""
    result = evaluate()

    assert result["within_budget"], table(result)
    assert all(row["interval holds it count"] >= MIN_COVERED for row in result["rows"])
    assert {row["planted effect"] > 0 for row in result["rows"]} == {True, False}


def test_what_helps_is_promoted_and_what_nobody_uses_goes() -> None:
    """On trial it becomes active; what does nothing and is not used more often is retired as useless."""
    helps, useless = (next(one for one in SCENARIOS if one.what == name) for name in
                      ("helps much, on trial", "does nothing, is not used"))  # fmt: skip

    assert live(helps, 0).memory.status is Status.ACTIVE
    assert simulate(useless, 20)["retired as useless count"] >= 12


def test_the_same_seed_gives_the_same_life() -> None:
    """And a life ends at a look."""
    scenario = SCENARIOS[-1]

    assert live(scenario, 3).units == live(scenario, 3).units
    assert live(scenario, 3).ended_after % LOOK_EVERY == 0


@pytest.mark.parametrize("change", [{"p_shown": 0.31}, {"sessions": 20}])
def test_the_evaluation_can_fail(change: dict[str, float]) -> None:
    """Harm too small to be seen, or too few sessions: not as it must be."""
    scenario = replace(Scenario("harms", 200, 0.9, 0.3), **change)  # type: ignore[arg-type]
    result = evaluate([scenario], 20)

    assert not result["within_budget"]
    assert table(result).endswith("NOT as it must be")
    assert max(map(len, table(result).splitlines())) <= 80

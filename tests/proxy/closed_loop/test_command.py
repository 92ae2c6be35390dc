"""What the loop reports."""

from typing import Any

import pytest

from spanlore_proxy.closed_loop.client import Outcome, Way
from spanlore_proxy.closed_loop.command import LABEL, crossover, judge, row, table
from spanlore_proxy.closed_loop.lessons import make_repository
from spanlore_proxy.closed_loop.loop import ARMS, Arm
from spanlore_proxy.closed_loop.policies import POLICIES

REPOSITORY = make_repository("x", 1)


def test_only_what_came_before_is_repeated() -> None:
    """The first failure of a lesson is its price; the second is one too many."""
    one, other = REPOSITORY.lessons[:2]
    arm = Arm("learned", POLICIES[0], REPOSITORY, [one, other, one, one, one, one], Way("x"))
    fine = Outcome(0, 0, 0, 1, 10)
    arm.outcomes = [Outcome(1, 0, 1, 4, 10), Outcome(1, 0, 1, 4, 10), Outcome(1, 0, 0, 3, 10), fine, fine, fine]
    arm.exposed_bytes = 400
    found = row(arm)

    assert (found["repeated_failures"], found["redundant_looks"], found["requests"]) == (1, 0, 14)
    assert (found["exposed_tokens"], found["crossover_session"]) == (100, 4)


@pytest.mark.parametrize(
    ("costly", "expected"),
    [
        ([], None),
        ([True], None),
        ([True, False, False], None),
        ([True, False, False, False], 2),
        ([False] * 3, 1),
        ([True, False, True], None),
    ],
)
def test_the_crossover_is_where_nothing_costs_any_more(costly: list[bool], expected: int | None) -> None:
    """And None when the last session still did, or too few followed."""
    assert crossover(costly) == expected


def rows(**costs: int) -> list[dict[str, Any]]:
    """A row for each arm and policy; `costs` of the obeying model, none of the others learns."""
    return [
        {
            "what": f"{policy.name}: {arm}",
            "policy": policy.name,
            "arm": arm,
            "repeated_failures": costs[arm.replace("-", "_")] if policy.obedience == 1 else 10,
            "repeated_corrections": 0,
            "redundant_looks": 0,
            "exposed_tokens": 0,
            "crossover_session": None,
        }
        for policy in POLICIES
        for arm in ARMS
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"learned": 6}, False),
        ({"placebo": 1}, False),
        ({"withheld": 1}, False),
        ({"hand_written": 1}, False),
    ],
)
def test_the_plumbing_must_show_what_was_planted(changes: dict[str, int], expected: bool) -> None:
    """Learned halves it, placebo and withheld do nothing; anything else is a fault."""
    costs = {"none": 10, "hand_written": 0, "learned": 4, "withheld": 10, "placebo": 10, **changes}
    result = judge(rows(**costs))

    assert result["within_budget"] is expected
    assert result["label"] == LABEL
    assert max(map(len, table(result).splitlines())) <= 80

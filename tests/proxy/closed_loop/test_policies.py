"""A scripted model that knows what the request says, and obeys or not."""

import pytest

from spanlore_proxy.closed_loop.client import Way, play
from spanlore_proxy.closed_loop.lessons import make_repository
from spanlore_proxy.closed_loop.policies import POLICIES, Model, Policy
from spanlore_proxy.demo.model_server import ModelServer

REPOSITORY = make_repository("x", 1)
USAGE = next(lesson for lesson in REPOSITORY.lessons if not lesson.is_correction)
CORRECTION = next(lesson for lesson in REPOSITORY.lessons if lesson.is_correction)
OBEYS, _, IGNORES = POLICIES


@pytest.mark.parametrize("policy", [OBEYS, IGNORES])
def test_a_model_that_is_told_nothing_finds_out(policy: Policy) -> None:
    """It fails, looks and gets there; where the user minds it is corrected, and does what it is told."""
    model = Model()
    with ModelServer(model.answer) as server:
        outcomes = []
        for session, lesson in (("s-1", USAGE), ("s-2", CORRECTION)):
            model.expect(session, policy, lesson)
            outcomes.append(play(session, lesson, Way(f"{server.url}/v1/messages")))

    assert [(one.failures, one.looks, one.corrections) for one in outcomes] == [(1, 1, 0), (0, 0, 1)]


@pytest.mark.parametrize(("policy", "costs"), [(OBEYS, 0), (IGNORES, 1)])
def test_what_the_request_says_counts_only_for_who_obeys(policy: Policy, costs: int) -> None:
    """A CLAUDE.md spares the failure and the correction, or does not."""
    model = Model()
    with ModelServer(model.answer) as server:
        way = Way(f"{server.url}/v1/messages", instructions=REPOSITORY.instructions)
        found = []
        for session, lesson in (("s-1", USAGE), ("s-2", CORRECTION)):
            model.expect(session, policy, lesson)
            outcome = play(session, lesson, way)
            found.append(outcome.failures + outcome.corrections)

    assert found == [costs, costs]


def test_half_obeys_in_about_half_of_the_sessions() -> None:
    """By a fixed hash."""
    half = POLICIES[1]
    obeyed = [half.obeys(f"s-{number}", USAGE) for number in range(400)]

    assert 160 < sum(obeyed) < 240
    assert obeyed == [half.obeys(f"s-{number}", USAGE) for number in range(400)]


def test_a_request_of_no_session_of_ours_gets_no_script() -> None:
    """The server then says something short."""
    with ModelServer(Model().answer) as server:
        outcome = play("s-unknown", USAGE, Way(f"{server.url}/v1/messages"))

    assert (outcome.requests, outcome.failures) == (1, 0)

"""A session as an agent plays it."""

import pytest

from spanlore_proxy.closed_loop.client import LoopError, Way, play
from spanlore_proxy.closed_loop.lessons import make_repository
from spanlore_proxy.closed_loop.policies import POLICIES, Model
from spanlore_proxy.demo.model_server import ModelServer
from spanlore_proxy.demo.replies import Failure

LESSON = make_repository("x", 1).lessons[0]


def test_what_is_sent_is_counted_and_a_bypass_is_asked_for() -> None:
    """Bytes as the server got them, and the header on every request."""
    model = Model()
    model.expect("s-1", POLICIES[0], LESSON)
    with ModelServer(model.answer) as server:
        outcome = play("s-1", LESSON, Way(f"{server.url}/v1/messages", is_bypassed=True))
        requests = server.main_loop("s-1")

    assert outcome.requests == len(requests) == 4
    assert outcome.sent_bytes == sum(len(request.body) for request in requests)
    assert {request.header("x-spanlore-bypass") for request in requests} == {"1"}


def test_an_error_ends_the_session() -> None:
    """With what was answered."""
    with (
        ModelServer(lambda request: Failure(400, "invalid_request_error", "no")) as server,
        pytest.raises(LoopError, match="HTTP 400"),
    ):
        play("s-1", LESSON, Way(f"{server.url}/v1/messages"))
    with pytest.raises(LoopError, match="no answer"):
        play("s-1", LESSON, Way("http://127.0.0.1:9/v1/messages"))

"""Bodies of the benchmark."""

import orjson
import pytest

from spanlore_proxy.bench.bodies import conversation


@pytest.mark.parametrize("size", [10_000, 200_000])
def test_first_body_has_about_the_asked_size(size: int) -> None:
    """The size named in the budget is the size that is measured, within 30 %."""
    talk = conversation(size, 2, 1, "s")

    assert 0.7 * size < len(talk.bodies[0]) < 1.3 * size


def test_every_request_resends_the_past() -> None:
    """Request i+1 has request i's messages and two more, as an agent's has."""
    talk = conversation(10_000, 3, 1, "s")
    messages = [orjson.loads(body)["messages"] for body in talk.bodies]

    assert messages[1][: len(messages[0])] == messages[0]
    assert len(messages[2]) == len(messages[1]) + 2


def test_same_seed_same_bytes() -> None:
    """All targets get the same bytes."""
    assert conversation(10_000, 2, 5, "s") == conversation(10_000, 2, 5, "s")

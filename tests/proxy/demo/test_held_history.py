"""What a scripted server remembers of a WebSocket connection."""

import pytest

from spanlore_proxy.demo.held_history import HeldHistory


def test_later_messages_get_what_was_said_before() -> None:
    """Input and output of the response that they go on from, whichever it is."""
    history = HeldHistory()
    first = history.whole({"input": ["a"], "model": "m"})
    history.answered(first, {"id": "r1", "output": ["b"]})
    second = history.whole({"input": ["c"], "previous_response_id": "r1"})
    history.answered(second, {"id": "r2"})

    assert first == {"input": ["a"], "model": "m"}
    assert second["input"] == ["a", "b", "c"]
    assert history.whole({"input": "d", "previous_response_id": "r2"})["input"][3:] == [
        {"role": "user", "content": "d"}
    ]
    assert history.whole({"previous_response_id": "r1"})["input"] == ["a", "b"]


def test_a_response_that_nobody_gave() -> None:
    """The client is told, as the API does."""
    with pytest.raises(KeyError):
        HeldHistory().whole({"input": [], "previous_response_id": "r9"})

"""Made-up sessions are what they say they are."""

import itertools

import orjson
import pytest

from spanlore_proxy.bench.cache_sessions import COMMAND, anthropic_bodies, chat_bodies, memories


@pytest.mark.parametrize("bodies", [anthropic_bodies, chat_bodies])
def test_a_session_only_grows(bodies: object) -> None:
    """Each request repeats the one before and goes on; the same seed gives the same session."""
    sent = [orjson.loads(body)["messages"] for body in bodies(40)]  # type: ignore[operator]

    for before, after in itertools.pairwise(sent):
        plain = [_unmarked(message) for message in before]
        assert [_unmarked(message) for message in after[: len(before)]] == plain
        assert len(after) > len(before)
    assert [orjson.loads(body)["messages"] for body in bodies(40)] == sent  # type: ignore[operator]


def test_the_newest_block_is_marked() -> None:
    """And the last system block; no other."""
    for body in anthropic_bodies(20):
        document = orjson.loads(body)
        marks = [block for message in document["messages"] for block in message["content"] if "cache_control" in block]

        assert marks == [document["messages"][-1]["content"][-1]]
        assert ["cache_control" in block for block in document["system"]] == [False, True]


def test_there_is_something_to_inject() -> None:
    """A failure that a memory knows is in the session."""
    assert any(memory.trigger.signatures for memory in memories())
    assert COMMAND.encode() in list(anthropic_bodies(30))[-1]


def _unmarked(message: dict[str, object]) -> dict[str, object]:
    content = message["content"]
    if not isinstance(content, list):
        return message
    return {**message, "content": [{k: v for k, v in block.items() if k != "cache_control"} for block in content]}

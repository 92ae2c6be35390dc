from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.conversation import digests
from spanlore_proxy.conversation.digests import Digests
from spanlore_proxy.wire.anthropic import message_digest


class Counting:
    """The real digest, counted."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, message: dict[str, Any]) -> bytes:
        self.calls += 1
        return message_digest(message)


def said(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def whole(messages: list[dict[str, Any]]) -> bytes:
    return b"".join(map(message_digest, messages))


def test_each_message_is_digested_once() -> None:
    """The history of the next request costs nothing where its objects are the same."""
    known, digest, count = Digests(), Counting(), 10
    history = [said(f"{n}") for n in range(count)]
    first = known.chain(history, digest, 100)
    longer = [*history, said("new")]

    assert known.chain(longer, digest, 100) == whole(longer) == first + message_digest(said("new"))
    assert digest.calls == count + 1


def test_an_equal_message_is_not_the_same_one() -> None:
    """`1` and `1.0` are equal in Python, and two messages: only the very same object keeps its digest."""
    known = Digests()
    first = said("hello")
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}]}
    other = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1.0}}]}
    known.chain([first, call], message_digest, 10)

    assert call == other
    assert known.chain([first, other], message_digest, 10) == whole([first, other]) != whole([first, call])


@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=8))
def test_always_the_digests_of_these_messages(requests: list[list[int]]) -> None:
    """Branches, edits, shorter histories, repeats: the chain is the same as without a memory."""
    known, objects = Digests(), [said(str(n % 3)) for n in range(6)]
    for request in requests:
        messages = [objects[n] for n in request]

        assert known.chain(messages, message_digest, 10) == whole(messages)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size of the bodies and by number; a body that would take nearly all of it is not remembered."""
    known = Digests(max_bytes=100)
    for n in range(10):
        known.chain([said(str(n))], message_digest, 30)
    by_bytes = len(known)
    known.chain([said("huge")], message_digest, 81)
    monkeypatch.setattr(digests, "MAX_COUNT", 2)
    known.chain([said("small")], message_digest, 1)

    assert (by_bytes, len(known)) == (3, 2)


def test_a_conversation_counts_once() -> None:
    """However many requests it makes."""
    known, history = Digests(max_bytes=100), [said("one")]
    for n in range(20):
        history = [*history, said(orjson.dumps(n).decode())]
        known.chain(history, message_digest, 40)

    assert len(known) == 1
    assert known.chain([], message_digest, 0) == b""

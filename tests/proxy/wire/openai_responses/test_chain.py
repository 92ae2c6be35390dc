import json
from typing import Any

import pytest

from spanlore_proxy.wire.openai_responses import chain as chain_module
from spanlore_proxy.wire.openai_responses.chain import ResponseChain, as_body, as_sse, message_fields
from spanlore_proxy.wire.sse import SSEDecoder


def item(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def create(items: Any, previous: str | None = None, **more: Any) -> dict[str, Any]:
    out = {"type": "response.create", "model": "m", "input": items, **more}
    return out if previous is None else {**out, "previous_response_id": previous}


def test_a_chain_is_the_whole_input() -> None:
    """Prewarm, full input, then only what is new: each request says all that was said, in its order."""
    chain = ResponseChain()
    prewarm = chain.expand(create([], generate=False), 10)
    chain.answered(prewarm, "r0", [], 0)
    first = chain.expand(create([item("a"), item("b")], "r0"), 10)
    chain.answered(first, "r1", [item("c", "assistant")], 5)
    second = chain.expand(create([item("d")], "r1"), 10)

    assert (prewarm.document, prewarm.is_alone) == (create([], generate=False), True)
    assert (first.document, first.is_alone) == (create([item("a"), item("b")], "r0"), True)
    assert (second.is_alone, "type" in second.document) == (False, False)
    assert second.document["input"] == [item("a"), item("b"), item("c", "assistant"), item("d")]
    assert (prewarm.is_whole, first.is_whole, second.is_whole) == (True, True, True)
    assert list(second.document)[-1] == "previous_response_id"


def test_warming_up_is_no_answer() -> None:
    """Codex may warm up with its instructions: what follows still opens the conversation, until the first answer."""
    chain = ResponseChain()
    chain.answered(chain.expand(create([item("base", "developer")], generate=False), 1), "r0", [], 0)
    first = chain.expand(create([item("a")], "r0", store=False), 1)
    chain.answered(first, "r1", [item("b", "assistant")], 1)
    second = chain.expand(create([item("c")], "r1"), 1)

    assert first.document["input"] == [item("base", "developer"), item("a")]
    assert list(first.document) == ["model", "input", "store", "previous_response_id"]
    assert (first.is_opening, first.is_alone, second.is_opening) == (True, False, False)


def test_two_ways_from_one_answer() -> None:
    """An older answer may be gone on from again, as a retry or a fork does."""
    chain = ResponseChain()
    chain.answered(chain.expand(create([item("a")]), 1), "r1", [item("b", "assistant")], 1)
    chain.answered(chain.expand(create([item("c")], "r1"), 1), "r2", [item("d", "assistant")], 1)
    again = chain.expand(create("e", "r1"), 1)

    assert again.document["input"] == [item("a"), item("b", "assistant"), item("e")]


def test_an_unknown_past_is_told() -> None:
    """What goes on from an answer of another connection is what it says itself, and not whole; nor is what follows."""
    chain = ResponseChain()
    request = chain.expand(create([item("a")], "elsewhere"), 1)
    chain.answered(request, "r1", [], 1)

    assert (request.document["input"], request.is_whole) == ([item("a")], False)
    assert chain.expand(create([item("b")], "r1"), 1).is_whole is False


def test_input_without_a_name_goes_on_from_the_newest() -> None:
    """The older form of the protocol appends."""
    chain = ResponseChain()
    chain.answered(chain.expand(create([item("a")]), 1), "r1", [item("b", "assistant")], 1)
    request = chain.expand({"type": "response.append", "input": [item("c")]}, 1)

    assert request.document["input"] == [item("a"), item("b", "assistant"), item("c")]


def test_the_past_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old answers are forgotten, and a past that is too large is not kept."""
    monkeypatch.setattr(chain_module, "MAX_PAST_BYTES", 1000)
    chain = ResponseChain()
    for number in range(40):
        chain.answered(chain.expand(create([item("a")]), 10), f"r{number}", [], 1)
    chain.answered(chain.expand(create([item("a")]), 990), "large", [], 11)

    assert len(chain) == chain_module.MAX_PASTS
    assert chain.expand(create([], "r39"), 1).is_whole
    assert not chain.expand(create([], "r1"), 1).is_whole
    assert not chain.expand(create([], "large"), 1).is_whole


@pytest.mark.parametrize("value", [None, 7, {"a": 1}, "", [1, "x"]])
def test_odd_input_is_nobodys_fault(value: Any) -> None:
    """Whatever stands in a message, nothing is raised; the reader of requests judges it."""
    chain = ResponseChain()
    request = chain.expand(create(value, previous=None), 1)
    chain.answered(request, "r", [item("b", "assistant")], 1)

    assert json.loads(as_body(chain.expand(create(value, "r"), 1).document))["previous_response_id"] == "r"


def test_headers_are_those_of_the_message() -> None:
    """What a message says of itself stands in the place of what the upgrade said; other entries are no headers."""
    upgrade = ((b"User-Agent", b"codex"), (b"Thread-Id", b"old"), (b"x-codex-turn-metadata", b"old"))
    metadata = {"thread_id": "new", "X-Codex-Turn-Metadata": '{"cwd":"/wörk 💡"}', "turn_id": "t", "x-number": 7}
    fields = message_fields(upgrade, metadata)

    assert fields[:2] == ((b"User-Agent", b"codex"), (b"thread-id", b"new"))
    assert json.loads(fields[2][1]) == {"cwd": "/wörk 💡"}
    assert len(fields) == 3
    assert message_fields(upgrade, "none") is upgrade


def test_a_message_is_an_event() -> None:
    """Also one that was written over several lines."""
    text = json.dumps({"type": "response.created", "response": {}}, indent=1)
    (event,) = SSEDecoder().feed(as_sse(text.encode()))

    assert json.loads(event.data) == json.loads(text)

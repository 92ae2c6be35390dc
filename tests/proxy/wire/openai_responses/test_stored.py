"""Histories that the client leaves to the server."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore_proxy.wire.openai_responses import fold_response, message_digest, parse_request
from spanlore_proxy.wire.openai_responses.stored import StoredResponses
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import WireResponse
from support import recordings


def request(*said: str, **fields: Any) -> WireRequest:
    return parse_request(orjson.dumps({"input": [{"role": "user", "content": text} for text in said], **fields}))


def answer(response_id: str, text: str = "yes") -> WireResponse:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return WireResponse(response_id=response_id, raw_output={"role": "assistant", "content": [item]})


def test_a_recorded_pair_becomes_one_history() -> None:
    """The second request goes on from the first response, and says nothing of what was said before."""
    stored = StoredResponses()
    recording = recordings.of("openai_responses", "json_previous_response")
    first = parse_request(recordings.request_of("openai_responses", "json_previous_response"))
    response = fold_response(recording.body, recording.content_type, 200, False)
    stored.remember(first, response, 100)
    document = {"input": "And now?", "previous_response_id": response.response_id}
    whole = stored.whole(parse_request(orjson.dumps(document)))

    assert response.raw_output is not None
    assert [message_digest(one) for one in whole.raw_messages] == [
        *map(message_digest, first.raw_messages),
        message_digest(response.raw_output),
        message_digest({"role": "user", "content": "And now?"}),
    ]
    assert whole.raw_system == first.raw_system


def test_a_chain_goes_on() -> None:
    """Each response knows all that was said until it."""
    stored = StoredResponses()
    stored.remember(request("one", instructions="S"), answer("r1", "1"), 10)
    second = stored.whole(request("two", previous_response_id="r1"))
    stored.remember(second, answer("r2", "2"), 10)
    third = stored.whole(request("three", previous_response_id="r2"))

    assert len(third.raw_messages) == 5
    assert third.raw_system == [{"type": "input_text", "text": "S"}]


def test_what_is_there_already_is_not_told_twice() -> None:
    """A client may name the response and send the history as well."""
    stored = StoredResponses()
    stored.remember(request("one"), answer("r1"), 10)
    full = request("one", "two", previous_response_id="r1")

    assert stored.whole(full) is full


def test_what_nobody_saw_stays_as_it_came() -> None:
    """Unknown ids, answers that were not stored, failed or were forgotten."""
    stored = StoredResponses(max_bytes=100)
    stored.remember(request("one", store=False), answer("r1"), 10)
    stored.remember(request("one"), WireResponse(response_id="r2", is_complete=False), 10)
    stored.remember(request("big"), answer("r3"), 60)
    stored.remember(request("big"), answer("r4"), 60)

    for unknown in ("r0", "r1", "r2", "r3"):
        one = request("two", previous_response_id=unknown)
        assert stored.whole(one) is one
    assert len(stored) == 1

"""What a body is, it says itself."""

from __future__ import annotations

import pytest

from spanlore_proxy.wire.body import BodyReader, event_data
from spanlore_proxy.wire.sse import ServerSentEvent


@pytest.mark.parametrize("content_type", ["", "text/event-stream; charset=utf-8", "application/json"])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_is_told_by_its_first_bytes(content_type: str, size: int) -> None:
    """Whatever its Content-Type says, and in any chunks."""
    body = b': PROCESSING\n\ndata: {"a":1}\n\ndata: {"a":2}'
    reader = BodyReader(content_type)
    events = [event for i in range(0, len(body), size) for event in reader.feed(body[i : i + size])]

    assert reader.is_stream
    assert [event.data for event in events + reader.finish()] == ['{"a":1}', '{"a":2}']


@pytest.mark.parametrize("body", [b'\n \n {"error": {}}', b"<html>", b"[1]", b""])
def test_everything_else_is_a_document(body: bytes) -> None:
    """Also where the header promises a stream: errors are JSON, and keep-alive white space may stand before it."""
    reader = BodyReader("text/event-stream")
    for i in range(len(body)):
        assert reader.feed(body[i : i + 1]) == []

    assert not reader.is_stream
    assert (reader.finish(), reader.document) == ([], body)


def test_missing_brackets_are_forgiven_but_in_the_last_event() -> None:
    """A fixture of a real SDK leaves one out; where the stream ended inside an event, nothing is made of its half."""
    event = ServerSentEvent("message", '{"type": "x", "response": {"id": "r"}')

    assert event_data(event) == {"type": "x", "response": {"id": "r"}}
    assert event_data(event, is_last=True) is None
    assert event_data(ServerSentEvent("message", "no JSON")) is None
    assert event_data(ServerSentEvent("message", "[1]")) is None

"""Messages of a Bedrock event stream as events of the Messages API."""

from __future__ import annotations

import base64
import json
from typing import Any

from spanlore_proxy.wire.bedrock.event_stream import EventMessage
from spanlore_proxy.wire.bedrock.events import EventTranslation


def event(name: str, value: Any) -> EventMessage:
    return EventMessage({":event-type": name, ":message-type": "event"}, json.dumps(value).encode())


def test_an_event_in_base64() -> None:
    """A chunk of a Claude is the Messages API's event itself; padding is dropped."""
    inner = base64.b64encode(b'{"type": "ping"}').decode()

    assert EventTranslation().translate(event("chunk", {"bytes": inner, "p": "abc"})) == [{"type": "ping"}]


def test_a_stream_without_a_start() -> None:
    """The message begins once, whatever comes first."""
    translation = EventTranslation()
    delta = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}})

    assert [one["type"] for one in translation.translate(delta)] == ["message_start", "content_block_delta"]
    assert [one["type"] for one in translation.translate(delta)] == ["content_block_delta"]
    assert translation.translate(event("messageStart", {})) == []


def test_its_own_stop_reason_is_remembered() -> None:
    """The Messages API has another word for it."""
    translation = EventTranslation()
    (stop,) = translation.translate(event("messageStop", {"stopReason": "content_filtered"}))

    assert stop["delta"] == {"stop_reason": "refusal"}
    assert translation.stop_reason == "content_filtered"


def test_exceptions_and_surprises() -> None:
    """An exception is an error of its type; an unknown event keeps its name."""
    translation = EventTranslation()
    headers = {":message-type": "exception", ":exception-type": "modelTimeoutException"}
    (error,) = translation.translate(EventMessage(headers, b'{"message": "late"}'))

    assert error == {"type": "error", "error": {"type": "modelTimeoutException", "message": "late"}}
    assert translation.translate(event("surprise", {})) == [{"type": "bedrock:surprise"}]

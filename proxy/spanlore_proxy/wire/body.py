"""What a response body is, it says itself: a stream of events, or one JSON document.

A gateway may answer a streamed request with JSON, errors always are JSON, and a Content-Type may be wrong or missing.
"""

from __future__ import annotations

from typing import Any

from spanlore.genai import jsontext
from spanlore_proxy.wire.sse import ServerSentEvent, SSEDecoder


class BodyReader:
    """A response's bytes, in any chunks, as events or as one document. Linear in the bytes."""

    def __init__(self, content_type: str = "") -> None:
        self._is_event_stream = "event-stream" in content_type.lower()
        self._head = bytearray()
        self._decoder: SSEDecoder | None = None

    @property
    def is_stream(self) -> bool:
        """The body has turned out to be a stream of events."""
        return self._decoder is not None

    @property
    def document(self) -> bytes:
        """All of a body that is no stream."""
        return bytes(self._head)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that the chunk completed; none while the body is, or may still be, a document."""
        if self._decoder is not None:
            return self._decoder.feed(chunk)
        self._head += chunk
        if not self._is_sse():
            return []
        self._decoder = SSEDecoder()
        events = self._decoder.feed(bytes(self._head))
        self._head.clear()
        return events

    def finish(self) -> list[ServerSentEvent]:
        """The event that the end cut off; none or one."""
        return self._decoder.finish() if self._decoder is not None else []

    def _is_sse(self) -> bool:
        start = bytes(self._head[:64]).lstrip()[:6]
        if not start or start.startswith((b"{", b"[", b"<")):
            return False
        return self._is_event_stream or start in (b"event:", b"data: ") or start.startswith((b"data:", b": ", b"id:"))


def event_data(event: ServerSentEvent, *, is_last: bool = False) -> dict[str, Any] | None:
    """The event's data as a JSON object; None where it is none.

    An object whose closing brackets are missing is taken as far as it goes; but not where the stream ended within it
    (`is_last`), since half an event is not what was to be said.
    """
    try:
        data = jsontext.loads(event.data)
    except ValueError:
        data = jsontext.loads_partial(event.data) if event.data.startswith("{") and not is_last else None
    return data if isinstance(data, dict) else None

"""Server-sent events from bytes in any chunking (WHATWG HTML §9.2.6).

Lines end in LF, CRLF or CR, and a chunk may end anywhere, inside a CRLF or a character too. One departure from the
standard: an event that the end of the stream cut off is handed out by `finish`, since a cut stream is to give all it
has; the reader must expect its data to be incomplete.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event. `event` is 'message' and `id` '' where the stream does not say."""

    event: str
    data: str
    id: str = ""


class SSEDecoder:
    """Takes a stream's bytes as they come and gives its events. Linear in the bytes, whatever the chunks."""

    def __init__(self) -> None:
        self._pending = bytearray()
        """The line that has not ended yet."""
        self._is_first_line = True
        self._event = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that the chunk completed."""
        self._pending += chunk
        # Only the new bytes can hold a line end, but for a CR that was kept back last time.
        start = max(len(self._pending) - len(chunk) - 1, 0)
        end = max(self._pending.rfind(b"\n", start), self._pending.rfind(b"\r", start, len(self._pending) - 1)) + 1
        if not end:
            return []
        lines = bytes(self._pending[:end]).splitlines()
        del self._pending[:end]
        return [event for line in lines if (event := self._line(line)) is not None]

    def finish(self) -> list[ServerSentEvent]:
        """What was still open when the stream ended; none or one event."""
        lines = bytes(self._pending).splitlines()
        self._pending.clear()
        return [event for line in (*lines, b"") if (event := self._line(line)) is not None]

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")  # a comment has an empty name
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._event = text
        elif name == b"id" and "\0" not in text:
            self._id = text
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        if not self._data:
            self._event = ""
            return None
        event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._id)
        self._event = ""
        self._data.clear()
        return event

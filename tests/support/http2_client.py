"""HTTP/2 inside a tunnel, as Codex speaks it."""

from __future__ import annotations

import h2.config
import h2.connection
import h2.events

from support.capture_client import Connection
from support.capture_proxy import HOST


class Http2Client:
    """Speaks HTTP/2 inside a tunnel, as codex does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._state = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._state.initiate_connection()
        self.data: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def post(self, path: str, headers: tuple[str, ...], body: bytes) -> int:
        stream = self._state.get_next_available_stream_id()
        names = [(":method", "POST"), (":scheme", "https"), (":authority", HOST), (":path", path)]
        names += [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in headers)]
        self._state.send_headers(stream, names)
        self._state.send_data(stream, body, end_stream=True)
        self.data[stream] = b""
        self.flush()
        return stream

    def cancel(self, stream: int) -> None:
        self._state.reset_stream(stream, error_code=8)
        self.flush()

    def flush(self) -> None:
        self._connection.writer.write(self._state.data_to_send())

    async def receive(self) -> None:
        data = await self._connection.reader.read(65536)
        assert data, "the proxy closed the connection"
        for event in self._state.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.data[event.stream_id] += event.data
                self._state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self.ended.add(event.stream_id)
        self.flush()

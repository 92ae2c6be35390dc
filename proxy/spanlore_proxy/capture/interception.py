"""Which connections are opened, and whose fault it is when an exchange breaks.

Only LLM hosts are decrypted. Every other CONNECT becomes an opaque tunnel, whatever it carries, to any address and
port. mitmproxy with `connection_strategy=lazy` would answer such a CONNECT before it has a connection and wait for the
client's first bytes: a client that waits for the server's greeting (ssh, smtp) would hang, and a dead host would look
alive. So tunnels connect at once and answer 502 when they cannot, like any proxy; LLM hosts stay lazy, because an
override may send their requests elsewhere and the real host must then never be contacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Protocol

from mitmproxy import http
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.proxy import commands, events, layer, layers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode, HttpStream, SendHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseEndOfMessage,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy
from mitmproxy.utils import human

from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.hosts import is_llm_host

END: Final = "spanlore.end"
"""Key in a flow's metadata: the `End` of an exchange that broke."""

ORIGIN_FORM: Final = "spanlore.origin_form"
"""Key in a flow's metadata: the request is addressed to this proxy itself, as to any web server."""

TAP: Final = "spanlore.tap"
"""Key in a flow's metadata: the `Tap` of a connection that left HTTP."""

SWITCHING: Final = 101
"""Status of the answer after which a connection speaks another protocol."""

MAX_REMEMBERED: Final = 4096

PIECE_BYTES: Final = 256 * 1024
"""Of a request's body, given to TLS at once. OpenSSL keeps a buffer of the largest for as long as the connection is
open: whole, sixty requests of a megabyte leave 80 MB behind."""

type IsOpened = Callable[[str], bool]


class Tap(Protocol):
    """Stands beside a connection. Nothing of it raises."""

    def pass_on(self, data: bytes) -> bytes:
        """What is to be sent, now that the client has sent this."""

    def data(self, is_from_client: bool, data: bytes) -> None:
        """This came from one side, and has gone on."""

    def rest(self) -> bytes:
        """What was not passed on yet, when the client ends the connection."""

    def closed(self, is_by_client: bool) -> None:
        """One side has ended the connection."""


class Interception(NextLayer):
    """mitmproxy's own choice of layers, with our HTTP layers in the place of its."""

    name = "nextlayer"  # mitmproxy looks for its addon under this name

    def __init__(self, is_opened: IsOpened, on_tunnel: Callable[[str], None]) -> None:
        """`is_opened(host)` says whether a host is decrypted; `on_tunnel(host)` is told of each that is not."""
        self._is_opened = is_opened
        self._on_tunnel = on_tunnel

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        super().next_layer(nextlayer)
        chosen = nextlayer.layer
        if type(chosen) is HttpLayer:
            # A layer enters itself into its context's stack when it is made.
            chosen.context.layers.remove(chosen)
            nextlayer.layer = _HttpLayer(chosen.context, chosen.mode, self._is_opened, self._on_tunnel)


class _HttpLayer(HttpLayer):
    def __init__(self, context: Context, mode: HTTPMode, is_opened: IsOpened, on_tunnel: Callable[[str], None]) -> None:
        super().__init__(context, mode)
        self._is_opened = is_opened
        self._on_tunnel = on_tunnel

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        stream = _HttpStream(self.context.fork(), stream_id, self._is_opened, self._on_tunnel)
        self.streams[stream_id] = stream
        yield from self.event_to_child(stream, events.Start())


class _HttpStream(HttpStream):
    def __init__(self, context: Context, stream_id: int, is_opened: IsOpened, on_tunnel: Callable[[str], None]) -> None:
        super().__init__(context, stream_id)
        self._is_opened = is_opened
        self._on_tunnel = on_tunnel
        self._tunnel: layer.Layer | None = None
        self._opening: _Opening | None = None

    def state_wait_for_request_headers(self, event: RequestHeaders) -> layer.CommandGenerator[None]:
        """Marks a request whose target is a path: mitmproxy would send it wherever its Host header leads."""
        request = event.request
        if self.mode is HTTPMode.regular and not (request.host or request.is_http2 or request.method == "CONNECT"):
            flow = http.HTTPFlow(self.context.client, self.context.server)
            flow.metadata[ORIGIN_FORM] = True
            # mitmproxy's way to have a flow taken that was made before.
            event = replace(event, replay_flow=flow)
        yield from super().state_wait_for_request_headers(event)

    def state_consume_request_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Sends the body in pieces, and lets go of it once it has been sent: the answer may take minutes."""
        yield from _in_pieces(super().state_consume_request_body(event))
        if isinstance(event, RequestEndOfMessage):
            self.flow.request.data.content = None

    def handle_connect_regular(self) -> layer.CommandGenerator[None]:
        """An opaque tunnel for every host that is not opened."""
        host = self.flow.request.host
        if self._is_opened(host):
            yield from super().handle_connect_regular()  # type: ignore[no-untyped-call]  # mitmproxy does not annotate it
            return
        self._on_tunnel(host)
        if self.context.server.via is not None:
            yield from self._dig_through_outer()
            return
        error = yield commands.OpenConnection(self.context.server)
        if error:
            address = human.format_address(self.context.server.address)
            self.flow.response = http.Response.make(502, f"spanlore cannot connect to {address}: {error}")
        else:
            # `ignore`: nothing of it is kept, and no hook sees it.
            self.child_layer = self._tunnel = layers.TCPLayer(self.context, ignore=True)
        yield from self.handle_connect_finish()  # type: ignore[no-untyped-call]  # the same

    def _dig_through_outer(self) -> layer.CommandGenerator[None]:
        """As above, through another proxy (`beyond`), whose answer to a CONNECT of its own has to come first."""
        self.child_layer = self._opening = _Opening(self.context)
        stack = HttpUpstreamProxy.make(self.context, True) / self._opening
        self._tunnel = stack[0]
        self._handle_event = self.passthrough
        yield from self.passthrough(events.Start())

    def _opened(self, opening: _Opening) -> layer.CommandGenerator[None]:
        """The outer proxy has answered."""
        self._opening = None
        if opening.error:
            self._tunnel = None
            self._handle_event = super()._handle_event
            address = human.format_address(self.context.server.address)
            self.flow.response = http.Response.make(502, f"spanlore cannot connect to {address}: {opening.error}")
        yield from self.handle_connect_finish()  # type: ignore[no-untyped-call]  # mitmproxy does not annotate it
        if self._tunnel is not None:
            for early in opening.early:
                yield from self._tunnel.handle_event(early)

    def flow_done(self) -> layer.CommandGenerator[None]:
        """After 101 (WebSocket) the bytes go on as they are, and no hook waits for any of them. When one side ends the
        connection, however it does that, the other side is closed at once."""
        response = self.flow.response
        if response is None or response.status_code != SWITCHING:
            yield from super().flow_done()
            return
        self.flow.live = False
        self.child_layer = _SwitchedLayer(self.context, self.flow.metadata.pop(TAP, None))
        self._handle_event = self.passthrough
        yield from self.child_layer.handle_event(events.Start())
        # Last, as in mitmproxy: data may come at once, and the layer has to be there.
        yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)

    def passthrough(self, event: events.Event) -> layer.CommandGenerator[None]:
        """In a tunnel of ours bytes go straight through, and a half-close stays one (mitmproxy would close both ways,
        and what the server still has to say would be lost)."""
        if self._tunnel is None:
            yield from super().passthrough(event)
        elif isinstance(event, RequestData):
            yield from self._tunnel.handle_event(events.DataReceived(self.context.client, event.data))
        elif isinstance(event, RequestEndOfMessage):
            yield from self._tunnel.handle_event(events.ConnectionClosed(self.context.client))
        else:
            yield from self._tunnel.handle_event(event)
        if self._opening is not None and self._opening.error is not None:
            yield from self._opened(self._opening)

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """Notes whose fault it was: the message alone does not tell (both sides' HTTP/2 resets read the same)."""
        if isinstance(event, RequestProtocolError):
            end = End.CLIENT_GONE
        elif event.code is ErrorCode.CONNECT_FAILED:
            end = End.UPSTREAM_UNREACHABLE
        else:
            end = End.UPSTREAM_CLOSED
        self.flow.metadata.setdefault(END, end)
        yield from super().handle_protocol_error(event)


def _in_pieces(sending: layer.CommandGenerator[None]) -> layer.CommandGenerator[None]:
    """The same commands, a large body in several of them; nothing else is sent between two."""
    reply: Any = None
    while True:
        try:
            command = sending.send(reply)
        except StopIteration:
            return
        reply = None
        if not isinstance(command, SendHttp) or not isinstance(command.event, RequestData):
            reply = yield command
            continue
        stream_id, data = command.event.stream_id, command.event.data
        for start in range(0, len(data), PIECE_BYTES):
            # The slice of a whole body is the body itself.
            yield SendHttp(RequestData(stream_id, data[start : start + PIECE_BYTES]), command.connection)


class _SwitchedLayer(layers.TCPLayer):
    """A connection that left HTTP, with a tap beside it."""

    def __init__(self, context: Context, tap: Tap | None) -> None:
        super().__init__(context, ignore=True)
        self._tap = tap

    def relay_messages(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Passes it on, then tells the tap."""
        tap = self._tap
        if tap is None or not isinstance(event, events.ConnectionEvent):
            yield from super().relay_messages(event)
            return
        is_client = event.connection == self.context.client
        if isinstance(event, events.DataReceived):
            data = tap.pass_on(event.data) if is_client else event.data
            if data:
                yield commands.SendData(self.context.server if is_client else self.context.client, data)
            tap.data(is_client, event.data)
            return
        if is_client and (rest := tap.rest()):
            yield commands.SendData(self.context.server, rest)
        yield from super().relay_messages(event)
        tap.closed(is_client)


class _Opening(layer.Layer):
    """Opens the server's connection, which the layer above leads through another proxy; then a tunnel as any other."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.error: str | None = None
        """None until that is over; '' where it went well."""
        self.early: list[events.Event] = []
        """What came before the client was told that it is open."""
        self._is_told = False
        self._rest = layers.TCPLayer(context, ignore=True)

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if self.error is None:
            self.error = (yield commands.OpenConnection(self.context.server)) or ""
        elif self._is_told or isinstance(event, events.Start):
            self._is_told = True
            yield from self._rest.handle_event(event)
        else:
            self.early.append(event)


class OpenedHosts:
    """Which hosts are opened: LLM APIs known or named by the user, and those with an override."""

    def __init__(self, extra: Iterable[str], overridden: Iterable[str]) -> None:
        self._extra = tuple(extra)
        self._known = {host.lower(): True for host in overridden}
        self._remembered: dict[str, bool] = {}

    def __call__(self, host: str) -> bool:
        name = host.lower()
        if name in self._known:
            return True
        if name not in self._remembered:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[name] = is_llm_host(name, self._extra)
        return self._remembered[name]

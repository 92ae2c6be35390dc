"""The mitmproxy hooks: all that happens on the event loop while an agent waits.

Every hook is a border: an exception of ours ends in it, is counted with its reason, and the agent's own bytes go on.
Nothing here waits for the disk or the network but the look-up of an unknown process, which has a bound.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from mitmproxy import http, tcp
from mitmproxy.connection import Client
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from spanlore.settings import Settings
from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.base_urls import ADDRESS, Address, BaseUrls
from spanlore_proxy.capture.beyond import Beyond
from spanlore_proxy.capture.captured import MAX_DECODED_BYTES, Asked, Captured, RequestHead, request_exchange
from spanlore_proxy.capture.connections import keep_alive, lift_connection_limit
from spanlore_proxy.capture.counters import Counters, Samples
from spanlore_proxy.capture.interception import END, SWITCHING, TAP
from spanlore_proxy.capture.live import LiveExchange
from spanlore_proxy.capture.runs import parse_proxy_authorization
from spanlore_proxy.capture.upstreams import Upstream, redirect
from spanlore_proxy.capture.websocket import UPGRADE, SocketTap, Upgrade, Watcher, upgraded_endpoint
from spanlore_proxy.capture.workplaces import Workplaces
from spanlore_proxy.conversation.agent import Identity, identify
from spanlore_proxy.injection.facts import BYPASS_HEADER
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.wire.codecs import learn_request, read_request
from spanlore_proxy.wire.content import decode, encode
from spanlore_proxy.wire.dialect import Endpoint, Kind, recognise
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.history import Histories
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest

LIVE: Final = "spanlore.live"
"""Key in a flow's metadata: its LiveExchange."""
OURS: Final = frozenset({b"proxy-authorization", BYPASS_HEADER.encode()})
"""Request headers addressed to this proxy; they are not forwarded."""
MAX_PARSED_BYTES: Final = 16 * 1024**2
"""Of requests that are running: beyond that none is kept parsed while its answer is waited for, which takes up twice
its text. The recorder reads it again."""
MAX_LOGGED_FAULTS: Final = 100
"""Tracebacks in the log; later faults are only counted."""

_log = logging.getLogger(__name__)


class Preparer(Protocol):
    """What the addon needs of `injection.injector.Injector`."""

    def prepare(
        self,
        body: bytes,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: tuple[tuple[str, str], ...],
    ) -> Prepared: ...


class Sink(Protocol):
    """What the addon needs of `recorder.Recorder`. Nothing of it may wait."""

    def begin(self) -> None:
        """One more exchange is under way."""

    def hold(self, known: Captured) -> None:
        """What is known of it once the request has left."""

    def submit(self, captured: Captured) -> None:
        """It is over, and to be recorded."""

    def abandon(self, exchange_id: str) -> None:
        """It is over, and not to be recorded."""


class CaptureAddon:
    """One for the proxy's life; its methods are mitmproxy's hooks."""

    def __init__(
        self,
        *,
        is_opened: Callable[[str], bool],
        upstreams: Mapping[str, Upstream],
        base_urls: BaseUrls,
        beyond: Beyond,
        workplaces: Workplaces,
        injector: Preparer,
        sink: Sink,
        is_off: Callable[[Workplace], bool],
        settings: Settings,
        counts: Counters,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`is_opened(host)`: LLM API or not. `sink` takes what is over. `is_off(workplace)`: nothing is recorded."""
        self._is_opened = is_opened
        self._upstreams = upstreams
        self._base_urls = base_urls
        self._beyond = beyond
        self._workplaces = workplaces
        self._injector = injector
        self._sink = sink
        self._is_off = is_off
        self._records = settings.capture.mode != "off"
        self._injects = settings.injection.enabled
        self._is_passive = not self._records and not settings.injection.enabled
        self._counts = counts
        self._clock_ns = clock_ns
        self._live: dict[str, set[LiveExchange]] = defaultdict(set)
        self._arriving: set[LiveExchange] = set()
        self._histories = Histories()
        self._logged_faults = 0
        self.own_addresses: frozenset[tuple[str, int]] = frozenset()
        """Where this proxy listens: no request may be sent there."""
        self.idle = asyncio.Event()
        """Set while no exchange is running."""
        self.idle.set()
        self.overheads = Samples()
        """Nanoseconds between a request's arrival and its departure, spent by us."""

    @property
    def running(self) -> int:
        """Exchanges that are not over. Safe from any thread."""
        return sum(map(len, list(self._live.values())))

    def is_serving(self) -> bool:
        """Whether a request has begun to arrive and has not left yet. Safe from any thread."""
        return bool(self._arriving)

    # --- connections -------------------------------------------------------------------------------------------------

    def client_connected(self, client: Client) -> None:
        self._guarded("connect", lambda: lift_connection_limit(client.id))

    def http_connect(self, flow: http.HTTPFlow) -> None:
        self._guarded("connect", lambda: self._introduce(flow))
        self._guarded("connect", lambda: self._beyond.lead(flow, flow.request.data.host))

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        self._guarded("connect", lambda: self._beyond.authorize(flow))

    def server_connect(self, data: ServerConnectionHookData) -> None:
        address = data.server.address
        if address is None:
            return
        if (address[0], address[1]) in self.own_addresses:
            data.server.error = "the request leads back to this proxy; give it to the proxy with its real host"
        upstream = self._upstreams.get(address[0].lower())
        if upstream is not None and (upstream.host, upstream.port) != (address[0], address[1]):
            # A host with an override is never contacted itself, whatever a client speaks inside its tunnel.
            data.server.error = f"{address[0]} is sent to {upstream.origin}; only HTTP can be sent there"

    def server_connected(self, data: ServerConnectionHookData) -> None:
        self._guarded("connect", lambda: keep_alive(data.client.id, data.server))

    def client_disconnected(self, client: Client) -> None:
        for live in list(self._live.get(client.id, ())):
            self._finish(live, End.CLIENT_GONE)
        self._live.pop(client.id, None)
        self._guarded("connect", lambda: self._workplaces.forget(client.id))
        self._beyond.forget(client.id)

    def tcp_message(self, flow: tcp.TCPFlow) -> None:
        # Whatever mitmproxy takes for raw TCP it would keep, all of it.
        flow.messages.clear()

    # --- one exchange ------------------------------------------------------------------------------------------------

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        self._guarded("base_url", lambda: self._base_urls.take(flow))
        if flow.response is not None:
            return  # refused; mitmproxy reads the body, then answers
        self._guarded("requestheaders", lambda: self._begin(flow))
        self._guarded("requestheaders", lambda: self._send_on(flow.request))
        self._guarded("connect", lambda: self._beyond.lead(flow, flow.request.data.host))
        if LIVE not in flow.metadata:
            # A body of unknown length over HTTP/2 has to be whole before it can be framed for HTTP/1.1.
            flow.request.stream = not _is_unframed(flow.request)

    async def request(self, flow: http.HTTPFlow) -> None:
        self._guarded("request", lambda: _frame(flow.request))
        live = flow.metadata.get(LIVE)
        if live is None:
            await self._place_upgrade(flow.metadata.get(UPGRADE))
            return
        started_ns = time.perf_counter_ns()
        fields, body = flow.request.headers.fields, flow.request.raw_content
        try:
            await self._prepare(flow, live)
        except Exception as error:
            # The border to the agent's traffic: whatever was changed is put back.
            flow.request.headers.fields, flow.request.raw_content = fields, body
            live.forwarded_body, live.insertions, live.watched = live.sent_body, (), None
            live.injected = Injected(skipped=f"error:{type(error).__name__}")
            self._fault("request", error)
        self._arriving.discard(live)
        if self._records and live.is_wanted:
            asyncio.get_running_loop().call_soon(self._hold, live)  # once it has left
        if sum(len(other.sent_body) for lives in self._live.values() for other in lives) > MAX_PARSED_BYTES:
            live.asked = None
        live.overhead_ns = time.perf_counter_ns() - started_ns
        self.overheads.add(live.overhead_ns)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if response is None:
            return
        # Without this mitmproxy holds the whole answer back until it ends.
        response.stream = True
        live = flow.metadata.get(LIVE)
        if live is not None:
            try:
                response.stream = live.begin_response(
                    response.status_code,
                    response.headers.fields,
                    self._clock_ns,
                    lambda: self._finish(live, End.COMPLETE),
                )
            except Exception as error:
                # The border to the agent's traffic: it streams on, without a copy.
                self._fault("responseheaders", error)
        if response.status_code == SWITCHING:
            self._guarded("websocket", lambda: self._switch(flow, response))
        elif UPGRADE in flow.metadata:
            self._counts.add(counters.NOT_CAPTURED, "websocket_refused")

    def response(self, flow: http.HTTPFlow) -> None:
        # Of streamed answers the tap has told already; this is for answers without a body.
        self._over(flow, End.COMPLETE)

    def error(self, flow: http.HTTPFlow) -> None:
        # Without our mark: mitmproxy saw the client go while a hook was at work, or refused a message.
        self._over(flow, flow.metadata.get(END, End.CLIENT_GONE))

    # --- work --------------------------------------------------------------------------------------------------------

    def _introduce(self, flow: http.HTTPFlow) -> None:
        client = flow.client_conn
        address: Address | None = flow.metadata.get(ADDRESS)
        told = flow.request.headers.get("proxy-authorization", "")
        credentials = address.credentials if address is not None else parse_proxy_authorization(told)
        self._beyond.introduce(client.id, credentials)
        if address is not None or self._is_opened(flow.request.data.host):
            self._workplaces.introduce(client.id, credentials, client.peername[:2], client.sockname[:2])

    def _begin(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        host = request.data.host.lower()
        address: Address | None = flow.metadata.get(ADDRESS)
        if address is None and not self._is_opened(host):
            return
        # Known already where there was a CONNECT; plain http has its credentials in the request itself.
        self._guarded("connect", lambda: self._introduce(flow))
        endpoint = recognise(request.method, host, request.path)
        is_upgrade = endpoint is None and (endpoint := upgraded_endpoint(request)) is not None
        kind = "websocket" if is_upgrade else endpoint.kind.value if endpoint is not None else "unknown_endpoint"
        self._counts.add(counters.REQUESTS, kind)
        if endpoint is None or endpoint.kind is Kind.OTHER or self._is_passive:
            return
        upstream = self._upstreams.get(host)
        head = RequestHead(
            id=secrets.token_hex(8),
            method=request.method,
            scheme=request.scheme,
            host=host,
            port=request.port,
            path=request.path,
            fields=request.headers.fields,
            endpoint=endpoint,
            start_time_ns=self._clock_ns(),
            upstream=upstream.origin if upstream else "",
        )
        workplace = address.workplace if address is not None and address.workplace is not None else Workplace()
        if is_upgrade:
            flow.metadata[UPGRADE] = Upgrade(head, flow.client_conn.id, workplace)
            return
        live = flow.metadata[LIVE] = LiveExchange(head, flow.client_conn.id)
        live.workplace = workplace
        self._live[live.connection].add(live)
        self._arriving.add(live)
        self.idle.clear()
        self._sink.begin()

    def _send_on(self, request: http.Request) -> None:
        """What has to be changed in a request's head, whatever becomes of the rest."""
        _drop_ours(request)
        upstream = self._upstreams.get(request.data.host.lower())
        if upstream is not None:
            redirect(request, upstream)

    async def _prepare(self, flow: http.HTTPFlow, live: LiveExchange) -> None:
        live.take_body(flow.request.raw_content or b"")
        encoding = flow.request.headers.get("content-encoding", "")
        if encoding:
            decoded = decode(live.sent_body, encoding, MAX_DECODED_BYTES)
            live.plain_body = decoded.data
            if not decoded.is_complete:
                live.injected = Injected(skipped="undecodable")
                self._counts.add(counters.SKIPPED, "undecodable")
                return
        endpoint = live.head.endpoint
        exchange = request_exchange(live.head, live.plain_body)
        request = self._parsed(live.plain_body, endpoint)
        identity = identify(exchange, request, endpoint)
        live.asked = Asked(exchange, request, identity)
        if not live.workplace.run_id:
            live.workplace = await self._workplaces.of(flow.client_conn.id, identity.cwd_hint)
        live.is_wanted = not self._is_off(live.workplace)
        headers = exchange.request_headers
        prepared = self._with_memories(live.plain_body, endpoint, request, identity, live.workplace, headers)
        live.injected, live.watched = prepared.injected, prepared.watched
        if prepared.insertions:
            body = encode(prepared.body, encoding) if encoding else prepared.body
            _set_body(flow.request, body)
            live.forwarded_body, live.insertions = body, prepared.insertions
            self._counts.add(counters.INJECTED)
        elif prepared.injected.skipped:
            self._counts.add(counters.SKIPPED, prepared.injected.skipped)

    def _with_memories(
        self,
        body: bytes,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: tuple[tuple[str, str], ...],
    ) -> Prepared:
        prepared = self._injector.prepare(body, endpoint, request, identity, workplace, headers)
        if prepared.alarm:
            self._counts.add(counters.PREFIX_CHANGED, prepared.alarm)
        return prepared

    def _parsed(self, body: bytes, endpoint: Endpoint) -> WireRequest | None:
        try:
            request = read_request(body, endpoint, self._histories)
        except MalformedRequestError:
            return None
        # Once the request has left: only the next one has something of it.
        asyncio.get_running_loop().call_soon(self._learn, body, request)
        return request

    def _learn(self, body: bytes, request: WireRequest) -> None:
        self._guarded("learn", lambda: learn_request(body, request, self._histories))

    def _hold(self, live: LiveExchange) -> None:
        if not live.is_over:
            self._guarded("hold", lambda: self._sink.hold(live.so_far()))

    def _switch(self, flow: http.HTTPFlow, response: http.Response) -> None:
        """The connection leaves HTTP; its bytes pass as they are from here, with a tap where they can be read."""
        upgrade: Upgrade | None = flow.metadata.pop(UPGRADE, None)
        if upgrade is None or not self._records:
            self._counts.add(counters.NOT_CAPTURED, "websocket")
            return
        flow.metadata[TAP] = SocketTap(
            upgrade,
            response.headers.fields,
            Watcher(
                self._begun,
                self._finish,
                lambda error: self._fault("websocket", error),
                self._with_memories if self._injects else None,
            ),
            self._counts,
            self._clock_ns,
        )

    def _begun(self, live: LiveExchange) -> None:
        """A message on a WebSocket is a request; it has left already."""
        self._live[live.connection].add(live)
        self.idle.clear()
        self._sink.begin()
        live.placing = asyncio.get_running_loop().create_task(self._place(live))

    async def _place_upgrade(self, upgrade: Upgrade | None) -> None:
        try:
            if upgrade is not None and not upgrade.workplace.run_id:
                upgrade.workplace = await self._workplaces.of(upgrade.connection, "")
        except Exception as error:
            # The border to the agent's connection.
            self._fault("websocket", error)

    async def _place(self, live: LiveExchange) -> None:
        try:
            if not live.workplace.run_id:
                hint = live.asked.identity.cwd_hint if live.asked is not None else ""
                live.workplace = await self._workplaces.of(live.connection, hint)
            live.is_wanted = not self._is_off(live.workplace)
        except Exception as error:
            # The border of a task that nobody awaits.
            self._fault("websocket", error)

    def _over(self, flow: http.HTTPFlow, end: End) -> None:
        # Flows are cyclic and wait for the garbage collector; their bodies must not.
        live = flow.metadata.pop(LIVE, None)
        flow.request.raw_content = None
        if live is not None:
            self._finish(live, end)
            live.let_go()

    def _finish(self, live: LiveExchange, end: End, time_ns: int = 0) -> None:
        """Hands over what is over, once. Called from the tap as well, so nothing may leave it."""
        try:
            now_ns = time_ns or self._clock_ns()
            if live.placing is not None and not live.placing.done():
                live.placing.add_done_callback(lambda _: self._finish(live, end, now_ns))
                return
            captured = live.seal(end, now_ns)
            if captured is None:
                return
            self._live.get(live.connection, set()).discard(live)
            self._arriving.discard(live)
            if not self.running:
                self.idle.set()
            if self._records and live.is_wanted:
                self._sink.submit(captured)
                return
            self._sink.abandon(captured.head.id)
            self._counts.add(counters.NOT_CAPTURED, "off_repository" if self._records else "mode_off")
        except Exception as error:
            # The border to the agent's stream.
            self._counts.add(counters.LOST, f"error:{type(error).__name__}")
            self._fault("finish", error)

    def _guarded(self, where: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            # The border to the agent's connection.
            self._fault(where, error)

    def _fault(self, where: str, error: Exception) -> None:
        self._counts.add(counters.PASSTHROUGH, f"{where}:{type(error).__name__}")
        self._logged_faults += 1
        if self._logged_faults <= MAX_LOGGED_FAULTS:
            _log.error("%s: the agent's bytes go on untouched", where, exc_info=error)


def _drop_ours(request: http.Request) -> None:
    if any(name.lower() in OURS for name, _ in request.headers.fields):
        request.headers.fields = tuple(field for field in request.headers.fields if field[0].lower() not in OURS)


def _is_unframed(request: http.Request) -> bool:
    return bool(request.is_http2) and "content-length" not in request.headers


def _frame(request: http.Request) -> None:
    """HTTP/2 needs no Content-Length, HTTP/1.1 does, and mitmproxy adds none when it goes from one to the other."""
    if _is_unframed(request) and request.raw_content:
        request.headers.fields = (*request.headers.fields, (b"content-length", b"%d" % len(request.raw_content)))


def _set_body(request: http.Request, body: bytes) -> None:
    """The body and its Content-Length, which mitmproxy does not mend. Name, case and place of the header stay."""
    length = str(len(body)).encode()
    request.headers.fields = tuple(
        (name, length if name.lower() == b"content-length" else value) for name, value in request.headers.fields
    )
    request.raw_content = body

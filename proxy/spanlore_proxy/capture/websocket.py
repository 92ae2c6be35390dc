"""The Responses API over a WebSocket, as Codex speaks it: a tap beside an opaque stream.

After 101 both directions pass as bytes, each chunk before anybody looks into it; frames, masks, compression, pings and
ends are the two sides' own. What is read here is a copy: frames → messages → one exchange for each `response.create`,
from the message to its `response.completed` (`failed`, `incomplete`, `error`), handed over as the HTTP exchange it
would be (`wire.openai_responses.chain`). Whatever cannot be read ends the reading of that connection, counted, and
nothing else.

The one exception: where memories may be inserted, the client's messages are held until they are whole (`outgoing`).
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mitmproxy import http

from spanlore.genai import jsontext
from spanlore.genai.inference import Dialect
from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.captured import Asked, Fields, RequestHead, request_exchange
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.interception import SWITCHING
from spanlore_proxy.capture.live import LiveExchange
from spanlore_proxy.capture.outgoing import UNSAFE, Outgoing, Prepare, with_memories
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.wire.dialect import Endpoint, Kind, recognise
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.openai_responses.chain import (
    APPEND,
    CREATE,
    Expanded,
    ResponseChain,
    as_body,
    as_sse,
    message_fields,
)
from spanlore_proxy.wire.openai_responses.fold import ENDS
from spanlore_proxy.wire.openai_responses.request import read_document
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest
from spanlore_proxy.wire.websocket import BINARY, MessageReader, SocketMessage, WebSocketError, agreed

UPGRADE: Final = "spanlore.upgrade"
"""Key in a flow's metadata: the `Upgrade` that it asks for."""
MAX_WAITING: Final = 64
"""Requests of one connection that are not answered yet."""
_ERRORS: Final = frozenset({"error", "response.error"})
_BESIDE: Final = frozenset({"response.processed", "response.cancel"})
"""Client messages that ask for nothing."""
_SSE: Final = (b"content-type", b"text/event-stream")


@dataclass(slots=True)
class Upgrade:
    """A request to switch to WebSocket."""

    head: RequestHead
    connection: str
    """Names the client's connection."""
    workplace: Workplace
    """As far as it is known when the connection begins."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told of the exchanges of a connection."""

    begun: Callable[[LiveExchange], None]
    """An exchange has begun."""
    over: Callable[[LiveExchange, End], None]
    """It is over."""
    fault: Callable[[Exception], None]
    """A fault of ours, or bytes nobody can read."""
    prepare: Prepare | None
    """Inserts memories into a request; None where nothing is injected."""


@dataclass(slots=True)
class _Waiting:
    """A request whose answer is not whole."""

    live: LiveExchange
    event: dict[str, Any]
    """The message."""
    request: Expanded
    items: dict[int, Any] = field(default_factory=dict)
    """Output items, by their index."""


class SocketTap:
    """One connection. Its methods are called from the stream's own path, and never raise."""

    def __init__(
        self, upgrade: Upgrade, answer: Fields, watcher: Watcher, counts: Counters, clock_ns: Callable[[], int]
    ) -> None:
        """`answer` are the header lines of the 101.

        Raises:
            WebSocketError: An extension was agreed upon that cannot be read.
        """
        self._agreed = agreed(_value(answer, b"sec-websocket-extensions"))
        self._client = MessageReader(self._agreed.is_deflated)
        self._server = MessageReader(self._agreed.is_deflated)
        self._upgrade = upgrade
        self._answer = (*(one for one in answer if one[0].lower() != b"content-type"), _SSE)
        self._watcher = watcher
        self._counts = counts
        self._clock_ns = clock_ns
        self._chain = ResponseChain()
        self._waiting: deque[_Waiting] = deque()
        self._is_over = False
        self._outgoing = Outgoing(self._client, self._agreed, self._leaving) if watcher.prepare is not None else None
        self._has_read = False
        """`pass_on` has read the chunk that `data` will be told of."""

    def pass_on(self, data: bytes) -> bytes:
        """What of the client's bytes is to be sent now."""
        outgoing = self._outgoing
        if outgoing is None:
            return data
        self._has_read = True
        sent, fault = outgoing.take(data)
        if fault is not None:
            self._break(fault)
        if outgoing.is_over:
            self._outgoing = None
        return sent

    def data(self, is_from_client: bool, data: bytes) -> None:
        """These bytes came from one side, and have gone to the other."""
        has_read = is_from_client and self._has_read
        if is_from_client:
            self._has_read = False
        if self._is_over or has_read:
            return
        try:
            for message in (self._client if is_from_client else self._server).feed(data):
                if is_from_client:
                    self._asked(message)
                else:
                    self._answered(message)
        except Exception as error:
            # The border to the agent's stream: it goes on, unread from here.
            self._break(error)

    def rest(self) -> bytes:
        """The client ends the connection: what of its bytes was held."""
        return self._outgoing.rest() if self._outgoing is not None else b""

    def closed(self, is_by_client: bool) -> None:
        """One side ended the connection, with or without a word."""
        self._end(End.CLIENT_GONE if is_by_client else End.UPSTREAM_CLOSED)

    def _break(self, error: Exception) -> None:
        self._counts.add(counters.LOST, "websocket")
        self._watcher.fault(error)
        self._end(End.ERROR)

    def _end(self, end: End) -> None:
        self._is_over = True
        if self._outgoing is not None:
            self._outgoing.end()
        self._chain = ResponseChain()
        while self._waiting:
            self._watcher.over(self._waiting.popleft().live, end)

    def _leaving(self, message: SocketMessage, may_change: bool) -> bytes | None:
        """A message of the client's: what to send in its place, None for the same."""
        waiting = self._asked(message)
        if waiting is None:
            return None
        live, sent = waiting.live, None
        started_ns = time.perf_counter_ns()
        if may_change and waiting.request.is_whole and self._watcher.prepare is not None:
            sent = self._with_memories(message.data, waiting, self._watcher.prepare)
        else:
            live.injected = Injected(skipped=UNSAFE)
        live.overhead_ns = time.perf_counter_ns() - started_ns
        if live.insertions or live.injected.skipped:
            self._counts.add(*((counters.INJECTED,) if live.insertions else (counters.SKIPPED, live.injected.skipped)))
        return sent

    @staticmethod
    def _with_memories(message: bytes, waiting: _Waiting, prepare: Prepare) -> bytes | None:
        document = whole = waiting.request.document
        if waiting.request.is_opening:
            # It begins the conversation, whatever warmed the server up, and nothing stands in front of it there.
            document = {key: value for key, value in whole.items() if key != "previous_response_id"}
        items = waiting.event.get("input")
        items = items if isinstance(items, list) else []
        return with_memories(message, _read(document), whole, items, waiting.live, prepare)

    def _asked(self, message: SocketMessage) -> _Waiting | None:
        """A client's message; each `response.create` begins an exchange, which is given."""
        if message.opcode > BINARY or self._is_over:
            return None
        event = _event(message)
        type_ = event.get("type") if event is not None else None
        if event is None or type_ not in (CREATE, APPEND):
            if type_ not in _BESIDE:
                self._counts.add(counters.NOT_CAPTURED, "websocket_message")
            return None
        if len(self._waiting) >= MAX_WAITING:
            raise WebSocketError("too many requests without an answer")
        request = self._chain.expand(event, len(message.data))
        if not request.is_whole:
            self._counts.add(counters.DEGRADED, "websocket_chain")
        waiting = _Waiting(self._live(message.data, request), event, request)
        self._waiting.append(waiting)
        self._counts.add(counters.REQUESTS, "websocket_message")
        self._watcher.begun(waiting.live)
        return waiting

    def _live(self, sent: bytes, request: Expanded) -> LiveExchange:
        head = replace(
            self._upgrade.head,
            id=secrets.token_hex(8),
            fields=message_fields(self._upgrade.head.fields, request.document.get("client_metadata")),
            start_time_ns=self._clock_ns(),
        )
        live = LiveExchange(head, self._upgrade.connection)
        live.workplace = self._upgrade.workplace
        live.take_body(sent)
        if not request.is_alone:
            live.plain_body = as_body(request.document)
        exchange = request_exchange(head, live.plain_body)
        read = _read(request.document)
        live.asked = Asked(exchange, read, identify(exchange, read, head.endpoint))
        return live

    def _answered(self, message: SocketMessage) -> None:
        """A server's message; what comes while nothing is asked belongs to no exchange."""
        if message.opcode > BINARY or not self._waiting:
            return
        event = _event(message)
        type_ = event.get("type") if event is not None else None
        if event is None or not isinstance(type_, str):
            self._counts.add(counters.NOT_CAPTURED, "websocket_message")
            return
        waiting = self._waiting[0]
        live = waiting.live
        if live.tap is None:
            live.begin_response(SWITCHING, self._answer, self._clock_ns, lambda: None)
        if live.tap is not None:
            live.tap(as_sse(message.data))
        if type_ == "response.output_item.done":
            waiting.items[_index(event, len(waiting.items))] = event.get("item")
        elif type_ in ENDS or type_ in _ERRORS:
            self._waiting.popleft()
            self._remember(waiting, event)
            live.status_code = _status(event) or live.status_code
            self._watcher.over(live, End.COMPLETE)

    def _remember(self, waiting: _Waiting, event: dict[str, Any]) -> None:
        response = event.get("response")
        id_ = response.get("id") if isinstance(response, dict) else None
        if not isinstance(response, dict) or not isinstance(id_, str):
            return
        output = response.get("output")
        # ChatGPT's backend leaves the list empty.
        items = output if isinstance(output, list) and output else [waiting.items[key] for key in sorted(waiting.items)]
        size = waiting.live.tap.size_bytes if waiting.live.tap is not None else 0
        self._chain.answered(waiting.request, id_, [item for item in items if isinstance(item, dict)], size)


def upgraded_endpoint(request: http.Request) -> Endpoint | None:
    """The endpoint that a request to switch to WebSocket would speak to; None for every other request."""
    if request.method != "GET" or request.headers.get("upgrade", "").lower() != "websocket":
        return None
    endpoint = recognise("POST", request.data.host.lower(), request.path)
    is_read = endpoint is not None and endpoint.dialect is Dialect.OPENAI_RESPONSES and endpoint.kind is Kind.INFERENCE
    return endpoint if is_read else None


def _read(document: dict[str, Any]) -> WireRequest | None:
    try:
        return replace(read_document(document), is_streaming=True)
    except MalformedRequestError:
        return None


def _event(message: SocketMessage) -> dict[str, Any] | None:
    try:
        event = jsontext.loads(message.data)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _index(event: dict[str, Any], otherwise: int) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else otherwise


def _status(event: dict[str, Any]) -> int | None:
    """The HTTP status that an error would have had."""
    status = event.get("status", event.get("status_code"))
    return status if isinstance(status, int) and 100 <= status <= 599 else None


def _value(fields: Fields, name: bytes) -> str:
    return ", ".join(value.decode("latin-1") for key, value in fields if key.lower() == name)

"""A WebSocket client's messages on their way out: held until each is whole, since a memory may be put into it.

A message leaves as the very bytes it came in, unless something was inserted: then as one frame with a mask of its own.
Where the client compresses and keeps its context, its later messages refer to what it sent, which is no longer what the
server got. From the first insertion on such a connection's compressed messages are therefore compressed anew, each
by itself, which every server understands (RFC 7692 §7.1.1: a sender may always begin afresh).

What is inserted is decided over the whole request, as the same request over HTTP would say it: with the history that
the server holds. Only what falls into the message's own items is sent; the rest stands in that history already.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

import orjson

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.live import LiveExchange
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.rewrite import Insertion, weave
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.openai_responses import MESSAGES_KEY
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.websocket import CLOSE, Agreed, MessageReader, SocketMessage, client_frame

UNSAFE: Final = "websocket"
"""Why nothing is injected where the message's place in the whole request is not certain."""
_MIN_BITS: Final = 9
"""zlib writes no smaller window."""


class Prepare(Protocol):
    """`injection.injector.Injector.prepare`."""

    def __call__(
        self,
        body: bytes,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: tuple[tuple[str, str], ...],
    ) -> Prepared: ...


class Outgoing:
    """The client's bytes, message by message. Whatever happens, none of them is lost or comes twice."""

    def __init__(
        self, reader: MessageReader, agreed: Agreed, changed: Callable[[SocketMessage, bool], bytes | None]
    ) -> None:
        """`changed(message, may_change)` is told of every message, control frames too, and gives the text to send in
        its place, None for the same."""
        self._reader = reader
        self._agreed = agreed
        self._changed = changed
        self._held = bytearray()
        self._start = reader.taken
        """Place of the first held byte in the stream."""
        self._is_begun = False
        """The beginning of a message has gone on already."""
        self._is_anew = False
        """The server's idea of what was sent is no longer the client's."""
        self.is_over = False
        """Nothing is held any more."""

    def end(self) -> None:
        """The next bytes go on as they come."""
        self.is_over = True

    def rest(self) -> bytes:
        """What is still held, when the client ends the connection."""
        self.is_over = True
        rest = bytes(self._held)
        self._held.clear()
        return rest

    def take(self, data: bytes) -> tuple[bytes, Exception | None]:
        """(the bytes to send now, what went wrong with the reading); after a fault everything held goes on."""
        self._held += data
        sent = bytearray()
        fault: Exception | None = None
        try:
            for message in self._reader.feed(data):
                size = self._reader.taken - self._start
                sent += self._next(message, bytes(self._held[:size]))
                del self._held[:size]
                self._start += size
        except Exception as error:
            # The border to the agent's stream: what it sent goes on as it is.
            fault, self.is_over = error, True
        if self.is_over:
            sent += self._held
            self._held.clear()
        return bytes(sent), fault

    def _next(self, message: SocketMessage, raw: bytes) -> bytes:
        """What leaves for a message or control frame, which `raw` is, with the fragments held before it."""
        if self.is_over:
            self._changed(message, False)
            return raw
        if message.opcode >= CLOSE:
            return self._control(message, raw)
        is_begun, self._is_begun = self._is_begun, False
        text = self._changed(message, not is_begun)
        if text is not None and not is_begun:
            self._is_anew = self._is_anew or (message.is_compressed and self._agreed.client_keeps_context)
            return self._frame(message, text)
        return self._frame(message, message.data) if self._is_anew and (message.is_compressed or is_begun) else raw

    def _control(self, message: SocketMessage, raw: bytes) -> bytes:
        """A ping may stand between the fragments of a message. They go on with it, and the message stays as it is;
        where it has to be written anew, they wait, and the ping goes ahead."""
        self._changed(message, False)
        if not self._reader.is_within:
            return raw
        self._is_begun = True
        return client_frame(message.data, secrets.token_bytes(4), None, message.opcode) if self._is_anew else raw

    def _frame(self, message: SocketMessage, data: bytes) -> bytes:
        is_deflated = message.is_compressed and _MIN_BITS <= self._agreed.client_bits <= 15
        bits = self._agreed.client_bits if is_deflated else None
        return client_frame(data, secrets.token_bytes(4), bits, message.opcode)


def with_memories(
    message: bytes,
    request: WireRequest | None,
    document: Mapping[str, Any],
    items: list[Any],
    live: LiveExchange,
    prepare: Prepare,
) -> bytes | None:
    """The message with what memories say; None where nothing is inserted. Told in `live`.

    Args:
        message: what the client sent.
        request: the whole request, as memories are decided on.
        document: what `live.plain_body` says.
        items: the message's own input, the last of the whole request's.
    """
    asked = live.asked
    shift = _shift(message, document, items, live.plain_body)
    if asked is None or request is None or shift is None:
        live.injected = Injected(skipped=UNSAFE)
        return None
    start, offset = shift
    headers = asked.exchange.request_headers
    prepared = prepare(live.plain_body, live.head.endpoint, request, asked.identity, live.workplace, headers)
    live.watched = prepared.watched
    kept = tuple(one for one in prepared.insertions if one.offset >= start)
    live.injected = replace(prepared.injected, added_bytes=sum(len(one.data) for one in kept))
    if not kept:
        return None
    live.insertions = kept
    live.forwarded_body = weave(message, [Insertion(one.offset + offset, one.data) for one in kept])
    return live.forwarded_body


def _shift(message: bytes, document: Mapping[str, Any], items: list[Any], whole: bytes) -> tuple[int, int] | None:
    """(where the message's items begin in the whole body, what leads from there into the message); None where they
    are spelled in another way than the body, so that no place is certain."""
    if message is whole or message == whole:
        return 0, 0
    joined = orjson.dumps(items)[1:]
    tail = joined + _behind(document)
    at = message.find(joined)
    if len(joined) < 2 or not whole.endswith(tail) or at < 0 or message.find(joined, at + 1) >= 0:
        return None
    start = len(whole) - len(tail)
    return start, at - start


def _behind(document: Mapping[str, Any]) -> bytes:
    """The body's bytes behind its input."""
    names = list(document)
    rest = names[names.index(MESSAGES_KEY) + 1 :]
    return b"," + orjson.dumps({name: document[name] for name in rest})[1:] if rest else b"}"

"""The opening of a WebSocket: the client's messages are held until whole, and one of them may leave with a memory.

Only a request of a connection on which the model has said nothing yet gets one: what is inserted then stands in the
server's history, and every later message of the connection goes on from there. (A retry of that request gets the same
bytes again.) After it the client's bytes pass as they come; so no message but that one is ever written anew.

That one message leaves as one frame with a mask of its own. Where the client compresses and keeps its context, its
later messages refer to the last bytes it sent, up to a window of 32 KiB. They still find them when at least a window's
size of the message stands behind the insertion; where less does, nothing is inserted, reason `websocket`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

import orjson

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.live import LiveExchange
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.rewrite import Insertion
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.websocket import CLOSE, Agreed, MessageReader, SocketMessage, client_frame

UNSAFE: Final = "websocket"
"""Why nothing is injected where the client's compression would not survive it."""
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


class Opening:
    """The client's bytes while messages are held. Whatever happens, none of them is lost or comes twice."""

    def __init__(self, reader: MessageReader, opened: Callable[[SocketMessage, bytes | None], bytes | None]) -> None:
        """`opened(message, raw)` is told of every message, and gives the bytes to send in the place of `raw`, which
        the message was; where there is no `raw`, the message can't be replaced."""
        self._reader = reader
        self._opened = opened
        self._held = bytearray()
        self._start = reader.taken
        """Place of the first held byte in the stream."""
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
                raw = bytes(self._held[: self._reader.taken - self._start])
                if message.opcode >= CLOSE and self._reader.is_within:
                    self.is_over = True  # its bytes stand between those of a message
                replaced = self._opened(message, None if self.is_over else raw)
                sent += raw if self.is_over or replaced is None else replaced
                del self._held[: len(raw)]
                self._start += len(raw)
        except Exception as error:
            # The border to the agent's stream: what it sent goes on as it is.
            fault, self.is_over = error, True
        if self.is_over:
            sent += self._held
            self._held.clear()
        return bytes(sent), fault


def rewritten(
    message: SocketMessage,
    raw: bytes,
    agreed: Agreed,
    request: WireRequest | None,
    live: LiveExchange,
    prepare: Prepare,
) -> bytes:
    """The message with what memories say, as it is to leave; `raw` where nothing is inserted. Told in `live`.

    `request` is what the message alone says, as the beginning of a conversation.
    """
    asked = live.asked
    if asked is None or request is None or not _can_be_written(message, agreed, request):
        live.injected = Injected(skipped=UNSAFE)
        return raw
    prepared = prepare(
        message.data,
        live.head.endpoint,
        request,
        asked.identity,
        live.workplace,
        asked.exchange.request_headers,
    )
    live.injected = prepared.injected
    if not prepared.insertions:
        return raw
    if _needed_behind(message, agreed) > len(message.data) - prepared.insertions[-1].offset:
        live.injected = Injected(skipped=UNSAFE)
        return raw
    frame = client_frame(prepared.body, secrets.token_bytes(4), agreed.client_bits if message.is_compressed else None)
    live.forwarded_body, live.insertions = prepared.body, _in_whole(message, prepared.insertions, live)
    return frame


def _can_be_written(message: SocketMessage, agreed: Agreed, request: WireRequest) -> bool:
    """Asked before anything is decided, since what is decided is remembered as sent."""
    if message.is_compressed and not _MIN_BITS <= agreed.client_bits <= 15:
        return False
    needed = _needed_behind(message, agreed)
    if not needed or not request.raw_messages:
        return True
    # The block stands before the first message that is no system prompt.
    at = message.data.find(orjson.dumps(request.raw_messages[0]))
    return at >= 0 and len(message.data) - at >= needed


def _needed_behind(message: SocketMessage, agreed: Agreed) -> int:
    """Bytes that have to stay the same at the message's end."""
    return 1 << agreed.client_bits if message.is_compressed and agreed.client_keeps_context else 0


def _in_whole(message: SocketMessage, insertions: tuple[Insertion, ...], live: LiveExchange) -> tuple[Insertion, ...]:
    """The insertions in the body that is recorded, which begins with what warmed the connection up."""
    if not live.plain_body.endswith(message.data[insertions[0].offset :]):
        live.plain_body = message.data  # spelled in another way: then the message alone
    shift = len(live.plain_body) - len(message.data)
    return tuple(replace(one, offset=one.offset + shift) for one in insertions)

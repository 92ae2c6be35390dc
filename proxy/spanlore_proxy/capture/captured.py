"""A finished exchange as the event loop hands it over: raw bytes and times, and the request as the loop has read it.

Turning it into an `Exchange` (content decoding, credentials stripped) is the recorder's work, in its own thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.rewrite import Insertion, weave
from spanlore_proxy.injection.upstream import Watched
from spanlore_proxy.wire.content import decode
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.exchange import End, Exchange, Headers, strip_credentials, strip_query_credentials
from spanlore_proxy.wire.request import WireRequest

MAX_DECODED_BYTES: Final = 128 * 1024**2
"""Of one body, after content decoding; a bomb ends there."""

PARSED: Final = 2
"""Times the size of its body that a parsed request takes up, roughly: most of it is text."""

type Fields = tuple[tuple[bytes, bytes], ...]
"""Header lines as they stood on the wire."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Who asks what of whom."""

    id: str
    """16 hex digits, made here: names the exchange until its span id is known."""
    method: str
    scheme: str
    host: str
    """The API's real host, lower-case."""
    port: int
    path: str
    fields: Fields
    endpoint: Endpoint
    start_time_ns: int
    upstream: str = ""
    """Where it was really sent, `scheme://host:port`, when that is another place."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it was read when it arrived."""

    exchange: Exchange
    """As far as it was known then."""
    request: WireRequest | None
    """None when the body could not be parsed."""
    identity: Identity


@dataclass(frozen=True, slots=True)
class Captured:
    """One exchange that is over."""

    head: RequestHead
    sent_body: bytes
    """As the client sent it, content-encoded."""
    plain_body: bytes
    """The same content-decoded; the same object where there is no encoding."""
    forwarded_body: bytes
    """As it left, content-encoded; the same object as `sent_body` when nothing was inserted."""
    insertions: tuple[Insertion, ...]
    injected: Injected
    workplace: Workplace
    status_code: int | None
    response_fields: Fields
    tap: ResponseTap | None
    """None when no response head arrived."""
    end: End
    end_time_ns: int
    asked: Asked | None = None
    """None when the request never was whole, or could not be decoded."""
    watched: Watched | None = None
    """Set where the forwarded body is to be compared with the one before."""

    @property
    def size_bytes(self) -> int:
        """Memory it holds on to, roughly."""
        forwarded = 0 if self.forwarded_body is self.sent_body else len(self.forwarded_body)
        plain = 0 if self.plain_body is self.sent_body else len(self.plain_body)
        parsed = PARSED * len(self.plain_body) if self.asked and self.asked.request else 0
        return 2048 + len(self.sent_body) + plain + forwarded + parsed + (self.tap.size_bytes if self.tap else 0)

    @property
    def upstream_body(self) -> bytes:
        """The whole request as the provider has it, content-decoded: the very bytes that left; or, where these were
        encoded or were but a message of a WebSocket, the whole body with the insertions."""
        return self.forwarded_body if self.plain_body is self.sent_body else weave(self.plain_body, self.insertions)

    def exchange(self) -> Exchange:
        """The exchange, content-decoded and without credentials."""
        response_headers = plain_headers(self.response_fields)
        encoding = _header(response_headers, "content-encoding")
        body = self.tap.body() if self.tap else b""
        return replace(
            self.asked.exchange if self.asked else request_exchange(self.head, self.plain_body),
            response_headers=response_headers,
            response_body=decode(body, encoding, MAX_DECODED_BYTES).data if encoding else body,
            status_code=self.status_code,
            first_chunk_time_ns=self.tap.first_chunk_time_ns if self.tap else None,
            end_time_ns=self.end_time_ns,
            end=self.end,
        )


def request_exchange(head: RequestHead, plain_body: bytes) -> Exchange:
    """The exchange as far as it is known when the request has arrived."""
    return Exchange(
        id=head.id,
        method=head.method,
        scheme=head.scheme,
        host=head.host,
        port=head.port,
        path=strip_query_credentials(head.path),
        request_headers=plain_headers(head.fields),
        response_headers=(),
        request_body=plain_body,
        response_body=b"",
        status_code=None,
        start_time_ns=head.start_time_ns,
        first_chunk_time_ns=None,
        end_time_ns=head.start_time_ns,
        end=End.ERROR,
    )


def plain_headers(fields: Fields) -> Headers:
    """Header lines as text, names lower-case, credentials replaced."""
    return strip_credentials((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)


def _header(headers: Headers, name: str) -> str:
    return next((value for known, value in headers if known == name), "")

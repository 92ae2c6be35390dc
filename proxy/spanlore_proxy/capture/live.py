"""One exchange while it is going on: what the hooks learn of it, and the one moment at which it is over.

Several hooks may say that an exchange is over, in any order, and none of them is sure to come: the end of the stream,
`response`, `error`, the client's disconnection. `seal` answers the first of them and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.capture.captured import Asked, Captured, Fields, RequestHead
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.injection.rewrite import Insertion
from spanlore_proxy.injection.upstream import Watched
from spanlore_proxy.wire.exchange import End


class LiveExchange:
    """Held in the flow's metadata and by the addon until it is over; used on the event loop only."""

    __slots__ = (
        "_is_over",
        "asked",
        "connection",
        "forwarded_body",
        "head",
        "injected",
        "insertions",
        "is_wanted",
        "overhead_ns",
        "placing",
        "plain_body",
        "response_fields",
        "sent_body",
        "status_code",
        "tap",
        "watched",
        "workplace",
    )

    def __init__(self, head: RequestHead, connection: str) -> None:
        """`connection` names the client's connection."""
        self.head = head
        self.connection = connection
        self.sent_body = b""
        self.plain_body = b""
        self.forwarded_body = b""
        self.asked: Asked | None = None
        """The request, once it was read."""
        self.insertions: tuple[Insertion, ...] = ()
        self.injected = Injected()
        self.watched: Watched | None = None
        """Set where the forwarded body is compared with the one before."""
        self.workplace = Workplace()
        self.placing: asyncio.Task[None] | None = None
        """Finds the workplace while the exchange goes on already (WebSocket); it is not over before that."""
        self.overhead_ns = 0
        """Spent by us between the request's arrival and its departure."""
        self.is_wanted = True
        """False where nothing may be recorded."""
        self.status_code: int | None = None
        self.response_fields: Fields = ()
        self.tap: ResponseTap | None = None
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over

    def take_body(self, body: bytes) -> None:
        """The client's body, before anybody looked into it."""
        self.sent_body = self.plain_body = self.forwarded_body = body

    def begin_response(
        self, status_code: int, fields: Fields, clock_ns: Callable[[], int], on_end: Callable[[], None]
    ) -> ResponseTap:
        """The response's head is here; its body has to go through the tap."""
        self.status_code, self.response_fields = status_code, fields
        lengths = [value for name, value in fields if name.lower() == b"content-length"]
        length = int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else 0
        self.tap = ResponseTap(clock_ns, on_end, length)
        return self.tap

    def seal(self, end: End, now_ns: int) -> Captured | None:
        """The exchange is over: what the recorder needs, on the first call; None on every later one."""
        if self._is_over:
            return None
        self._is_over = True
        return self.so_far(end, now_ns)

    def so_far(self, end: End = End.ERROR, now_ns: int = 0) -> Captured:
        """What the recorder would get if the exchange ended now."""
        return Captured(
            head=self.head,
            sent_body=self.sent_body,
            plain_body=self.plain_body,
            forwarded_body=self.forwarded_body,
            insertions=self.insertions,
            injected=replace(self.injected, overhead_ns=self.overhead_ns),
            workplace=self.workplace,
            status_code=self.status_code,
            response_fields=self.response_fields,
            tap=self.tap,
            end=end,
            end_time_ns=now_ns,
            asked=self.asked,
            watched=self.watched,
        )

    def let_go(self) -> None:
        """Forgets the bodies, once the exchange is over."""
        self.sent_body = self.plain_body = self.forwarded_body = b""
        self.insertions, self.tap, self.asked = (), None, None

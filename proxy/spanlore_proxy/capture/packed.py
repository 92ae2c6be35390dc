"""An exchange that has to wait for the recorder, made small.

A request of 1 MB that waits holds on to four: as it came, as it left, and parsed, which is twice its text. What left is
what came and the insertions, the rest can be read again, and text compresses; so what waits behind a burst takes up a
fifteenth, and the bound on the queue is not reached by sixty agents that say a megabyte each at once. It is done in two
steps: `thin` takes no time and lets go of three of the four, `pack` compresses the fourth in a thread of its own, which
has its own backlog where the machine is busy.

Only what can be made again exactly is packed: bodies without a content encoding, which are most. WebSocket messages
refer to those before them and are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import zstandard

from spanlore_proxy.capture.captured import Asked, Captured, request_exchange
from spanlore_proxy.capture.tap import ResponseTap
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.rewrite import weave
from spanlore_proxy.wire.codecs import learn_request, read_request
from spanlore_proxy.wire.history import Histories
from spanlore_proxy.wire.request import MalformedRequestError

LEVEL: Final = 1
MIN_BYTES: Final = 16 * 1024
"""Of a request; a smaller one is not worth it."""
_SWITCHING: Final = 101


@dataclass(frozen=True, slots=True)
class Packed:
    """Stands for a `Captured` in the queue."""

    rest: Captured
    """The exchange without its bodies."""
    sent: bytes
    answer: ResponseTap | None
    is_compressed: bool
    """Both of them."""
    identity: Identity | None
    """None when the request was never read."""
    is_changed: bool
    """Something was inserted."""

    @property
    def size_bytes(self) -> int:
        """Memory it holds on to, roughly."""
        answered = self.answer.kept_bytes if self.answer is not None else 0
        return 2048 + len(self.sent) + answered + sum(len(insertion.data) for insertion in self.rest.insertions)


def thin(captured: Captured) -> Packed | Captured:
    """The exchange with one body instead of two, and not parsed; itself where it can't be made again from that."""
    body = captured.sent_body
    if len(body) < MIN_BYTES or captured.plain_body is not body or captured.status_code == _SWITCHING:
        return captured
    is_changed = captured.forwarded_body is not body
    if is_changed and not captured.insertions:
        return captured
    return Packed(
        rest=replace(captured, sent_body=b"", plain_body=b"", forwarded_body=b"", tap=None, asked=None),
        sent=body,
        answer=captured.tap,
        is_compressed=False,
        identity=captured.asked.identity if captured.asked is not None else None,
        is_changed=is_changed,
    )


def pack(item: Captured | Packed) -> Packed | Captured:
    """The exchange, thin or not, made small; itself where that is not possible. Safe from any thread."""
    thinned = item if isinstance(item, Packed) else thin(item)
    if not isinstance(thinned, Packed) or thinned.is_compressed:
        return thinned
    compress = zstandard.ZstdCompressor(level=LEVEL).compress
    tap = thinned.answer
    answer = tap.with_body(compress(tap.body())) if tap is not None else None
    return replace(thinned, sent=compress(thinned.sent), answer=answer, is_compressed=True)


def unpack(packed: Packed, histories: Histories | None = None) -> Captured:
    """The exchange as it was. With `histories`, which remember it, what an earlier body already said is not parsed
    again, and its messages are the same objects: that is what makes a backlog cheap."""
    body, rest, tap = packed.sent, packed.rest, packed.answer
    if packed.is_compressed:
        decompress = zstandard.ZstdDecompressor().decompress
        body = decompress(body)
        tap = tap.with_body(decompress(tap.body())) if tap is not None else None
    asked = None
    if packed.identity is not None:
        try:
            request = read_request(body, rest.head.endpoint, histories)
            if histories is not None:
                learn_request(body, request, histories)
        except MalformedRequestError:
            request = None
        asked = Asked(request_exchange(rest.head, body), request, packed.identity)
    return replace(
        rest,
        sent_body=body,
        plain_body=body,
        forwarded_body=weave(body, rest.insertions) if packed.is_changed else body,
        tap=tap,
        asked=asked,
    )

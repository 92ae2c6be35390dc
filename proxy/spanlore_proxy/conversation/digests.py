"""Digests of messages, each made once: a history that comes again as the very same objects need not be digested again.

`wire.history` gives the messages that a body shares with an earlier one as the same objects, and nobody changes them.
So an object that is known has the digest that it had. Equal is not enough: `1`, `1.0` and `true` are equal in Python.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Final

from spanlore_proxy.conversation.chain import DIGEST_BYTES

MAX_BYTES: Final = 5 * 1024**2
"""Of the bodies whose messages are remembered."""
MAX_COUNT: Final = 64

type Messages = Sequence[dict[str, Any]]


class Digests:
    """The chains of the requests seen last. Bounded by the size of their bodies, since it keeps their messages."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._chains: OrderedDict[int, tuple[Messages, bytes, int]] = OrderedDict()
        """By the identity of the first message, which lives as long as its entry."""

    def __len__(self) -> int:
        return len(self._chains)

    def chain(self, messages: Messages, digest: Callable[[dict[str, Any]], bytes], size_bytes: int) -> bytes:
        """The messages' digests, one after the other. `size_bytes`: of the body that they came in.

        One `digest` for all calls, or for all with the same first message.
        """
        if not messages:
            return b""
        key = id(messages[0])
        known, chain, _ = self._chains.get(key, ((), b"", 0))
        # Behind the first object that is another one everything is made anew.
        same = bytes(map(is_, known, messages)).find(0)
        count = min(len(known), len(messages)) if same < 0 else same
        chain = chain[: count * DIGEST_BYTES] + b"".join(map(digest, messages[count:]))
        self._keep(key, messages, chain, size_bytes)
        return chain

    def _keep(self, key: int, messages: Messages, chain: bytes, size_bytes: int) -> None:
        if key in self._chains:
            self._bytes -= self._chains.pop(key)[2]
        if size_bytes > self._max_bytes * 4 // 5:
            return
        self._chains[key] = messages, chain, size_bytes
        self._bytes += size_bytes
        while self._bytes > self._max_bytes or len(self._chains) > MAX_COUNT:
            _, (_, _, size) = self._chains.popitem(last=False)
            self._bytes -= size

"""What a provider that caches by itself would have said of a request: no breakpoints, longest common prefix.

Facts (OpenAI's documentation of prompt caching): prefixes of 1,024 tokens or more are cached without being asked for,
and matched in steps of 128 tokens; the order is tools, then messages as they stand. Life times and the routing of
requests to machines are not modelled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import orjson

from spanlore_proxy.demo.prompt_cache import BYTES_PER_TOKEN, CacheUsage

MIN_TOKENS: Final = 1024
STEP_TOKENS: Final = 128


class AutomaticCache:
    """The prefixes one server has seen so far."""

    def __init__(self) -> None:
        self._prefixes: set[bytes] = set()

    def account(self, document: dict[str, Any]) -> CacheUsage:
        """Usage of the request, whose prefixes are then known; nothing is written, as such a provider counts."""
        stream = b"".join(_pieces(document))
        total = len(stream) // BYTES_PER_TOKEN
        read, seen, state = 0, [], hashlib.blake2b(digest_size=16)
        is_known = True
        for end in range(STEP_TOKENS, total + 1, STEP_TOKENS):
            state.update(stream[(end - STEP_TOKENS) * BYTES_PER_TOKEN : end * BYTES_PER_TOKEN])
            digest = state.digest()
            is_known = is_known and digest in self._prefixes
            if is_known and end >= MIN_TOKENS:
                read = end
            seen.append(digest)
        self._prefixes.update(seen)
        return CacheUsage(total - read, read, 0)


def _pieces(document: dict[str, Any]) -> Iterator[bytes]:
    for tool in document.get("tools") or ():
        yield orjson.dumps(tool)
    for message in document.get("messages") or ():
        yield orjson.dumps(message)

"""Chains of message digests: where does a request's history meet what is already known?

A chain is the digests of a request's messages, `DIGEST_BYTES` each, in one bytes object, so that comparing a history of
450 messages is one memcmp. Agents send histories that mostly only grow, but also: the last message grown in place (text
added to a message that never got its answer), old tool results blanked in the middle, a summary in place of all, and a
new branch from an earlier message.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DIGEST_BYTES: Final = 16


class Fit(StrEnum):
    """How a request's history relates to a known chain."""

    REPEATS = "repeats"
    """The very same messages again."""
    CONTINUES = "continues"
    """All that the model has answered is there, unchanged; what follows is new."""
    REWRITTEN = "rewritten"
    """The newest known message is there, though something before it was changed."""
    DIVERGED = "diverged"
    """A common beginning, then another way than the known one."""
    UNRELATED = "unrelated"
    """No common beginning."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """A request laid beside a known chain."""

    fit: Fit
    new_from: int
    """Index of the first message of the request that is not known."""


def length(chain: bytes) -> int:
    """Number of messages."""
    return len(chain) // DIGEST_BYTES


def common_prefix(one: bytes, other: bytes) -> int:
    """How many messages from the first on are the same."""
    low, high = 0, min(length(one), length(other))
    if one[: high * DIGEST_BYTES] == other[: high * DIGEST_BYTES]:
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if one[: middle * DIGEST_BYTES] == other[: middle * DIGEST_BYTES]:
            low = middle
        else:
            high = middle
    return low


def chain_hash(chain: bytes, count: int | None = None) -> str:
    """32 hex digits for the first `count` messages (all by default): the same messages give the same hash."""
    data = chain if count is None else chain[: count * DIGEST_BYTES]
    return hashlib.blake2b(data, digest_size=16, person=b"spanlore-chain").hexdigest()


def align(known: bytes, echo: bytes, answered: int, request: bytes) -> Alignment:
    """Lays a request beside a conversation's chain.

    Args:
        known: the messages of the conversation's last request.
        echo: digest of the answer to it, as the client would send it back; b"" when there was none.
        answered: how many messages of `known` the model has answered (index after its last assistant message).
        request: the messages of the new request.
    """
    shared = common_prefix(known, request)
    if shared == length(known):
        if shared == length(request):
            return Alignment(Fit.REPEATS, shared)
        at = shared * DIGEST_BYTES
        has_echo = bool(echo) and request[at : at + DIGEST_BYTES] == echo
        return Alignment(Fit.CONTINUES, shared + has_echo)
    newest = _newest(known, echo, request)
    if newest > shared:
        return Alignment(Fit.REWRITTEN, newest)
    # Only what the model never saw, or answered in vain, was changed: the client put more text into its last message.
    if shared >= answered and (shared or not echo):
        return Alignment(Fit.CONTINUES, shared)
    return Alignment(Fit.DIVERGED if shared else Fit.UNRELATED, shared)


def _newest(known: bytes, echo: bytes, request: bytes) -> int:
    """Index after the newest known message in the request, 0 when it is not there.

    The answer alone is proof enough; a message of the client's ("continue") only together with the one before it.
    """
    if echo:
        at = _rfind(request, echo)
        if at >= 0:
            return at + 1
    if length(known) < 2:
        return 0
    pair = known[-2 * DIGEST_BYTES :]
    at = _rfind(request, pair)
    return at + 2 if at >= 0 else 0


def _rfind(chain: bytes, digests: bytes) -> int:
    """Index of the last message at which `digests` stand in the chain, or -1."""
    end = len(chain)
    while True:
        at = chain.rfind(digests, 0, end)
        if at < 0 or at % DIGEST_BYTES == 0:
            return at // DIGEST_BYTES if at >= 0 else -1
        end = at + len(digests) - 1

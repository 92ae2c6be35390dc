"""The Responses API over a WebSocket: each message made what the same request would be over HTTP.

A client sends its whole input once and then only what is new, naming the response that it goes on from
(`previous_response_id`); the server knows the rest. Here the connection's answers are remembered, so that every message
gets its whole input back, and everything that reads requests need not know of WebSockets. Likewise the headers: on a
WebSocket they only come with the upgrade, and what concerns one message stands in its `client_metadata`.

Source: platform.openai.com (WebSocket mode), and the traffic of Codex 0.171.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

import orjson

CREATE: Final = "response.create"
APPEND: Final = "response.append"
"""Older form: more input for the newest response, without naming it."""
MAX_PASTS: Final = 16
"""Answers of one connection that may still be gone on from."""
MAX_PAST_BYTES: Final = 64 * 1024**2
"""Of one conversation's past; beyond it is no longer remembered."""

type Fields = tuple[tuple[bytes, bytes], ...]

_NAMES: Final = {"session_id": b"session-id", "thread_id": b"thread-id"}
"""Entries of `client_metadata` whose header has another name."""

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Expanded:
    """A message's request with its whole input."""

    document: dict[str, Any]
    """As the body of an HTTP request would be. The items of the past are shared, not copied."""
    is_alone: bool
    """The message says all of it: nothing of the past was added, and the document is the message itself."""
    is_opening: bool
    """The model has not said anything in it yet."""
    is_whole: bool
    """False when it goes on from a response that is not known here."""
    size_bytes: int
    """Of its input, roughly."""


@dataclass(frozen=True, slots=True)
class _Past:
    items: tuple[Any, ...]
    size_bytes: int
    has_answer: bool
    """The model has said something in it. (Warming up a connection brings no answer, though it may bring input.)"""


class ResponseChain:
    """The answers of one connection. Used from one thread."""

    def __init__(self) -> None:
        self._pasts: OrderedDict[str, _Past] = OrderedDict()
        self._newest = ""

    def __len__(self) -> int:
        return len(self._pasts)

    def expand(self, message: dict[str, Any], size_bytes: int) -> Expanded:
        """The request that a `response.create` message is; `size_bytes` is the message's size."""
        previous = message.get("previous_response_id")
        if message.get("type") == APPEND and previous is None:
            previous = self._newest
        past = self._pasts.get(previous) if isinstance(previous, str) else None
        is_whole = previous is None or past is not None
        if past is None or not past.items:
            return Expanded(message, is_whole, is_whole, is_whole, size_bytes)
        whole = [*past.items, *_items(message.get("input"))]
        document = {key: whole if key == "input" else value for key, value in message.items() if key != "type"}
        if past.has_answer:
            # Last, so that the bodies of a conversation begin alike.
            document.pop("previous_response_id", None)
            document |= {"input": whole, "previous_response_id": previous}
        return Expanded(document, False, not past.has_answer, is_whole, past.size_bytes + size_bytes)

    def answered(self, request: Expanded, response_id: str, items: list[Any], size_bytes: int) -> None:
        """The request was answered with these items; `size_bytes` is their size."""
        size = request.size_bytes + size_bytes
        if not request.is_whole or size > MAX_PAST_BYTES:
            return
        has_answer = bool(items) or not request.is_opening
        self._pasts[response_id] = _Past((*_items(request.document.get("input")), *items), size, has_answer)
        self._newest = response_id
        if len(self._pasts) > MAX_PASTS:
            self._pasts.popitem(last=False)


def message_fields(upgrade: Fields, metadata: Any) -> Fields:
    """The headers that this message's HTTP request would have: the upgrade's, and those that its `client_metadata`
    names (`session_id`, `thread_id`, `x-…`) in the place of older ones."""
    if not isinstance(metadata, dict):
        return upgrade
    stated = {
        _NAMES.get(key) or _NOT_ASCII.sub("?", key.lower()).encode(): _NOT_ASCII.sub(_escaped, value).encode()
        for key, value in metadata.items()
        if isinstance(key, str) and isinstance(value, str) and (key in _NAMES or key.lower().startswith("x-"))
    }
    return (*(field for field in upgrade if field[0].lower() not in stated), *stated.items())


def as_sse(message: bytes) -> bytes:
    """A server's message as the event that it would be in an HTTP answer; it names its type itself."""
    return b"data: %s\n\n" % b"\ndata: ".join(message.splitlines())


def as_body(document: dict[str, Any]) -> bytes:
    """The document as the body of an HTTP request.

    Raises:
        TypeError: It holds what JSON cannot say.
    """
    return orjson.dumps(document)


def _escaped(character: re.Match[str]) -> str:
    """As Codex writes JSON into a header."""
    return json.dumps(character[0])[1:-1]


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value else []
    return value if isinstance(value, list) else []

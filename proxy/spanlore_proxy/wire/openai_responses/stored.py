"""Requests that send only what is new, made whole again: `previous_response_id`.

A client may leave its history to the server and send the newest items alone. Here what went before is remembered by the
id of the response, so that everything behind sees a history as in every other request. Where the beginning was not seen
(another proxy, a restart), the request stays as it came. (On a WebSocket `chain` does the same for one connection.)
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from spanlore.genai.inference import Dialect
from spanlore_proxy.wire.openai_responses.request import gather
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import WireResponse

MAX_RESPONSES: Final = 512
MAX_BYTES: Final = 16 * 1024**2
"""Of the bodies that are remembered; parsed they take up about five times as much."""


@dataclass(frozen=True, slots=True)
class _Past:
    """All that was said until a response, that included."""

    messages: list[dict[str, Any]]
    system: Any
    tools: list[Any]
    size_bytes: int
    """Of its own body; what it shares with earlier ones is theirs."""


class StoredResponses:
    """The responses seen last. Not for several threads at once."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pasts: OrderedDict[str, _Past] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pasts)

    def whole(self, request: WireRequest) -> WireRequest:
        """The request with the history that it leaves out; system prompt and tools of the past where it has none."""
        past = self._past(request)
        if past is None or _holds(request.raw_messages, past.messages):
            return request
        return replace(
            request,
            raw_messages=_joined(past.messages, request.raw_messages),
            raw_system=request.raw_system or past.system,
            raw_tools=request.raw_tools or past.tools,
        )

    def remember(self, request: WireRequest, response: WireResponse, size_bytes: int) -> None:
        """Keeps what was said until this response. `request`: made whole; `size_bytes`: of its body."""
        is_kept = request.dialect is Dialect.OPENAI_RESPONSES and _is_stored(request) and response.is_complete
        if not is_kept or response.response_id is None or response.error is not None or size_bytes > self._max_bytes:
            return
        said = [response.raw_output] if response.raw_output is not None and response.raw_output.get("content") else []
        past = _Past([*request.raw_messages, *said], request.raw_system, request.raw_tools, size_bytes)
        self._forget(response.response_id)
        self._pasts[response.response_id] = past
        self._bytes += past.size_bytes
        while self._bytes > self._max_bytes or len(self._pasts) > MAX_RESPONSES:
            self._forget(next(iter(self._pasts)))

    def _past(self, request: WireRequest) -> _Past | None:
        if request.dialect is not Dialect.OPENAI_RESPONSES:
            return None
        previous = request.document.get("previous_response_id")
        if not isinstance(previous, str) or previous not in self._pasts:
            return None
        self._pasts.move_to_end(previous)
        return self._pasts[previous]

    def _forget(self, response_id: str) -> None:
        past = self._pasts.pop(response_id, None)
        if past is not None:
            self._bytes -= past.size_bytes


def _is_stored(request: WireRequest) -> bool:
    """Whether a later request can refer to it."""
    return request.document.get("store") is not False


def _holds(messages: list[dict[str, Any]], past: list[dict[str, Any]]) -> bool:
    """Whether the history is there already. The past's last message may differ: clients drop parts of an answer."""
    count = max(len(past) - 1, 1)
    return bool(past) and messages[:count] == past[:count]


def _joined(past: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages one after the other; what the model made on both sides of the seam is one message."""
    if past and new and past[-1].get("role") == "assistant" and new[0].get("role") == "assistant":
        return [*past[:-1], *gather([*_items(past[-1]), *_items(new[0])]), *new[1:]]
    return [*past, *new]


def _items(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return content if isinstance(content, list) else []

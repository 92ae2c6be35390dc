"""Responses, JSON and SSE, whole or cut → WireResponse.

A pure fold: the same bytes give the same value however they were chunked, nothing raises, and what is not known is
counted. `response.completed`, `.incomplete` or `.failed` is the end: Codex cancels its stream right after it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import InferenceError, Usage
from spanlore_proxy.wire.body import BodyReader, event_data
from spanlore_proxy.wire.openai_chat.parts import string
from spanlore_proxy.wire.openai_errors import certain_part, read_error, without_answer, without_document
from spanlore_proxy.wire.openai_responses.answer import decode_answer
from spanlore_proxy.wire.openai_responses.assembly import DELTAS, ItemAssembly, implied_start
from spanlore_proxy.wire.response import MALFORMED_RESPONSE, WireResponse
from spanlore_proxy.wire.sse import ServerSentEvent

ENDS: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
_STATES: Final = frozenset({"response.created", "response.in_progress", "response.queued"})
_SAID_ELSEWHERE: Final = re.compile(
    r"response\.(?:\w+\.(?:in_progress|completed|failed|incomplete|searching|interpreting|generating|partial_image)"
    r"|\w+\.(?:added|done)|output_text\.annotation\.added|(?:output_)?audio(?:\.transcript)?\.(?:delta|done)|heartbeat"
    r"|metadata|shell_call_output_content\.(?:delta|done)|\w+\.\w+\.done|mcp_call\.arguments_done)"
)
"""Progress, and pieces of what `output_item.done` brings whole."""
_NO_ANSWER: Final = frozenset({"codex.rate_limits", "codex.response.metadata", "responsesapi.websocket_timing",
                               "keepalive", "ping"})  # fmt: skip


def fold_response(body: bytes, content_type: str, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a body as far as it arrived. `content_type` as the header says; `is_cut`: it may not be whole."""
    fold = ResponsesFold(content_type, status)
    fold.feed(body)
    return fold.finish(is_cut)


class ResponsesFold:
    """One response while it arrives. `feed` chunks of the decoded body, then `finish` once.

    Where events come in frames of their own (WebSocket), `take` each one instead, and `finish`.
    """

    def __init__(self, content_type: str = "", status: int | None = 200) -> None:
        self._status = status
        self._body = BodyReader(content_type)
        self._answer = _StreamedAnswer(status)
        self._has_taken = False

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        for event in self._body.feed(chunk):
            self._answer.take(event)

    def take(self, event: dict[str, Any]) -> bool:
        """Takes one parsed event; True when it was the last of its response."""
        self._has_taken = True
        self._answer.event(event, "message")
        return self._answer.is_over

    def finish(self, is_cut: bool = False) -> WireResponse:
        """The response. `is_cut`: the connection ended before the body did, or may have."""
        for event in self._body.finish():
            self._answer.take(event, is_last=True)
        if self._body.is_stream or self._has_taken:
            return self._answer.finish()
        return fold_json(self._body.document, self._status, is_cut)


class _StreamedAnswer:
    """What the events said so far."""

    def __init__(self, status: int | None) -> None:
        self._status = status
        self._response: dict[str, Any] = {}
        self._items: dict[int, ItemAssembly] = {}
        self._error: InferenceError | None = None
        self._unknown: list[str] = []
        self.is_over = False

    def take(self, event: ServerSentEvent, is_last: bool = False) -> None:
        """Takes one event. `is_last`: the stream ended within it, so its data may be half."""
        if event.data.strip() == "[DONE]":  # OpenRouter
            return
        data = event_data(event, is_last=is_last)
        if data is not None:
            self.event(data, event.event)
        elif not is_last:
            self._unknown.append(f"event:malformed {event.event}")

    def event(self, data: dict[str, Any], name: str) -> None:
        """Takes one event's data; its type is that of the SSE event where it has none of its own."""
        type_ = string(data.get("type")) or name
        response = data.get("response")
        if type_ in _STATES or type_ in ENDS:
            self._state(response if isinstance(response, dict) else {}, is_over=type_ in ENDS)
        elif type_ in DELTAS:
            self._item(data, implied_start(type_)).add(type_, data)
        elif type_ in ("response.output_item.added", "response.output_item.done"):
            self._take_item(data, is_whole=type_.endswith("done"))
        elif type_ in ("error", "response.error") or (type_ == "message" and data.get("error")):
            self._error = read_error(data, _status_of(data, self._status))
            self.is_over = True
        elif type_ not in _NO_ANSWER and not _SAID_ELSEWHERE.fullmatch(type_):
            self._unknown.append(f"event:{type_}")

    def _state(self, response: dict[str, Any], *, is_over: bool) -> None:
        known = self._response.get("id")
        if known and not is_over and response.get("id") not in (known, None):
            self._items.clear()  # a gateway failed over in the middle: only the new response counts
            self.is_over = False
        self._response = response or self._response
        self.is_over = self.is_over or is_over

    def _take_item(self, data: dict[str, Any], *, is_whole: bool) -> None:
        item = data.get("item")
        if not isinstance(item, dict):
            return
        known = self._item(data, item)
        if is_whole:
            known.finish(item)

    def _item(self, data: dict[str, Any], start: dict[str, Any]) -> ItemAssembly:
        index = data.get("output_index")
        position = index if isinstance(index, int) else len(self._items)
        return self._items.setdefault(position, ItemAssembly(start))

    def finish(self) -> WireResponse:
        """The response, as far as it came."""
        if not self._response and not self._items:
            return without_answer(self._error, self._status, self._error is not None, tuple(self._unknown))
        output = self._response.get("output")
        if not isinstance(output, list) or not output:
            output = [self._items[index].item() for index in sorted(self._items)]
        return decode_answer(
            {**self._response, "output": output}, self.is_over, error=self._error, unknown=self._unknown
        )


def fold_json(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a JSON body: a response, a compaction, a token count, or an error; or of a body that is none."""
    try:
        document = jsontext.loads(body)
    except ValueError:
        known = certain_part(body)
        if known is None or not isinstance(known.get("output"), list):
            return without_document(body, status, is_cut)
        return decode_answer(known, is_complete=False)
    if isinstance(document, dict) and (status or 0) < 400:
        if isinstance(document.get("output"), list):
            return decode_answer(document, is_complete=True)
        if document.get("object") == "response.input_tokens" and isinstance(count := document.get("input_tokens"), int):
            return WireResponse(usage=Usage(input_tokens=count))
    if isinstance(document, list) or (isinstance(document, dict) and _is_error(document, status)):
        return without_answer(read_error(document, status), status, is_complete=True)
    error = InferenceError(MALFORMED_RESPONSE, "neither a response nor an error", status)
    return without_answer(error, status, is_complete=True)


def _is_error(document: dict[str, Any], status: int | None) -> bool:
    return (
        (status or 0) >= 400 or bool(document.get("error")) or document.get("type") == "error" or "detail" in document
    )


def _status_of(data: dict[str, Any], status: int | None) -> int | None:
    """On a WebSocket an error event carries the HTTP status that the answer would have had."""
    stated = data.get("status", data.get("status_code"))
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else status

"""Bedrock responses, JSON and event streams, whole or cut → WireResponse.

What comes is put into the Messages API's words and folded as such, so a Claude that is reached through Bedrock reads
the same as one that is reached directly. Pure: equal bytes give equal values however they were chunked, nothing raises.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import orjson

from spanlore.genai import jsontext
from spanlore.genai.messages import Message
from spanlore.semconv import gen_ai
from spanlore_proxy.wire.anthropic import AnthropicFold
from spanlore_proxy.wire.anthropic import fold_response as fold_messages
from spanlore_proxy.wire.bedrock.converse import MALFORMED, STOP_REASONS, messages_message, messages_usage
from spanlore_proxy.wire.bedrock.event_stream import EventStreamDecoder
from spanlore_proxy.wire.bedrock.events import EventTranslation
from spanlore_proxy.wire.partial import certain_beginning
from spanlore_proxy.wire.response import WireResponse

_TEXTS: Final = ("generation", "completion", "outputText")
"""Where models with a shape of their own put their answer."""
_BROKEN: Final = "event:broken frame"


def fold_response(body: bytes, content_type: str, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a body as far as it arrived. `content_type` as the header says; `is_cut`: it may not be whole."""
    fold = BedrockFold(content_type, status)
    fold.feed(body)
    return fold.finish(is_cut)


class BedrockFold:
    """One response while it arrives. `feed` chunks of the decoded body, then `finish` once."""

    def __init__(self, content_type: str = "", status: int | None = 200) -> None:
        self._status = status
        self._decoder = EventStreamDecoder() if "amazon.eventstream" in content_type.lower() else None
        self._translation = EventTranslation()
        self._messages = AnthropicFold("text/event-stream", status)
        self._head = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        if self._decoder is None:
            self._head += chunk
            return
        for message in self._decoder.feed(chunk):
            for event in self._translation.translate(message):
                self._messages.feed(b"data: " + orjson.dumps(event, option=orjson.OPT_NON_STR_KEYS) + b"\n\n")

    def finish(self, is_cut: bool = False) -> WireResponse:
        """The response. `is_cut`: the connection ended before the body did, or may have."""
        if self._decoder is None:
            return fold_json(bytes(self._head), self._status, is_cut)
        response = self._messages.finish(is_cut or self._decoder.has_rest)
        if self._decoder.is_broken and not is_cut:
            response = dataclasses.replace(response, unknown_events=(*response.unknown_events, _BROKEN))
        return _with_own_reason(response, self._translation.stop_reason)


def fold_json(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a JSON body: a message in either shape, a token count, or an error."""
    try:
        document, is_whole = jsontext.loads(body), True
    except ValueError:
        document, is_whole = certain_beginning(body, frozenset({"toolUse", "input"})), False
    if not isinstance(document, dict) or (status or 0) >= 400 or "content" in document:
        return fold_messages(body, "application/json", status, is_cut)
    if "inputTokens" in document:
        document = {"input_tokens": document["inputTokens"]}
    elif "output" in document or "results" in document or any(name in document for name in _TEXTS):
        document = _as_message(document)
    reason = document.pop("own_stop_reason", "")
    data = orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)
    # A message without its last brace is one whose end is missing, and folds so.
    response = fold_messages(data if is_whole else data[:-1], "application/json", status, is_cut or not is_whole)
    return _with_own_reason(response, reason)


def _as_message(document: dict[str, Any]) -> dict[str, Any]:
    """A Converse answer, or that of a model with a shape of its own, as a message of the Messages API."""
    output = document.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    own = document.get("stopReason")
    own = own if isinstance(own, str) else ""
    if isinstance(message, dict):
        content = messages_message(message)["content"]
    else:
        results = document.get("results")
        first = results[0] if isinstance(results, list) and results else document
        texts = (first.get(name) for name in _TEXTS) if isinstance(first, dict) else ()
        content = [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
    reason = "end_turn" if own in MALFORMED else STOP_REASONS.get(own, own)
    return {
        "own_stop_reason": own,
        "type": "message",
        "role": "assistant",
        "stop_reason": reason or None,
        "usage": messages_usage(document.get("usage")) or _titan_usage(document),
        "content": content,
    }


def _titan_usage(document: dict[str, Any]) -> dict[str, Any]:
    results = document.get("results")
    first = results[0] if isinstance(results, list) and results else None
    return {
        "input_tokens": document.get("inputTextTokenCount"),
        "output_tokens": first.get("tokenCount") if isinstance(first, dict) else None,
    }


def _with_own_reason(response: WireResponse, reason: str) -> WireResponse:
    """The response with the provider's own word for why it stopped, where the Messages API has another or none."""
    if not reason or reason == response.stop_reason:
        return response
    if reason not in MALFORMED:
        return dataclasses.replace(response, stop_reason=reason)
    output = tuple(Message(message.role, message.parts, gen_ai.FINISH_ERROR) for message in response.output)
    return dataclasses.replace(response, stop_reason=reason, output=output, finish_reasons=(gen_ai.FINISH_ERROR,))

"""Messages responses, JSON and SSE, whole or cut → WireResponse.

A pure fold: the same bytes give the same value however they were chunked, nothing raises, and what is not known is
counted. What the body is, it says itself: a gateway may answer a streamed request with JSON, and errors always are.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import InferenceError
from spanlore.genai.messages import Message, Role
from spanlore.semconv import gen_ai
from spanlore_proxy.wire.anthropic.assembly import BlockAssembly, implied_start
from spanlore_proxy.wire.anthropic.blocks import decode_content, is_known_block
from spanlore_proxy.wire.anthropic.errors import STATUS_TYPES, make_error, read_error
from spanlore_proxy.wire.anthropic.usage import decode_usage, merge_usage
from spanlore_proxy.wire.body import BodyReader
from spanlore_proxy.wire.response import MALFORMED_RESPONSE, STREAM_CUT, WireResponse
from spanlore_proxy.wire.sse import ServerSentEvent

FINISH_REASONS: Final = {
    "end_turn": gen_ai.FINISH_STOP,
    "stop_sequence": gen_ai.FINISH_STOP,
    "pause_turn": gen_ai.FINISH_STOP,
    "compaction": gen_ai.FINISH_STOP,
    "max_tokens": gen_ai.FINISH_LENGTH,
    "model_context_window_exceeded": gen_ai.FINISH_LENGTH,
    "tool_use": gen_ai.FINISH_TOOL_CALL,
    "refusal": gen_ai.FINISH_CONTENT_FILTER,
}
"""stop_reason → the GenAI convention's finish reason. An unknown one is kept as it is, and counted."""


def fold_response(body: bytes, content_type: str, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a body as far as it arrived. `content_type` as the header says; `is_cut`: it may not be whole."""
    fold = AnthropicFold(content_type, status)
    fold.feed(body)
    return fold.finish(is_cut)


class AnthropicFold:
    """One response while it arrives. `feed` chunks of the decoded body, then `finish` once."""

    def __init__(self, content_type: str = "", status: int | None = 200) -> None:
        self._status = status
        self._body = BodyReader(content_type)
        self._message = _StreamedMessage(status)

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._take(self._body.feed(chunk))

    def finish(self, is_cut: bool = False) -> WireResponse:
        """The response. `is_cut`: the connection ended before the body did, or may have."""
        self._take(self._body.finish(), is_last=True)
        if self._body.is_stream:
            return self._message.finish(is_cut)
        return fold_json(self._body.document, self._status, is_cut)

    def _take(self, events: list[ServerSentEvent], is_last: bool = False) -> None:
        for event in events:
            self._message.take(event, is_last)


class _StreamedMessage:
    """What the events said so far."""

    def __init__(self, status: int | None) -> None:
        self._status = status
        self._start: dict[str, Any] | None = None
        self._blocks: list[BlockAssembly] = []
        self._by_index: dict[Any, BlockAssembly] = {}
        self._usage: dict[str, Any] = {}
        self._delta: dict[str, Any] = {}
        self._error: InferenceError | None = None
        self._is_stopped = False
        self._unknown: list[str] = []

    def take(self, event: ServerSentEvent, is_last: bool) -> None:
        """Takes one event. `is_last`: the stream ended within it, so its data may be half."""
        try:
            data = jsontext.loads(event.data)
        except ValueError:
            data = None
        if isinstance(data, dict):
            self._event(data, event.event)
        elif not is_last and event.data != "[DONE]":  # gateways that speak both dialects add OpenAI's end mark
            self._unknown.append(f"event:malformed {event.event}")

    def _event(self, data: dict[str, Any], name: str) -> None:
        type_ = data.get("type", name)
        match type_:
            case "content_block_delta":
                self._block_delta(data)
            case "content_block_start":
                self._block_start(data)
            case "message_start":
                self._message_start(data)
            case "message_delta":
                self._message_delta(data)
            case "message_stop":
                self._is_stopped = True
            case "error":
                self._error = read_error(data, self._status)
            case "ping" | "content_block_stop":
                pass
            case _:
                self._unknown.append(f"event:{type_}")

    def _message_start(self, data: dict[str, Any]) -> None:
        message = data.get("message")
        message = message if isinstance(message, dict) else {}
        if self._start is not None and self._start.get("id") == message.get("id"):
            return  # the same start, sent twice
        # A gateway that fails over in the middle of a stream begins a new message: only that one counts.
        self._start = message
        self._blocks.clear()
        self._by_index.clear()
        self._delta = {}
        self._is_stopped = False
        self._usage = merge_usage({}, message.get("usage"))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            self._begin(len(self._blocks), block)

    def _message_delta(self, data: dict[str, Any]) -> None:
        delta = data.get("delta")
        if isinstance(delta, dict):
            self._delta.update(delta)
        self._usage = merge_usage(self._usage, data.get("usage"))

    def _block_start(self, data: dict[str, Any]) -> None:
        block = data.get("content_block")
        self._begin(data.get("index"), block if isinstance(block, dict) else {"type": "missing"})

    def _block_delta(self, data: dict[str, Any]) -> None:
        delta = data.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        index = data.get("index")
        block = self._by_index.get(index) if isinstance(index, int) else None
        if block is None:
            block = self._begin(index, implied_start(delta))
        if not block.add(delta):
            self._unknown.append(f"delta:{delta.get('type')}")

    def _begin(self, index: Any, start: dict[str, Any]) -> BlockAssembly:
        block = BlockAssembly(start)
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        return block

    def finish(self, is_cut: bool) -> WireResponse:
        """The response, as far as it came."""
        stop_reason = self._delta.get("stop_reason")
        # A gateway may leave out message_stop; the reason together with an orderly end is as good.
        is_complete = self._is_stopped or self._error is not None or (bool(stop_reason) and not is_cut)
        if self._start is None and not self._blocks:
            return _without_message(self._error, self._status, is_complete, tuple(self._unknown))
        raw = {
            "role": "assistant",
            **(self._start or {}),
            **self._delta,
            "content": [block.block() for block in self._blocks],
            "usage": self._usage,
        }
        return decode_answer(raw, is_complete, error=self._error, unknown=self._unknown)


def fold_json(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a JSON body: a message, a token count, or an error; or of a body that is no JSON at all."""
    try:
        document = jsontext.loads(body)
    except ValueError:
        return _fold_broken(body, status, is_cut)
    if not isinstance(document, dict):
        return _without_message(None, status, False, (), text=body)
    return _fold_document(document, status, is_complete=True)


def _fold_broken(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    document = jsontext.loads_partial(body) if body.lstrip().startswith(b"{") else None
    if isinstance(document, dict) and (certain := _certain(document)):
        return _fold_document(certain, status, is_complete=False)
    # A gateway's HTML page with an error status is all that will come; anything else was cut.
    is_complete = not is_cut and status is not None and status >= 400
    return _without_message(None, status, is_complete, (), text=b"" if is_cut else body)


def _certain(document: dict[str, Any]) -> dict[str, Any]:
    """The beginning of a document without what the cut may have left half: its last value, its last block."""
    last = next(reversed(document), "")
    if not isinstance(document.get(last), dict | list):
        return {key: value for key, value in document.items() if key != last}
    content = document.get("content")
    if last != "content" or not isinstance(content, list):
        return document
    block = content[-1] if content else None
    is_certain = isinstance(block, dict) and (
        block.get("type") in ("text", "thinking") or (block.get("type") == "tool_use" and "input" in block)
    )
    return document if is_certain else {**document, "content": content[:-1]}


def _fold_document(document: dict[str, Any], status: int | None, *, is_complete: bool) -> WireResponse:
    if not is_complete and "content" not in document:
        return _without_message(None, status, False, ())
    if document.get("type") == "error" or "error" in document or (status or 0) >= 400:
        return WireResponse(error=read_error(document, status), is_complete=is_complete, finish_reasons=("error",))
    if "input_tokens" in document and "content" not in document:
        return WireResponse(usage=decode_usage(document), is_complete=is_complete)
    if is_complete and document.get("type") != "message" and not isinstance(document.get("content"), list):
        error = InferenceError(MALFORMED_RESPONSE, "neither a message nor an error", status)
        return WireResponse(error=error, is_complete=True, finish_reasons=("error",))
    return decode_answer({"role": "assistant", **document}, is_complete)


def decode_answer(
    raw: dict[str, Any],
    is_complete: bool,
    *,
    error: InferenceError | None = None,
    unknown: list[str] | None = None,
) -> WireResponse:
    """The response that a message in the provider's own shape is."""
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    usage = raw.get("usage")
    stop_reason = raw.get("stop_reason")
    stop_reason = stop_reason if isinstance(stop_reason, str) and stop_reason else None
    if error is None and not is_complete:
        error = InferenceError(STREAM_CUT, "the response ended before its end", None)
    reason = _finish_reason(stop_reason, error)
    return WireResponse(
        output=(Message(Role.ASSISTANT, decode_content(blocks), reason),),
        finish_reasons=(reason,) if reason else (),
        usage=decode_usage(usage if isinstance(usage, dict) else {}),
        response_id=_string(raw.get("id")),
        response_model=_string(raw.get("model")),
        error=error,
        is_complete=is_complete,
        unknown_events=(*(unknown or ()), *_unknown_words(blocks, stop_reason)),
        raw_output={"role": "assistant", "content": blocks},
        stop_reason=stop_reason,
    )


def _without_message(
    error: InferenceError | None,
    status: int | None,
    is_complete: bool,
    unknown: tuple[str, ...],
    text: bytes = b"",
) -> WireResponse:
    if error is None:
        error = _reason_without_message(status, is_complete, text)
    return WireResponse(error=error, is_complete=is_complete, unknown_events=unknown, finish_reasons=("error",))


def _reason_without_message(status: int | None, is_complete: bool, text: bytes) -> InferenceError:
    if status is None:
        return InferenceError("connection", "no response", None)
    if status >= 400:
        return make_error(STATUS_TYPES.get(status), text.decode("utf-8", "replace"), status)
    if text or is_complete:
        return InferenceError(MALFORMED_RESPONSE, "neither a message nor an error", None)
    return InferenceError(STREAM_CUT, "the response ended before its first event", None)


def _finish_reason(stop_reason: str | None, error: InferenceError | None) -> str | None:
    if stop_reason is not None:
        return FINISH_REASONS.get(stop_reason, stop_reason)
    return gen_ai.FINISH_ERROR if error is not None else None


def _unknown_words(blocks: list[Any], stop_reason: str | None) -> list[str]:
    types = [block.get("type") if isinstance(block, dict) else None for block in blocks]
    unknown = [f"block:{type_}" for type_ in types if not is_known_block(type_)]
    if stop_reason is not None and stop_reason not in FINISH_REASONS:
        unknown.append(f"stop_reason:{stop_reason}")
    return unknown


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

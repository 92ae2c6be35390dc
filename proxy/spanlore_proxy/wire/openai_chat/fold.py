"""Chat Completions responses, JSON and SSE, whole or cut → WireResponse.

A pure fold: the same bytes give the same value however they were chunked, nothing raises, and what is not known is
counted. The end of a stream is `[DONE]`; servers that send none end with a finish reason for every choice.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import InferenceError
from spanlore.genai.messages import Message, Role
from spanlore.semconv import gen_ai
from spanlore_proxy.wire.body import BodyReader, event_data
from spanlore_proxy.wire.openai_chat.assembly import ChoiceAssembly
from spanlore_proxy.wire.openai_chat.parts import KNOWN_PARTS, decode_message, string
from spanlore_proxy.wire.openai_errors import certain_part, cut_error, read_error, without_answer, without_document
from spanlore_proxy.wire.openai_usage import decode_usage
from spanlore_proxy.wire.response import MALFORMED_RESPONSE, WireResponse
from spanlore_proxy.wire.sse import ServerSentEvent

FINISH_REASONS: Final = {
    "stop": gen_ai.FINISH_STOP,
    "eos": gen_ai.FINISH_STOP,
    "end_turn": gen_ai.FINISH_STOP,
    "stop_sequence": gen_ai.FINISH_STOP,
    "length": gen_ai.FINISH_LENGTH,
    "max_tokens": gen_ai.FINISH_LENGTH,
    "model_length": gen_ai.FINISH_LENGTH,
    "model_context_window_exceeded": gen_ai.FINISH_LENGTH,
    "tool_calls": gen_ai.FINISH_TOOL_CALL,
    "tool_use": gen_ai.FINISH_TOOL_CALL,
    "function_call": gen_ai.FINISH_TOOL_CALL,
    "content_filter": gen_ai.FINISH_CONTENT_FILTER,
    "refusal": gen_ai.FINISH_CONTENT_FILTER,
    "sensitive": gen_ai.FINISH_CONTENT_FILTER,
    "error": gen_ai.FINISH_ERROR,
    "network_error": gen_ai.FINISH_ERROR,
    "insufficient_system_resource": gen_ai.FINISH_ERROR,
}
"""finish_reason → the GenAI convention's. Together says eos; Mistral model_length and error; DeepSeek
insufficient_system_resource; z.ai sensitive and network_error. An unknown one is kept as it is, and counted."""

DONE: Final = "[DONE]"


def fold_response(body: bytes, content_type: str, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a body as far as it arrived. `content_type` as the header says; `is_cut`: it may not be whole."""
    fold = ChatFold(content_type, status)
    fold.feed(body)
    return fold.finish(is_cut)


class ChatFold:
    """One response while it arrives. `feed` chunks of the decoded body, then `finish` once."""

    def __init__(self, content_type: str = "", status: int | None = 200) -> None:
        self._status = status
        self._body = BodyReader(content_type)
        self._answer = _StreamedAnswer(status)

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        for event in self._body.feed(chunk):
            self._answer.take(event)

    def finish(self, is_cut: bool = False) -> WireResponse:
        """The response. `is_cut`: the connection ended before the body did, or may have."""
        for event in self._body.finish():
            self._answer.take(event, is_last=True)
        if self._body.is_stream:
            return self._answer.finish(is_cut)
        return fold_json(self._body.document, self._status, is_cut)


class _StreamedAnswer:
    """What the chunks said so far."""

    def __init__(self, status: int | None) -> None:
        self._status = status
        self._head: dict[str, Any] = {}
        self._choices: dict[int, ChoiceAssembly] = {}
        self._usage: Any = None
        self._error: InferenceError | None = None
        self._is_done = False
        self._unknown: list[str] = []

    def take(self, event: ServerSentEvent, is_last: bool = False) -> None:
        """Takes one event. `is_last`: the stream ended within it, so its data may be half."""
        if event.data.strip() == DONE:
            self._is_done = True
            return
        data = event_data(event, is_last=is_last)
        if data is not None:
            self._chunk(data, event.event)
        elif not is_last:
            self._unknown.append(f"event:malformed {event.event}")

    def _chunk(self, data: dict[str, Any], name: str) -> None:
        if data.get("error") or name == "error":
            self._error = self._error or read_error(data, self._status)
        elif "choices" not in data and "usage" not in data:
            self._unknown.append(f"event:{data.get('object') or name}")
        for key in ("id", "model"):
            if isinstance(value := data.get(key), str) and value:
                self._head.setdefault(key, value)
        self._take_usage(data)
        choices = data.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict):
                self._choice(choice, position)

    def _take_usage(self, data: dict[str, Any]) -> None:
        """The last report counts: some servers send a running one with every chunk."""
        groq = data.get("x_groq")
        for usage in (groq.get("usage") if isinstance(groq, dict) else None, data.get("usage")):
            if isinstance(usage, dict) and usage:
                self._usage = usage

    def _choice(self, choice: dict[str, Any], position: int) -> None:
        index = choice.get("index")
        known = self._choices.setdefault(index if isinstance(index, int) else position, ChoiceAssembly())
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._unknown += [f"delta:{key}" for key in known.add(delta)]
        if reason := string(choice.get("finish_reason")):
            known.finish_reason = reason
        if isinstance(error := choice.get("error"), dict):  # OpenRouter
            self._error = self._error or read_error({"error": error}, self._status)

    def finish(self, is_cut: bool) -> WireResponse:
        """The response, as far as it came."""
        choices = [self._choices[index] for index in sorted(self._choices)]
        has_reasons = bool(choices) and all(choice.finish_reason for choice in choices)
        is_complete = self._is_done or self._error is not None or (has_reasons and not is_cut)
        if not choices and not self._head:
            return without_answer(self._error, self._status, is_complete, tuple(self._unknown))
        document = {
            **self._head,
            "choices": [{"message": one.message(), "finish_reason": one.finish_reason} for one in choices],
            "usage": self._usage,
        }
        return decode_answer(document, is_complete, error=self._error, unknown=self._unknown)


def fold_json(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a JSON body: a completion or an error; or of a body that is no JSON at all."""
    try:
        document = jsontext.loads(body)
    except ValueError:
        known = certain_part(body)
        if known is None or not isinstance(known.get("choices"), list):
            return without_document(body, status, is_cut)
        return decode_answer(known, is_complete=False)
    if isinstance(document, dict) and isinstance(document.get("choices"), list) and (status or 0) < 400:
        error = read_error(document, status) if document.get("error") else None
        return decode_answer(document, is_complete=True, error=error)
    if isinstance(document, list) or (isinstance(document, dict) and _is_error(document, status)):
        return without_answer(read_error(document, status), status, is_complete=True)
    error = InferenceError(MALFORMED_RESPONSE, "neither a completion nor an error", status)
    return without_answer(error, status, is_complete=True)


def _is_error(document: dict[str, Any], status: int | None) -> bool:
    return (status or 0) >= 400 or "error" in document or document.get("object") == "error" or "detail" in document


def decode_answer(
    document: dict[str, Any],
    is_complete: bool,
    *,
    error: InferenceError | None = None,
    unknown: list[str] | None = None,
) -> WireResponse:
    """The response that a completion in the provider's own shape is."""
    choices = [choice for choice in document.get("choices", ()) if isinstance(choice, dict)]
    choices.sort(key=lambda choice: index if isinstance(index := choice.get("index"), int) else 0)
    raw = [{"role": "assistant", **_message_of(choice)} for choice in choices]
    stated = [string(choice.get("finish_reason")) for choice in choices]
    if error is None:
        failed = next((one for choice in choices if isinstance(one := choice.get("error"), dict)), None)  # OpenRouter
        error = read_error({"error": failed}, None) if failed else None if is_complete else cut_error()
    reasons = [_finish_reason(reason, error) for reason in stated] or [gen_ai.FINISH_ERROR] * (error is not None)
    return WireResponse(
        output=tuple(
            Message(Role.ASSISTANT, decode_message(message).parts, reason or None)
            for message, reason in zip(raw, reasons, strict=bool(raw))
        ),
        finish_reasons=tuple(reason for reason in reasons if reason),
        usage=decode_usage(_usage_of(document)),
        response_id=string(document.get("id")) or None,
        response_model=string(document.get("model")) or None,
        error=error,
        is_complete=is_complete,
        unknown_events=(*(unknown or ()), *_unknown_words(raw, stated)),
        raw_output=raw[0] if raw else None,
        stop_reason=next((reason for reason in stated if reason), None),
    )


def _message_of(choice: dict[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, dict) else {"content": choice.get("text")}


def _usage_of(document: dict[str, Any]) -> Any:
    usage, groq = document.get("usage"), document.get("x_groq")
    return usage or (groq.get("usage") if isinstance(groq, dict) else None)


def _finish_reason(stated: str, error: InferenceError | None) -> str:
    if stated:
        return FINISH_REASONS.get(stated, stated)
    return gen_ai.FINISH_ERROR if error is not None else ""


def _unknown_words(raw: list[dict[str, Any]], stated: list[str]) -> list[str]:
    unknown = [f"stop_reason:{reason}" for reason in stated if reason and reason not in FINISH_REASONS]
    for message in raw:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            type_ = part.get("type") if isinstance(part, dict) else None
            if type_ not in KNOWN_PARTS:
                unknown.append(f"block:{type_}")
    return unknown

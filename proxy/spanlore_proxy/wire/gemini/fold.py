"""Gemini responses → WireResponse: one JSON document, a JSON array that is streamed, or SSE; whole or cut.

A pure fold: the same bytes give the same value however they were chunked, nothing raises, and what is not known is
counted. What the body is, it says itself: a `streamGenerateContent` without `alt=sse` answers with an array, errors
come as an object or an array of one, and Code Assist wraps each chunk in `response`.
"""

from __future__ import annotations

from typing import Any

from spanlore.genai import jsontext
from spanlore.genai.inference import InferenceError
from spanlore.genai.messages import Message, Role
from spanlore.semconv import gen_ai
from spanlore_proxy.wire.body import BodyReader
from spanlore_proxy.wire.gemini.assembly import CandidateAssembly
from spanlore_proxy.wire.gemini.errors import STATUS_TYPES, make_error, read_error
from spanlore_proxy.wire.gemini.fields import field, list_field, object_field, string_field
from spanlore_proxy.wire.gemini.finish import BLOCKED, KNOWN_REASONS, finish_reason_of, reason_name
from spanlore_proxy.wire.gemini.interactions import InteractionStream, is_interaction
from spanlore_proxy.wire.gemini.parts import decode_parts
from spanlore_proxy.wire.gemini.usage import decode_count, decode_usage, merge_usage
from spanlore_proxy.wire.partial import certain_beginning
from spanlore_proxy.wire.response import MALFORMED_RESPONSE, STREAM_CUT, WireResponse
from spanlore_proxy.wire.sse import ServerSentEvent

_KNOWN_FIELDS = frozenset(
    {
        "candidates",
        "promptFeedback",
        "usageMetadata",
        "modelVersion",
        "responseId",
        "createTime",
        "modelStatus",
        "traceId",
        "remainingCredits",
        "consumedCredits",
        "sdkHttpResponse",
        "automaticFunctionCallingHistory",
        # the Live API's messages, as a chunk dump may hold them
        "serverContent",
        "setupComplete",
        "sessionResumptionUpdate",
        "toolCallCancellation",
        "goAway",
    }
)

_NOT_HALF = frozenset({"functionCall", "function_call", "executableCode", "inlineData", "functionResponse", "steps"})
"""Half of one would be another one."""


def fold_response(body: bytes, content_type: str, status: int | None, is_cut: bool) -> WireResponse:
    """The response of a body as far as it arrived. `content_type` as the header says; `is_cut`: it may not be whole."""
    fold = GeminiFold(content_type, status)
    fold.feed(body)
    return fold.finish(is_cut)


class GeminiFold:
    """One response while it arrives. `feed` chunks of the decoded body, then `finish` once."""

    def __init__(self, content_type: str = "", status: int | None = 200) -> None:
        self._body = BodyReader(content_type)
        self._answer = _Answer(status)

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self._take(self._body.feed(chunk))

    def finish(self, is_cut: bool = False) -> WireResponse:
        """The response. `is_cut`: the connection ended before the body did, or may have."""
        self._take(self._body.finish(), is_last=True)
        if self._body.is_stream:
            return self._answer.finish(is_cut=is_cut)
        return self._finish_json(self._body.document, is_cut)

    def _finish_json(self, body: bytes, is_cut: bool) -> WireResponse:
        try:
            document, is_whole = jsontext.loads(body), True
        except ValueError:
            document, is_whole = (
                certain_beginning(body, _NOT_HALF) if body.lstrip()[:1] in (b"{", b"[") else None,
                False,
            )
        chunks = document if isinstance(document, list) else [document]
        for number, chunk in enumerate(chunks, start=1):
            if isinstance(chunk, dict):
                self._answer.chunk(chunk, is_half=not is_whole and number == len(chunks))
        text = b"" if any(isinstance(chunk, dict) for chunk in chunks) else body
        return self._answer.finish(is_document=True, is_whole=is_whole, is_cut=is_cut, text=text)

    def _take(self, events: list[ServerSentEvent], *, is_last: bool = False) -> None:
        for event in events:
            self._answer.event(event, is_last=is_last)


class _Answer:
    """What the chunks said so far."""

    def __init__(self, status: int | None) -> None:
        self._status = status
        self._candidates: dict[int, CandidateAssembly] = {}
        self._usage: dict[str, Any] = {}
        self._count: dict[str, Any] | None = None
        self._feedback: dict[str, Any] = {}
        self._error: InferenceError | None = None
        self._model = ""
        self._id = ""
        self._trace_id = ""
        self._unknown: list[str] = []
        self._is_half = False
        self._interaction = InteractionStream()

    def event(self, event: ServerSentEvent, *, is_last: bool) -> None:
        """Takes one SSE event. `is_last`: the stream ended within it, so its data may be half."""
        is_half = False
        try:
            data = jsontext.loads(event.data)
        except ValueError:
            is_half = is_last
            data = certain_beginning(event.data, _NOT_HALF) if is_half else None
        for chunk in data if isinstance(data, list) else [data]:
            if isinstance(chunk, dict):
                self.chunk(chunk, is_half=is_half)
            elif not is_last and event.data != "[DONE]":
                self._unknown.append("event:malformed")

    def chunk(self, chunk: dict[str, Any], *, is_half: bool = False) -> None:
        """Takes one chunk, an error, or a token count. `is_half`: the body ended within it."""
        known = len(self._unknown)
        self._chunk(chunk)
        if is_half:
            self._is_half = True
            del self._unknown[known:]

    def _chunk(self, chunk: dict[str, Any]) -> None:
        if "error" in chunk or ((self._status or 0) >= 400 and "candidates" not in chunk):
            self._error = read_error(chunk, self._status)
            return
        inner = chunk.get("response")
        if isinstance(inner, dict):  # Code Assist
            self._trace_id = string_field(chunk, "traceId") or self._trace_id
            chunk = inner
        if is_interaction(chunk):
            chunk = self._interaction.chunk(chunk)
            if not chunk:
                return
        if field(chunk, "totalTokens") is not None:
            self._count = chunk
            return
        self._generated(chunk)

    def _generated(self, chunk: dict[str, Any]) -> None:
        if not any(field(chunk, name) is not None for name in _KNOWN_FIELDS):
            self._unknown += [f"event:{key}" for key in chunk]
        for position, candidate in enumerate(list_field(chunk, "candidates")):
            index = field(candidate, "index")
            self._candidate(index if isinstance(index, int) else position).take(candidate)
        if live := object_field(chunk, "serverContent"):
            self._live(live)
        self._feedback = object_field(chunk, "promptFeedback") or self._feedback
        self._usage = merge_usage(self._usage, field(chunk, "usageMetadata"))
        self._model = string_field(chunk, "modelVersion") or self._model
        self._id = string_field(chunk, "responseId") or self._id

    def _live(self, content: dict[str, Any]) -> None:
        is_over = field(content, "turnComplete") is True or field(content, "generationComplete") is True
        turn = field(content, "modelTurn")
        if turn is not None or is_over:
            self._candidate(0).take({"content": turn or {}, "finishReason": "STOP" if is_over else None})

    def _candidate(self, index: int) -> CandidateAssembly:
        return self._candidates.setdefault(index, CandidateAssembly())

    def finish(
        self, *, is_cut: bool, is_document: bool = False, is_whole: bool = False, text: bytes = b""
    ) -> WireResponse:
        """The response.

        Args:
            is_cut: the connection ended before the body did, or may have.
            is_document: the body was JSON, not SSE.
            is_whole: of a document: it ended as JSON does.
            text: the body, where it held no chunk.
        """
        if self._count is not None:
            cut = None if is_whole else InferenceError(STREAM_CUT, "the response ended before its end", None)
            return WireResponse(usage=decode_count(self._count), error=cut, is_complete=is_whole)
        blocked = reason_name(field(self._feedback, "blockReason")) if self._feedback else ""
        error = self._error
        if error is None and blocked and not self._candidates:
            error = make_error(blocked, string_field(self._feedback, "blockReasonMessage"), None)
        is_complete = is_whole or (not is_document and not self._is_half and (error is not None or self._has_ended()))
        if not self._candidates:
            return self._without_candidates(error, blocked, is_complete, is_cut, text)
        if error is None and not is_complete:
            error = InferenceError(STREAM_CUT, "the response ended before its end", None)
        return self._with_candidates(error, is_complete)

    def _has_ended(self) -> bool:
        """The model said why it stopped. (Older models say so with every chunk.)"""
        return bool(self._candidates) and all(one.finish_reason is not None for one in self._candidates.values())

    def _with_candidates(self, error: InferenceError | None, is_complete: bool) -> WireResponse:
        candidates = [self._candidates[index] for index in sorted(self._candidates)]
        unknown = [*self._unknown, *self._interaction.unknown]
        unknown += [word for candidate in candidates for word in candidate.unknown]
        output, reasons = [], []
        for candidate in candidates:
            parts = candidate.parts()
            reason = finish_reason_of(candidate.finish_reason, parts)
            if reason is None:
                reason = gen_ai.FINISH_ERROR if error is not None else gen_ai.FINISH_STOP
            elif reason not in KNOWN_REASONS:
                unknown.append(f"stop_reason:{reason}")
            output.append(Message(Role.ASSISTANT, decode_parts(parts), reason))
            reasons.append(reason)
        first = candidates[0]
        return WireResponse(
            output=tuple(output),
            finish_reasons=tuple(reasons),
            usage=decode_usage(self._usage),
            response_id=self._id or self._trace_id or None,
            response_model=self._model or None,
            error=error,
            is_complete=is_complete,
            unknown_events=tuple(unknown),
            raw_output={"role": "assistant", "content": first.parts()},
            stop_reason=reason_name(first.finish_reason) or None,
        )

    def _without_candidates(
        self, error: InferenceError | None, blocked: str, is_complete: bool, is_cut: bool, text: bytes
    ) -> WireResponse:
        if error is None and (self._usage or self._model) and is_complete:
            # A prompt without an answer: nothing was said, and nothing was wrong.
            reasons: tuple[str, ...] = (gen_ai.FINISH_STOP,)
        else:
            error = error or self._reason_without_answer(is_complete, is_cut, text)
            reasons = (gen_ai.FINISH_CONTENT_FILTER if blocked in BLOCKED else gen_ai.FINISH_ERROR,)
        # A gateway's page with an error status is all that will come; anything else was cut.
        is_page = not is_cut and (self._status or 0) >= 400
        return WireResponse(
            finish_reasons=reasons,
            usage=decode_usage(self._usage),
            response_id=self._id or self._trace_id or None,
            response_model=self._model or None,
            error=error,
            is_complete=is_complete or is_page,
            unknown_events=tuple(self._unknown),
            stop_reason=blocked or None,
        )

    def _reason_without_answer(self, is_complete: bool, is_cut: bool, text: bytes) -> InferenceError:
        if self._status is None:
            return InferenceError("connection", "no response", None)
        if self._status >= 400:
            page = "" if is_cut else text.decode("utf-8", "replace")
            return make_error(STATUS_TYPES.get(self._status), page, self._status)
        if (text and not is_cut) or is_complete:
            return InferenceError(MALFORMED_RESPONSE, "neither an answer nor an error", None)
        return InferenceError(STREAM_CUT, "the response ended before its first chunk", None)

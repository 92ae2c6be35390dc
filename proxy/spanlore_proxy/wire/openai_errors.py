"""Errors of the OpenAI APIs, of their many imitators, and of the gateways before them.

Shapes seen in recordings: `{"error": {"message", "type", "param", "code"}}` (OpenAI, Azure, Groq, DeepSeek …), with a
number as code (OpenRouter, Perplexity), `{"code": "…", "error": "text"}` (xAI), `{"detail": "text"}` and `{"object":
"error", "message", "type", "code"}` (Mistral), `[{"error": {…}}]` (Gemini's compatible endpoint).
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import InferenceError
from spanlore_proxy.wire.response import MALFORMED_RESPONSE, STREAM_CUT, WireResponse

STATUS_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout",
    409: "conflict_error",
    413: "request_too_large",
    422: "unprocessable_entity",
    429: "rate_limit_error",
    500: "server_error",
    502: "bad_gateway",
    503: "service_unavailable",
    504: "timeout",
    529: "overloaded_error",
}
"""HTTP status → error type, for answers whose body names none (platform.openai.com, Error codes)."""

_MAX_MESSAGE_CHARS: Final = 2000


def read_error(document: Any, status: int | None) -> InferenceError:
    """The error of a document of any of the known shapes, or of the inner `error` object itself."""
    if isinstance(document, list):
        document = next((item for item in document if isinstance(item, dict)), None)
    if not isinstance(document, dict):
        return make_error(None, None, document if isinstance(document, str) else "", status)
    inner = document.get("error")
    if isinstance(inner, dict):
        return make_error(inner.get("code"), inner.get("type"), _message(inner), status)
    message = inner if isinstance(inner, str) and inner else _message(document)
    type_ = document.get("type")
    return make_error(document.get("code"), None if type_ == "error" else type_, message, status)


def make_error(code: Any, type_: Any, message: str, status: int | None) -> InferenceError:
    """An error named by the provider's code, else its type, else by the status that the code or the response has.

    `invalid_api_key` says more than `invalid_request_error`; a code that is a number is a status.
    """
    number = _number(code)
    failed = status if status is not None and status >= 400 else number
    names = (name for name in (code, type_) if isinstance(name, str) and name and _number(name) is None)
    name = next(names, None) or STATUS_TYPES.get(failed or 0) or str(failed or "error")
    return InferenceError(type=name, message=message[:_MAX_MESSAGE_CHARS], status_code=failed)


def without_answer(
    error: InferenceError | None,
    status: int | None,
    is_complete: bool,
    unknown: tuple[str, ...] = (),
    text: bytes = b"",
) -> WireResponse:
    """The response that holds no answer: an error, a gateway's page, or nothing at all."""
    if error is None:
        error = _reason(status, is_complete, text)
    return WireResponse(error=error, is_complete=is_complete, unknown_events=unknown, finish_reasons=("error",))


def without_document(body: bytes, status: int | None, is_cut: bool) -> WireResponse:
    """The response whose body is no JSON."""
    # A gateway's HTML page with an error status is all that will come; anything else was cut.
    is_complete = not is_cut and status is not None and status >= 400
    return without_answer(None, status, is_complete, text=b"" if is_cut else body)


def cut_error() -> InferenceError:
    """Of a response that ended before the provider said so."""
    return InferenceError(STREAM_CUT, "the response ended before its end", None)


def certain_part(body: bytes) -> dict[str, Any] | None:
    """The beginning of a JSON object whose end is missing, without its last value, which may be half."""
    document = jsontext.loads_partial(body) if body.lstrip().startswith(b"{") else None
    if not isinstance(document, dict) or not document:
        return None
    last = next(reversed(document))
    return {key: value for key, value in document.items() if key != last} if len(document) > 1 else None


def _reason(status: int | None, is_complete: bool, text: bytes) -> InferenceError:
    if status is None:
        return InferenceError("connection", "no response", None)
    if status >= 400:
        return make_error(None, None, text.decode("utf-8", "replace"), status)
    if text or is_complete:
        return InferenceError(MALFORMED_RESPONSE, "neither an answer nor an error", None)
    return InferenceError(STREAM_CUT, "the response ended before its first event", None)


def _message(document: dict[str, Any]) -> str:
    said = (document.get("message"), document.get("detail"), document.get("title"))
    return next((text for text in said if isinstance(text, str) and text), "")


def _number(code: Any) -> int | None:
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and not isinstance(code, bool) and 100 <= code < 600 else None

"""Errors of Google's APIs (google.rpc.Status): JSON bodies, arrays of one, events of a stream, and gateways' pages."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.inference import InferenceError

STATUS_TYPES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""HTTP status → google.rpc.Code (google/rpc/code.proto), for answers whose body does not say."""

_MAX_MESSAGE_CHARS: Final = 2000


def read_error(document: Any, status: int | None) -> InferenceError:
    """The error of a document `{"error": {"code", "message", "status"}}`, or of a gateway's like."""
    inner = document.get("error") if isinstance(document, dict) else document
    if isinstance(inner, dict):
        code = inner.get("code")
        is_code = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
        message = inner.get("message")
        name = inner.get("status") or (None if is_code else code)
        failed = status if status is not None and status >= 400 else code if is_code else None
        return make_error(name, message if isinstance(message, str) else "", failed)
    said = inner if isinstance(inner, str) else document.get("message") if isinstance(document, dict) else ""
    return make_error(None, said if isinstance(said, str) else "", status)


def make_error(type_: Any, message: str, status: int | None) -> InferenceError:
    """An error of that type, or of the type that belongs to the status. A status below 400 says nothing about it."""
    failed = status if status is not None and status >= 400 else None
    name = type_ if isinstance(type_, str) and type_ else STATUS_TYPES.get(failed or 0) or str(failed or "error")
    return InferenceError(type=name, message=message[:_MAX_MESSAGE_CHARS], status_code=failed)

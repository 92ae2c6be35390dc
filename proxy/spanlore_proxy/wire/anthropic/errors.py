"""Errors of the Messages API: in JSON bodies, inside streams, and from gateways that answer with something else."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.inference import InferenceError

STATUS_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""HTTP status → the API's own error type, for answers whose body does not say (docs.anthropic.com, Errors)."""

_MAX_MESSAGE_CHARS: Final = 2000


def read_error(document: Any, status: int | None) -> InferenceError:
    """The error of a document `{"type": "error", "error": {"type", "message"}}`, or of a gateway's like."""
    inner = document.get("error") if isinstance(document, dict) else None
    if isinstance(inner, dict):
        message = inner.get("message")
        return make_error(inner.get("type"), message if isinstance(message, str) else "", status)
    if isinstance(document, dict):
        said = (inner, document.get("message"), document.get("detail"))
        return make_error(None, next((text for text in said if isinstance(text, str)), ""), status)
    return make_error(None, document if isinstance(document, str) else "", status)


def make_error(type_: Any, message: str, status: int | None) -> InferenceError:
    """An error of that type, or of the type that belongs to the status. A status below 400 says nothing about it."""
    failed = status if status is not None and status >= 400 else None
    name = type_ if isinstance(type_, str) and type_ else STATUS_TYPES.get(failed or 0) or str(failed or "error")
    return InferenceError(type=name, message=message[:_MAX_MESSAGE_CHARS], status_code=failed)

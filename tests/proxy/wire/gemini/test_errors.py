"""Errors of Google's APIs."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import InferenceError
from spanlore_proxy.wire.gemini.errors import make_error, read_error


@pytest.mark.parametrize(
    ("document", "status", "expected"),
    [
        ({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}, 429, ("RESOURCE_EXHAUSTED", 429)),
        ({"error": {"code": 503, "message": "m"}}, 200, ("503", 503)),
        ({"error": {"code": "no_quota", "message": "m"}}, 403, ("no_quota", 403)),
        ({"error": "m"}, 500, ("INTERNAL", 500)),
        ({"message": "m"}, 404, ("NOT_FOUND", 404)),
    ],
)
def test_where_the_error_stands(document: Any, status: int, expected: tuple[str, int]) -> None:
    """Google's own shape, and gateways' others; a status within a stream is the error's own."""
    error = read_error(document, status)

    assert (error.status_code, error.message) == (expected[1], "m")
    assert error.type in (expected[0], "UNAVAILABLE")


def test_a_type_from_the_status() -> None:
    """Where the body does not say."""
    assert make_error(None, "", 401) == InferenceError("UNAUTHENTICATED", "", 401)
    assert make_error(None, "", 418) == InferenceError("418", "", 418)
    assert make_error(None, "", 200) == InferenceError("error", "", None)

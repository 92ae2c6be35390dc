"""Errors of the Messages API."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import InferenceError
from spanlore_proxy.wire.anthropic.errors import read_error


@pytest.mark.parametrize(
    ("document", "status", "error"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            529,
            InferenceError("overloaded_error", "Overloaded", 529),
        ),
        ({"error": {"type": "api_error", "message": 7}}, 200, InferenceError("api_error", "", None)),
        ({"error": {"message": "slow"}}, 429, InferenceError("rate_limit_error", "slow", 429)),
        ({"error": "nope"}, 418, InferenceError("418", "nope", 418)),
        ({"detail": "gone"}, 404, InferenceError("not_found_error", "gone", 404)),
        ({"message": "words"}, None, InferenceError("error", "words", None)),
        ("text", 500, InferenceError("api_error", "text", 500)),
        (None, 503, InferenceError("503", "", 503)),
    ],
)
def test_errors(document: Any, status: int | None, error: InferenceError) -> None:
    """The provider's own type where it is given, else what the status means; its words where there are any."""
    assert read_error(document, status) == error


def test_a_long_message_is_bounded() -> None:
    """An error message is not a place for a whole page."""
    assert len(read_error({"error": "x" * 10_000}, 500).message) == 2000

"""Errors of OpenAI's APIs and of those who speak like them."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import InferenceError
from spanlore_proxy.wire.openai_errors import certain_part, cut_error, make_error, read_error, without_document


@pytest.mark.parametrize(
    ("document", "status", "expected"),
    [
        (
            {"error": {"message": "Wrong key", "type": "invalid_request_error", "code": "invalid_api_key"}},
            401,
            InferenceError("invalid_api_key", "Wrong key", 401),
        ),
        (
            {"error": {"message": "m", "type": "invalid_request_error", "code": None}},
            400,
            InferenceError("invalid_request_error", "m", 400),
        ),
        ({"error": {"code": 429, "message": "busy"}}, 429, InferenceError("rate_limit_error", "busy", 429)),
        (
            {"error": {"code": 400, "message": "too long"}},
            200,
            InferenceError("invalid_request_error", "too long", 400),
        ),
        ({"error": {"code": "401", "message": "denied"}}, 401, InferenceError("authentication_error", "denied", 401)),
        ({"code": "invalid-argument", "error": "bad key"}, 400, InferenceError("invalid-argument", "bad key", 400)),
        ({"detail": "Invalid API Key"}, 401, InferenceError("authentication_error", "Invalid API Key", 401)),
        (
            {"object": "error", "message": "no", "type": "invalid_model", "code": "1500x"},
            400,
            InferenceError("1500x", "no", 400),
        ),
        (
            [{"error": {"code": 404, "message": "gone", "status": "NOT_FOUND"}}],
            404,
            InferenceError("not_found_error", "gone", 404),
        ),
        ({"type": "error", "code": None, "message": "m"}, 200, InferenceError("error", "m", None)),
        ("overloaded", 503, InferenceError("service_unavailable", "overloaded", 503)),
        (None, 418, InferenceError("418", "", 418)),
    ],
)
def test_errors_of_every_shape(document: Any, status: int, expected: InferenceError) -> None:
    """The most telling name counts: code, type, then the status."""
    assert read_error(document, status) == expected


def test_messages_are_bounded() -> None:
    """A gateway's page is no message."""
    assert len(make_error("x", None, "m" * 9_999, 400).message) == 2_000


def test_a_page_instead_of_an_answer() -> None:
    """With an error status it is whole; otherwise it is no answer, or a cut one."""
    page = b"<html>Bad gateway</html>"

    assert without_document(page, 502, False).error == InferenceError("bad_gateway", page.decode(), 502)
    assert without_document(page, 200, False).error == InferenceError(
        "malformed_response", "neither an answer nor an error", None
    )
    assert without_document(b'{"ch', 200, True).error is not None
    assert without_document(b"", None, True).error == InferenceError("connection", "no response", None)
    assert cut_error().type == "stream_cut"


def test_the_certain_part_of_a_cut_document() -> None:
    """All members but the last, which may be half."""
    assert certain_part(b'{"id": "x", "choices": [1], "usage": {"a": 1') == {"id": "x", "choices": [1]}
    assert certain_part(b'{"id": "x') is None
    assert certain_part(b"<html") is None

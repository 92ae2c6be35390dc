"""A response object → WireResponse."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import InferenceError
from spanlore_proxy.wire.openai_responses.answer import decode_answer

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status": "completed", "output": [SAID]}, "stop"),
        ({"status": "completed", "output": [SAID, CALL]}, "tool_call"),
        ({"status": "incomplete", "output": [CALL], "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "error"),
        ({"status": "queued", "output": []}, "queued"),
    ],
)
def test_how_it_ended(response: dict[str, Any], reason: str) -> None:
    """The finish reason of the convention."""
    assert decode_answer(response, is_complete=True).finish_reasons == (reason,)


def test_failures_are_errors() -> None:
    """With the provider's code; cancelled without one; cut where the end is missing."""
    failed = decode_answer({"status": "failed", "error": {"code": "server_error", "message": "m"}}, is_complete=True)

    assert failed.error == InferenceError("server_error", "m")
    assert decode_answer({"status": "cancelled"}, is_complete=True).error == InferenceError("cancelled")
    assert decode_answer({"status": "in_progress"}, is_complete=False).error is not None


def test_what_is_not_known_is_named() -> None:
    """New items, parts, statuses and reasons."""
    response = {
        "status": "pondering",
        "incomplete_details": {"reason": "tired"},
        "output": [{"type": "telepathy"}, {**SAID, "content": [{"type": "scent"}]}],
    }

    assert decode_answer(response, is_complete=True).unknown_events == (
        "block:telepathy",
        "block:scent",
        "status:pondering",
        "stop_reason:tired",
    )

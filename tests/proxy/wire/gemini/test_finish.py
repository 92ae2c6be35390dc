"""Why Gemini stopped."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.gemini.finish import finish_reason_of, reason_name


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("STOP", "stop"),
        (1, "stop"),
        ("MAX_TOKENS", "length"),
        (2, "length"),
        ("SAFETY", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("BORED", "BORED"),
        (99, "FINISH_REASON_99"),
        (None, None),
        (True, None),
        ({}, None),
    ],
)
def test_reasons(reason: Any, expected: str | None) -> None:
    """As words and as numbers; an unknown one stays."""
    assert finish_reason_of(reason, []) == expected


def test_stop_with_a_call() -> None:
    """Gemini says STOP when it waits for a tool."""
    assert finish_reason_of("STOP", [{"functionCall": {}}]) == "tool_call"
    assert finish_reason_of("MAX_TOKENS", [{"functionCall": {}}]) == "length"
    assert reason_name("STOP") == "STOP"

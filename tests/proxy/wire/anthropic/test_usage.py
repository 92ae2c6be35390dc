"""Token counts."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import Usage
from spanlore_proxy.wire.anthropic.usage import decode_usage, merge_usage


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({}, Usage()),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(3, 4)),
        ({"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5}, Usage(18, None, 10, 5)),
        (
            {"input_tokens": 0, "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2}},
            Usage(3, None, None, 3, 2),
        ),
        ({"cache_read_input_tokens": 10}, Usage(None, None, 10)),
        ({"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 5}}, Usage(None, 9, reasoning_tokens=5)),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 0}}, Usage(None, 9, reasoning_tokens=0)),
        ({"input_tokens": "3", "output_tokens": True, "cache_creation": 7, "cache_read_input_tokens": -1}, Usage()),
    ],
)
def test_usage(raw: dict[str, Any], usage: Usage) -> None:
    """Input includes the cache; what is missing or of a wrong type is None, not zero."""
    assert decode_usage(raw) == usage


def test_the_last_report_wins() -> None:
    """A later count replaces an earlier one; a count it leaves out, or gives as null, stays."""
    earlier = {"input_tokens": 12, "cache_read_input_tokens": 3, "output_tokens": 1}

    assert merge_usage(earlier, {"output_tokens": 40, "cache_read_input_tokens": None}) == {
        "input_tokens": 12,
        "cache_read_input_tokens": 3,
        "output_tokens": 40,
    }
    assert merge_usage(earlier, None) == earlier

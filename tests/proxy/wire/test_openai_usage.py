"""Token counts of OpenAI's APIs: what goes in and comes out, all included."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.inference import Usage
from spanlore_proxy.wire.openai_usage import decode_usage


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 12},
            },
            Usage(100, 20, 64, 8, None, 12),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 64},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 12},
                "total_tokens": 120,
            },
            Usage(100, 20, 64, None, None, 12),
        ),
        # DeepSeek, Mistral, Together, Anthropic's names
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}, Usage(9, 1, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "num_cached_tokens": 4}, Usage(9, 1, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 4}, Usage(9, 1, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cache_creation_input_tokens": 4}, Usage(9, 1, None, 4)),
        ({"prompt_tokens": "9", "completion_tokens": -1, "total_tokens": True}, Usage()),
        ({}, Usage()),
        (None, Usage()),
    ],
)
def test_counts_of_every_provider(raw: Any, expected: Usage) -> None:
    """Input includes the cache; what has a wrong type was not said."""
    assert decode_usage(raw) == expected


def test_reasoning_that_was_left_out_of_the_output_is_added() -> None:
    """xAI counts it in the total only (291 + 26 + 196 = 513, a real answer)."""
    raw = {"prompt_tokens": 291, "completion_tokens": 26, "total_tokens": 513,
           "completion_tokens_details": {"reasoning_tokens": 196}}  # fmt: skip

    assert decode_usage(raw) == Usage(291, 222, reasoning_tokens=196)

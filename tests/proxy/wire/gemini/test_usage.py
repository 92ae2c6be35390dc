"""Token counts."""

from __future__ import annotations

from spanlore.genai.inference import Usage
from spanlore_proxy.wire.gemini.usage import decode_count, decode_usage, merge_usage


def test_the_four_parts() -> None:
    """Tool use is input, thoughts are output, the cache is part of the prompt."""
    raw = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 7,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 115,
    }

    assert decode_usage(raw) == Usage(107, 8, 60, None, None, 3)


def test_what_is_not_said() -> None:
    """Missing counts stay unknown, wrong types too; protobuf's texts are numbers."""
    assert decode_usage({}) == Usage()
    assert decode_usage({"promptTokenCount": True, "candidatesTokenCount": "x"}) == Usage()
    assert decode_usage({"prompt_token_count": "12"}).input_tokens == 12


def test_the_later_report_wins() -> None:
    """And leaves what it does not say."""
    assert merge_usage({"a": 1, "b": 2}, {"b": 3, "a": None}) == {"a": 1, "b": 3}
    assert merge_usage({"a": 1}, None) == {"a": 1}


def test_a_count() -> None:
    """countTokens."""
    assert decode_count({"totalTokens": 9, "cachedContentTokenCount": 4}) == Usage(9, None, 4)

"""Token counts of the Gemini API → Usage.

`promptTokenCount` includes what came from the cache; `toolUsePromptTokenCount` (what the provider's own tools fed back
to the model) and `thoughtsTokenCount` stand beside the prompt and the candidates: totalTokenCount is the sum of the
four. A stream reports with every chunk, cumulatively; a later chunk may leave out what an earlier one said.
"""

from __future__ import annotations

from typing import Any

from spanlore.genai.inference import Usage
from spanlore_proxy.wire.gemini.fields import field


def merge_usage(earlier: dict[str, Any], later: Any) -> dict[str, Any]:
    """The two raw reports as one; None and a missing key leave the earlier count."""
    if not isinstance(later, dict):
        return earlier
    return {**earlier, **{key: value for key, value in later.items() if value is not None}}


def decode_usage(raw: dict[str, Any]) -> Usage:
    """Usage of a raw `usageMetadata`. Counts of a wrong type are taken as not given."""
    answer = _count(field(raw, "candidatesTokenCount"))
    if answer is None:
        answer = _count(field(raw, "responseTokenCount"))  # the Live API's name
    thoughts = _count(field(raw, "thoughtsTokenCount"))
    prompt = _count(field(raw, "promptTokenCount"))
    return Usage(
        input_tokens=None if prompt is None else _sum(prompt, _count(field(raw, "toolUsePromptTokenCount"))),
        output_tokens=_sum(answer, thoughts),
        cache_read_tokens=_count(field(raw, "cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def decode_count(document: dict[str, Any]) -> Usage:
    """Usage of countTokens' answer."""
    return Usage(
        input_tokens=_count(field(document, "totalTokens")),
        cache_read_tokens=_count(field(document, "cachedContentTokenCount")),
    )


def _count(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)  # protobuf writes int64 as a string
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

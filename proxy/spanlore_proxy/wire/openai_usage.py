"""Token counts of the OpenAI APIs and their imitators → Usage.

`prompt_tokens`/`input_tokens` include what came from the cache, and what was written to it, as the GenAI convention
wants. Reasoning is part of the output, except where a provider leaves it out of `completion_tokens` and counts it in
`total_tokens` only (xAI; Gemini's compatible endpoint): there the total tells, and the output is completed.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.inference import Usage

_CACHED: Final = ("cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
"""OpenAI (in the details) and Together; Mistral; DeepSeek; gateways that speak Anthropic's names."""
_WRITTEN: Final = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")


def decode_usage(raw: Any) -> Usage:
    """Usage of a raw report of either API. Counts of a wrong type are taken as not given."""
    if not isinstance(raw, dict):
        return Usage()
    inside = _dict(raw, "prompt_tokens_details", "input_tokens_details")
    outside = _dict(raw, "completion_tokens_details", "output_tokens_details")
    sent = _first(raw, ("prompt_tokens", "input_tokens"))
    came = _first(raw, ("completion_tokens", "output_tokens"))
    thought = _first(outside, ("reasoning_tokens",))
    if thought is None:
        thought = _first(raw, ("reasoning_tokens",))
    total = _first(raw, ("total_tokens",))
    if thought and sent is not None and came is not None and total == sent + came + thought:
        came += thought
    return Usage(
        input_tokens=sent,
        output_tokens=came,
        cache_read_tokens=_known(_first(inside, _CACHED), _first(raw, _CACHED)),
        cache_write_tokens=_known(_first(inside, _WRITTEN), _first(raw, _WRITTEN)),
        reasoning_tokens=thought,
    )


def _dict(raw: dict[str, Any], *names: str) -> dict[str, Any]:
    return next((value for name in names if isinstance(value := raw.get(name), dict)), {})


def _first(raw: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := _count(raw.get(name))) is not None), None)


def _known(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

"""Token counts of the Messages API → Usage.

Anthropic reports `input_tokens` without what came from or went into the cache; the GenAI convention includes both.
A stream reports twice: with message_start, and again, cumulative, with message_delta; the later count wins, and a
count that the later report leaves out stays. `iterations` (server-side compaction, fallbacks, advisor calls) list model
calls that the top-level counts may leave out; they belong to other models in part, and are not added.
"""

from __future__ import annotations

from typing import Any

from spanlore.genai.inference import Usage


def merge_usage(earlier: dict[str, Any], later: Any) -> dict[str, Any]:
    """The two raw reports as one; None and a missing key leave the earlier count."""
    if not isinstance(later, dict):
        return earlier
    return {**earlier, **{key: value for key, value in later.items() if value is not None}}


def decode_usage(raw: dict[str, Any]) -> Usage:
    """Usage of a raw report. Counts of a wrong type are taken as not given."""
    fresh = _count(raw.get("input_tokens"))
    read = _count(raw.get("cache_read_input_tokens"))
    written = _count(raw.get("cache_creation_input_tokens"))
    lifetimes = raw.get("cache_creation")
    details = raw.get("output_tokens_details")
    written_1h = _count(lifetimes.get("ephemeral_1h_input_tokens")) if isinstance(lifetimes, dict) else None
    if written is None and isinstance(lifetimes, dict):
        written = _sum(_count(lifetimes.get("ephemeral_5m_input_tokens")), written_1h)
    return Usage(
        input_tokens=None if fresh is None else _sum(fresh, read, written),
        output_tokens=_count(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=written_1h,
        reasoning_tokens=_reasoning(details) if isinstance(details, dict) else None,
    )


def _reasoning(details: dict[str, Any]) -> int | None:
    found = _count(details.get("thinking_tokens"))
    return _count(details.get("reasoning_tokens")) if found is None else found


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

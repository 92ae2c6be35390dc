"""From recorded answers to dollars: the provider's own token counts, by the inclusive rule, and what they cost, worked
out by hand from the published prices."""

from __future__ import annotations

from decimal import Decimal

import pytest

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.spans.price import price_of
from spanlore_proxy.wire.codecs import CODECS
from support import recordings

M = 1_000_000


def usage_of(dialect: Dialect, folder: str, name: str) -> Usage:
    """What the fold reads from the recording."""
    recording = recordings.of(folder, name)
    fold = CODECS[dialect].fold_response
    return fold(recording.body, recording.content_type, recording.status, False).usage


def cost_of(usage: Usage, dialect: Dialect, provider: str, model: str) -> Decimal | None:
    price = price_of(Inference(dialect, provider, "chat", model, 0, 1, usage=usage))
    return None if price is None else price.total_usd


@pytest.mark.parametrize(
    ("dialect", "provider", "folder", "name", "model", "usage", "dollars"),
    [
        pytest.param(
            # 4 new, 20,000 read, 1,000 written for five minutes, 4,000 for an hour, 10 out; 3 / 15 USD a million,
            # reads a tenth, five-minute writes 1.25 times, one-hour writes twice.
            Dialect.ANTHROPIC_MESSAGES, "anthropic", "anthropic", "made_cache_1h", "claude-sonnet-4-5",
            Usage(25_004, 10, 20_000, 5_000, 4_000),
            (4 * 3 + 20_000 * Decimal("0.3") + 1_000 * Decimal("3.75") + 4_000 * 6 + 10 * 15) / M,
            id="5-minute and 1-hour writes",
        ),
        pytest.param(
            Dialect.ANTHROPIC_MESSAGES, "anthropic", "anthropic", "sse_cache_write", "claude-3-5-sonnet-20240620",
            Usage(1_169, 201, 0, 1_165), (4 * 3 + 1_165 * Decimal("3.75") + 201 * 15) / M,
            id="5-minute writes",
        ),
        pytest.param(
            # 366 in, of them 256 cached: 1.25 USD a million, cached a tenth; 59 out, reasoning among them, at 10 USD.
            Dialect.OPENAI_RESPONSES, "openai", "openai_responses", "sse_tool", "gpt-5",
            Usage(366, 59, 256, reasoning_tokens=14), (110 * Decimal("1.25") + 256 * Decimal("0.125") + 59 * 10) / M,
            id="cached input and reasoning",
        ),
    ],
)  # fmt: skip
def test_worked_examples(
    dialect: Dialect, provider: str, folder: str, name: str, model: str, usage: Usage, dollars: Decimal
) -> None:
    """Tokens as the provider counted them, `input` with what was cached in it, and their price."""
    found = usage_of(dialect, folder, name)

    assert (found.input_tokens, found.output_tokens) == (usage.input_tokens, usage.output_tokens)
    assert (found.cache_read_tokens or 0, found.cache_write_tokens or 0) == (
        usage.cache_read_tokens or 0,
        usage.cache_write_tokens or 0,
    )
    assert (found.cache_write_1h_tokens or 0, found.reasoning_tokens or 0) == (
        usage.cache_write_1h_tokens or 0,
        usage.reasoning_tokens or 0,
    )
    assert cost_of(found, dialect, provider, model) == dollars


def test_an_unknown_model_costs_nobody_knows_what() -> None:
    """Not zero."""
    found = usage_of(Dialect.ANTHROPIC_MESSAGES, "anthropic", "made_cache_1h")

    assert cost_of(found, Dialect.ANTHROPIC_MESSAGES, "anthropic", "claude-of-tomorrow-99") is None


@pytest.mark.parametrize("folder", ["anthropic", "openai_chat", "openai_responses", "gemini", "bedrock"])
def test_input_includes_what_was_cached(folder: str) -> None:
    """In every recording, whatever the provider's own way of counting: cache reads and writes are part of the input.
    (Reasoning is not compared: one provider reports 11 such tokens in 10.)"""
    dialect = Dialect.ANTHROPIC_MESSAGES if folder == "anthropic" else Dialect(folder)
    usages = [usage_of(dialect, folder, name) for name in recordings.names_of(folder)]
    counted = [usage for usage in usages if usage.input_tokens is not None]

    assert counted
    for usage in counted:
        assert (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) <= (usage.input_tokens or 0)
        assert (usage.cache_write_1h_tokens or 0) <= (usage.cache_write_tokens or 0)

"""What an inference cost, by genai-prices' bundled data. An unknown model has no price, never a price of zero."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import genai_prices
from genai_prices import Usage as PricedUsage

from spanlore.genai.inference import Dialect, Inference, Usage

PRICE_VERSION = f"genai-prices {genai_prices.__version__}"

_PROVIDERS = {
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "aws.bedrock": "aws",
    "azure.ai.openai": "azure",
    "x_ai": "x-ai",
    "mistral_ai": "mistral",
}
"""gen_ai.provider.name → genai-prices' provider id, where the two differ."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for one inference, and the data it was computed with."""

    total_usd: Decimal
    input_usd: Decimal
    output_usd: Decimal
    version: str = PRICE_VERSION


def load_prices() -> None:
    """Loads the bundled data. It takes over half a second in which no other thread runs, so a process that serves
    agents does it before it serves."""
    price_of(Inference(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", "-", 0, 0, usage=Usage(0, 0)))


def price_of(inference: Inference) -> Price | None:
    """The price at the newest bundled rates, or None when the model, its provider or the usage is not known.

    Input counts include cache tokens, in genai-prices as here. The one-hour share of cache writes costs twice the base
    price and is passed on; billing it as five-minute writes would understate Claude Code's by more than a third.
    """
    return price_of_usage(
        inference.provider, inference.response_model or inference.request_model or "", inference.usage
    )


def price_of_usage(provider: str, model: str, usage: Usage) -> Price | None:
    """The same for whoever knows only this much. `provider` is gen_ai.provider.name."""
    if not model or usage.input_tokens is None or usage.output_tokens is None:
        return None
    counts: dict[str, int] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cache_read_tokens:
        counts["cache_read_tokens"] = usage.cache_read_tokens
    if usage.cache_write_tokens:
        counts["cache_write_tokens"] = usage.cache_write_tokens
    if usage.cache_write_1h_tokens:
        counts["cache_write_1h_tokens"] = usage.cache_write_1h_tokens
    try:
        found = genai_prices.calc_price(
            PricedUsage(**counts),
            model_ref=model,
            provider_id=_PROVIDERS.get(provider, provider) or None,
        )
    except (LookupError, ValueError):
        return None
    return Price(found.total_price, found.input_price, found.output_price)

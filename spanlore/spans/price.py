"""What an inference cost, by the user's own prices or genai-prices' bundled data. An unknown model has no price, never
a price of zero.

A process prices by one list, which it is told when it starts (`use_own_prices`): whoever comes to a cost in it, on the
wire, from a file or from foreign telemetry, comes to the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase

import genai_prices
from genai_prices import Usage as PricedUsage
from genai_prices.types import ModelPrice

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


@dataclass(frozen=True, slots=True)
class _Own:
    """A price of the user's: for models whose names match."""

    pattern: str
    price: ModelPrice
    version: str


_own: tuple[_Own, ...] = ()


def use_own_prices(prices: Mapping[str, str]) -> None:
    """Sets the user's prices for this process: model, `*` in it matches, → US dollars for a million tokens as
    `input/output[/cache read[/cache write]]`. What is left out costs as input does. Exact names win over patterns.

    Raises:
        ValueError: a price is no such text.
    """
    global _own  # noqa: PLW0603 - a price is asked for deep inside the pure folds; set once, when a process starts
    made = [_Own(model.lower(), _model_price(text), f"own {_digest(model, text)}") for model, text in prices.items()]
    _own = tuple(sorted(made, key=lambda own: ("*" in own.pattern, -len(own.pattern))))


def _model_price(text: str) -> ModelPrice:
    try:
        numbers = [Decimal(word.strip()) for word in text.split("/")]
    except ArithmeticError:
        numbers = []
    if not 2 <= len(numbers) <= 4 or any(not number.is_finite() or number < 0 for number in numbers):
        raise ValueError(f"{text!r} is no price: write input/output or input/output/cache read/cache write")
    names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    return ModelPrice(**dict(zip(names, numbers, strict=False)))


def _digest(model: str, text: str) -> str:
    """So that a changed price is another version."""
    return hashlib.sha256(f"{model}={text}".encode()).hexdigest()[:8]


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
    own = next((own for own in _own if fnmatchcase(model.lower(), own.pattern)), None)
    try:
        if own is not None:
            cost = own.price.calc_price(PricedUsage(**counts))
            return Price(cost["total_price"], cost["input_price"], cost["output_price"], own.version)
        found = genai_prices.calc_price(
            PricedUsage(**counts),
            model_ref=model,
            provider_id=_PROVIDERS.get(provider, provider) or None,
        )
    except (LookupError, ValueError):
        return None
    return Price(found.total_price, found.input_price, found.output_price)

"""What an inference cost, by the user's own prices or genai-prices' bundled data. An unknown model has no price, never
a price of zero.

A process prices by one list, which it is told when it starts (`use_own_prices`): whoever comes to a cost in it, on the
wire, from a file or from foreign telemetry, comes to the same.

genai-prices looks a model up and says which of its prices counts today. It also checks each price anew whenever it
computes with it, which costs more than all else; so a price is taken apart once (`_rates`) and computed with here, with
the library's operations in the library's order. One that has other kinds of tokens than ours, or that does not come to
the library's own results when it is taken apart, is left to the library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

import genai_prices
from genai_prices import Usage as PricedUsage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.data_units import unit_data
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices
from genai_prices.units import UnitRegistry

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


MAX_MODELS: Final = 512
"""(provider, model) whose entry in the list is remembered. Models are named by clients, who may name anything."""
_KINDS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")
"""The kinds of tokens that we count, as genai-prices calls them. Input includes the cache's, writes the hour's."""
_UNITS: Final = UnitRegistry(unit_data)


class _Counts(NamedTuple):
    """Tokens of each kind, 0 where none were told."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cache_write_1h: int


class _Cost(NamedTuple):
    """US dollars."""

    total: Decimal
    input: Decimal
    output: Decimal


class _Rate(NamedTuple):
    """What one kind of unit costs."""

    kind: int
    """In `_KINDS`; -1 for what is never counted here (searches, say), and costs nothing."""
    per: int
    """So many of the unit cost `price`."""
    direction: str
    """input, output or neither."""
    price: Decimal
    tiers: tuple[tuple[int, Decimal], ...]
    """(more input tokens than this, the price of all), highest first."""


@dataclass(frozen=True, slots=True)
class _Rates:
    """A price taken apart."""

    price: ModelPrice
    """Kept, so that its id is no other's."""
    rates: tuple[_Rate, ...] | None
    """In the price's order; None when genai-prices has to compute."""

    def cost(self, counts: _Counts) -> _Cost:
        """Raises:
        ValueError: the counts contradict each other.
        """
        if self.rates is None or any(type(count) is not int for count in counts):
            return _library_cost(self.price, counts)
        return _cost(self.rates, counts)


@dataclass(frozen=True, slots=True)
class _Own:
    """A price of the user's: for models whose names match."""

    pattern: str
    price: _Rates
    version: str


_own: tuple[_Own, ...] = ()
_taken: dict[int, _Rates] = {}
"""By the price's id; as many as the list has, at most."""


def use_own_prices(prices: Mapping[str, str]) -> None:
    """Sets the user's prices for this process: model, `*` in it matches, → US dollars for a million tokens as
    `input/output[/cache read[/cache write]]`. What is left out costs as input does. Exact names win over patterns.

    Raises:
        ValueError: a price is no such text.
    """
    global _own
    made = [
        _Own(model.lower(), _rates(_model_price(text)), f"own {_digest(model, text)}") for model, text in prices.items()
    ]
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


def price_of_usage(provider: str, model: str, usage: Usage, *, at: datetime | None = None) -> Price | None:
    """The same for whoever knows only this much. `provider` is gen_ai.provider.name; `at` is when, now by default."""
    if not model or usage.input_tokens is None or usage.output_tokens is None:
        return None
    counts = _Counts(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens or 0,
        usage.cache_write_tokens or 0,
        usage.cache_write_1h_tokens or 0,
    )
    name = model.lower()
    own = next((own for own in _own if fnmatchcase(name, own.pattern)), None) if _own else None
    rates = own.price if own is not None else _listed(_PROVIDERS.get(provider, provider) or None, model, at)
    try:
        cost = rates.cost(counts) if rates is not None else None
    except ValueError:
        return None
    return None if cost is None else Price(*cost, version=PRICE_VERSION if own is None else own.version)


def _listed(provider: str | None, model: str, at: datetime | None) -> _Rates | None:
    """The price that counts then; some change with the date or the time of day."""
    found = _model(provider, model)
    if found is None:
        return None
    price = found.get_prices(at or datetime.now(tz=UTC))
    taken = _taken.get(id(price))
    if taken is None:
        taken = _taken[id(price)] = _rates(price)
    return taken


@lru_cache(MAX_MODELS)
def _model(provider: str | None, model: str) -> ModelInfo | None:
    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1]
    except (LookupError, ValueError):
        return None


# --- computing -------------------------------------------------------------------------------------------------------

_PROBES: Final = tuple(
    _Counts(*counts)
    for size in (1, 1_000_000)
    for counts in (
        (977 * size, 31 * size, 0, 0, 0),
        (977 * size, 31 * size, 503, 0, 0),
        (977 * size, 31 * size, 211, 199, 0),
        (977 * size, 31 * size, 211, 199, 101),
        (977 * size, 31 * size, 0, 0, 101),
        (977 * size, 31 * size, 1009 * size, 199, 211),
    )
)
"""Tokens by which a price taken apart is held against genai-prices: of every kind, below and above its tiers, and such
as contradict each other."""


def _rates(price: ModelPrice) -> _Rates:
    try:
        rates = tuple(_rate(key, value) for key, value in vars(price).items() if value is not None)
    except (LookupError, TypeError):
        return _Rates(price, None)
    ours = all(_outcome(_Rates(price, rates), counts) == _outcome(_Rates(price, None), counts) for counts in _PROBES)
    return _Rates(price, rates if ours else None)


def _rate(key: str, value: Decimal | TieredPrices) -> _Rate:
    """Raises:
    LookupError: what the price is for may be tokens of ours, too.
    """
    unit = _UNITS.unit_for_price_key(key)
    if unit.usage_key not in _KINDS and unit.dimensions.get("family") in ("tokens", "requests"):
        raise LookupError(key)
    kind = _KINDS.index(unit.usage_key) if unit.usage_key in _KINDS else -1
    tiers = value.tiers if isinstance(value, TieredPrices) else []
    return _Rate(
        kind,
        unit.per,
        unit.dimensions.get("direction", ""),
        value.base if isinstance(value, TieredPrices) else value,
        tuple((tier.start, tier.price) for tier in reversed(tiers)),
    )


def _outcome(rates: _Rates, counts: _Counts) -> str:
    """The cost to its last digit, written out."""
    try:
        return str(rates.cost(counts))
    except ValueError:
        return "none"


def _cost(rates: tuple[_Rate, ...], counts: _Counts) -> _Cost:
    total = given = answered = Decimal(0)
    shares = _shares(counts, {rate.kind for rate in rates})
    for rate in rates:
        price = next((price for start, price in rate.tiers if counts.input > start), rate.price)
        cost = price * shares[rate.kind] / rate.per
        total += cost
        if rate.direction == "input":
            given += cost
        elif rate.direction == "output":
            answered += cost
    return _Cost(total, given, answered)


def _shares(counts: _Counts, priced: set[int]) -> tuple[int, ...]:
    """Of each kind what no priced kind within it has; at the end 0, for what is not counted."""
    read = counts.cache_read if 2 in priced else 0
    write = counts.cache_write if 3 in priced else 0
    hour = counts.cache_write_1h if 4 in priced else 0
    shares = (counts.input - read - write, counts.output, read, write - hour, hour, 0)
    if min(*counts, *shares) < 0 or (3 in priced and counts.cache_write_1h and not counts.cache_write):
        raise ValueError(f"{counts} contradict each other")
    return shares


def _library_cost(price: ModelPrice, counts: _Counts) -> _Cost:
    told = {kind: count for kind, count in zip(_KINDS, counts, strict=True) if count or kind in _KINDS[:2]}
    cost = price.calc_price(PricedUsage(**told))
    return _Cost(cost["total_price"], cost["input_price"], cost["output_price"])

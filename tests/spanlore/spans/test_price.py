"""What an inference cost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.spans import price as price_module
from spanlore.spans.price import PRICE_VERSION, Price, price_of, price_of_usage, use_own_prices


def inference(usage: Usage, *, provider: str = "anthropic", model: str | None = "claude-opus-4-5") -> Inference:
    """An inference of that usage."""
    return Inference(Dialect.ANTHROPIC_MESSAGES, provider, "chat", model, 0, 1, usage=usage)


def test_cache_reads_and_writes_have_their_own_rates() -> None:
    """100,000 in, of them 80,000 read from and 10,000 written to the cache for five minutes."""
    price = price_of(inference(Usage(100_000, 0, 80_000, 10_000)))

    assert price is not None
    assert (price.total_usd, price.output_usd, price.version) == (Decimal("0.1525"), Decimal(0), PRICE_VERSION)


def test_one_hour_writes_cost_twice_the_base() -> None:
    """5 USD a million: 10,000 tokens written for an hour are 0.10, not 0.0625."""
    price = price_of(inference(Usage(100_000, 0, 80_000, 10_000, 10_000)))

    assert price is not None and price.total_usd == Decimal("0.19")


def test_other_providers_are_found_under_their_own_names() -> None:
    """gen_ai.provider.name is not always the price list's name."""
    price = price_of(inference(Usage(1_000, 100), provider="gcp.gemini", model="gemini-2.5-pro"))

    assert price is not None and price.total_usd == price.input_usd + price.output_usd == Decimal("0.00225")


@pytest.mark.parametrize(
    "unpriced",
    [
        inference(Usage(1, 1), model="no-such-model"),
        inference(Usage(1, 1), model=None),
        inference(Usage(None, 1)),
        inference(Usage(1, None)),
        inference(Usage(5, 1, 80_000)),
    ],
)
def test_what_is_not_known_has_no_price(unpriced: Inference) -> None:
    """An unknown model, missing counts, and counts that contradict each other: never 0."""
    assert price_of(unpriced) is None


TIMES = (
    datetime(2024, 1, 1, 3, tzinfo=UTC),
    datetime(2026, 3, 1, 12, tzinfo=UTC),
    datetime(2027, 12, 31, 20, tzinfo=UTC),
)
USAGES = (
    Usage(0, 0),
    Usage(1, 1),
    Usage(199_999, 7, 150_000, 20_000),
    Usage(200_001, 7_777, 150_001, 20_003),
    Usage(1_000_003, 64_000, None, 999_999, 333_333),
    Usage(9_999, 5, 3_000, 4_000, 4_000),
    Usage(9_999, 5, 0, 0, 77),
    Usage(9_999, 5, 0, 77, 78),
    Usage(9_999, 5, 9_000, 1_000),
    Usage(9_999, 5, -1),
    Usage(10**27 + 1, 10**26 + 3, 10**25 + 7),
)


def priced_models() -> list[tuple[str, str]]:
    """(provider, model) of the list: one of each price that it has, and whatever changes with the date or the time."""
    found: dict[str, tuple[str, str]] = {}
    for provider in get_snapshot().providers:
        for model in provider.models:
            found.setdefault(
                repr(model.prices) if isinstance(model.prices, ModelPrice) else f"{provider.id} {model.id}",
                (provider.id, model.id),
            )
    return list(found.values())


def told(usage: Usage) -> genai_prices.Usage:
    """The usage as genai-prices takes it.

    Raises:
        ValueError: a count is none.
    """
    return genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        cache_write_1h_tokens=usage.cache_write_1h_tokens or None,
    )


def library_price(provider: str, model: str, usage: Usage, at: datetime) -> Price | None:
    """What genai-prices says."""
    try:
        found = genai_prices.calc_price(told(usage), model, provider_id=provider, genai_request_timestamp=at)
    except (LookupError, ValueError):
        return None
    return Price(found.total_price, found.input_price, found.output_price)


def test_every_price_of_the_list_comes_to_what_the_library_says() -> None:
    """To the last digit and the zeros behind it, for tokens of every kind, below and above tiers, at any time."""
    draw = random.Random(20261130)
    models = priced_models()
    assert len(models) > 300
    for provider, model in models:
        drawn = draw.randrange(1, 400_000)
        read, write = draw.randrange(drawn), draw.randrange(drawn)
        usages = (*draw.sample(USAGES, 2), Usage(drawn, draw.randrange(9_999), read, write, draw.randrange(write + 1)))
        for usage in usages:
            at = draw.choice(TIMES)
            assert str(price_of_usage(provider, model, usage, at=at)) == str(library_price(provider, model, usage, at))


@pytest.mark.parametrize("usage", USAGES)
@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-opus-4-5-20251101"),
        ("openai", "gpt-5-codex"),
        ("google", "gemini-2.5-pro"),
        ("google", "gemini-2.5-flash"),
        ("deepseek", "deepseek-chat"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
        ("litellm", "anthropic/claude-sonnet-4-5"),
    ],
)
def test_what_agents_use_comes_to_what_the_library_says(provider: str, model: str, usage: Usage) -> None:
    """Each of the usages, counts that contradict each other and absurd ones among them."""
    for at in TIMES:
        assert str(price_of_usage(provider, model, usage, at=at)) == str(library_price(provider, model, usage, at))


def test_a_price_that_the_library_computes_otherwise_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version with another rule would: then its result counts, not ours."""
    library = ModelPrice.calc_price

    def dearer(price: ModelPrice, usage: object) -> object:
        cost = library(price, usage)
        return {**cost, "total_price": cost["total_price"] + 1}

    monkeypatch.setattr(price_module, "_taken", {})
    monkeypatch.setattr(ModelPrice, "calc_price", dearer)

    assert price_of_usage("anthropic", "claude-opus-4-5", Usage(1_000_000, 0)) == Price(
        Decimal(6), Decimal(5), Decimal(0)
    )


def test_a_price_is_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the library not asked again: checking a price costs it more than all that a request's price takes else."""
    assert price_of_usage("anthropic", "claude-opus-4-5", Usage(1_000_000, 0)) is not None

    def refuse(*_: object, **__: object) -> object:
        raise AssertionError("asked")

    monkeypatch.setattr(ModelPrice, "calc_price", refuse)
    monkeypatch.setattr("genai_prices.data_snapshot.DataSnapshot.find_provider_model", refuse)

    assert price_of_usage("anthropic", "claude-opus-4-5", Usage(2_000_000, 0, 1_000_000)) is not None


def test_prices_are_loaded_before_they_are_needed() -> None:
    """After `load_prices` the bundled data is there; whoever waits for a price later waits no half second."""
    program = (
        "import sys\n"
        "from spanlore.spans.price import load_prices\n"
        "assert 'genai_prices.data' not in sys.modules\n"
        "load_prices()\n"
        "assert 'genai_prices.data' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def own() -> Iterator[None]:
    """Prices of the user's for one test."""
    use_own_prices({"my-*": "1/2", "my-model": "3/15/0.3/3.75", "claude-opus-4-5": "0/0"})
    yield
    use_own_prices({})


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("usage", USAGES)
def test_own_prices_come_to_what_the_library_says(usage: Usage) -> None:
    """They are computed as the list's are."""
    for model, price in {"my-other": "1/2", "my-model": "3/15/0.3/3.75", "claude-opus-4-5": "0/0"}.items():
        names = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
        made = ModelPrice(**dict(zip(names, map(Decimal, price.split("/")), strict=False)))
        given = price_of_usage("local", model, usage)
        assert (given and (given.total_usd, given.input_usd, given.output_usd)) == library_own(made, usage)


def library_own(price: ModelPrice, usage: Usage) -> tuple[Decimal, Decimal, Decimal] | None:
    """The same of a price by itself."""
    try:
        cost = price.calc_price(told(usage))
    except ValueError:
        return None
    return cost["total_price"], cost["input_price"], cost["output_price"]


@pytest.mark.usefixtures("own")
def test_own_prices_come_first() -> None:
    """By exact name, then by pattern, whoever the provider is; cache at its own rates, or at the input's."""
    exact = price_of(inference(Usage(1_000_000, 100_000, 500_000, 100_000), provider="local", model="My-Model"))
    pattern = price_of(inference(Usage(1_000_000, 0, 500_000), provider="local", model="my-other"))
    free = price_of(inference(Usage(1_000_000, 1_000_000)))

    assert exact is not None and exact.total_usd == Decimal("1.2") + Decimal("0.15") + Decimal("0.375") + Decimal("1.5")
    assert pattern is not None and pattern.total_usd == Decimal(1)
    assert free is not None and free.total_usd == 0
    assert exact.version.startswith("own ") and exact.version != pattern.version
    assert price_of(inference(Usage(1, 1), model="no-such-model")) is None


def test_a_price_that_is_none_is_refused() -> None:
    """And the old ones stay."""
    for text in ("3", "a/b", "1/2/3/4/5", "-1/2", "nan/1"):
        with pytest.raises(ValueError, match="is no price"):
            use_own_prices({"m": text})
    assert price_of(inference(Usage(1, 1), model="m")) is None

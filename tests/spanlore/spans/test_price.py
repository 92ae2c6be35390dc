"""What an inference cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.spans.price import PRICE_VERSION, price_of, use_own_prices


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

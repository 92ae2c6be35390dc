"""Memory over a long time."""

import pytest

from spanlore_proxy.bench import soak as soak_module
from spanlore_proxy.bench.load import Target
from spanlore_proxy.bench.soak import rise, soak


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([100, 150, 160, 160, 161, 160, 160, 161, 160], 0),
        ([100, 110, 120, 130, 140, 150, 160, 170, 180], 30),
        ([100, 100, 100, 100, 100, 100, 100, 300, 100], 0),
        ([100], 0),
    ],
)
def test_what_rises(series: list[float], expected: float) -> None:
    """Warming up and a single peak are no rise; a leak is."""
    assert rise(series) == expected


async def test_readings_are_spread(direct: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each tenth of the exchanges, for each process."""
    monkeypatch.setattr(soak_module, "SETTLE_S", 0)
    monkeypatch.setattr(soak_module, "SIZE_BYTES", 3_000)
    readings = iter(range(10))
    row = await soak(direct, 40, lambda: {"proxy": next(readings) * 1_000_000})

    assert row["proxy mb"] == [float(n) for n in range(10)]
    assert (row["proxy highest_mb"], row["proxy rise_mb"]) == (9.0, 3.0)

"""Percentiles of the benchmark."""

import math

from spanlore_proxy.bench.percentiles import percentile, ratio


def test_percentile_is_the_nearest_rank() -> None:
    """p50 and p99 of 1 to 100 are 51 and 100."""
    values = [float(n) for n in range(100, 0, -1)]

    assert (percentile(values, 0.5), percentile(values, 0.99)) == (51, 100)


def test_nothing_measured_is_not_zero() -> None:
    """No values give NaN, so that a failed measurement can't look fast."""
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(ratio(1, 0))

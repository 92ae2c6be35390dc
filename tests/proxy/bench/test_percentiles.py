"""Percentiles of the benchmark."""

import math
import random

from spanlore_proxy.bench.percentiles import median_of_rounds, percentile, ratio


def test_percentile_is_the_nearest_rank() -> None:
    """p50 and p99 of 1 to 100 are 51 and 100."""
    values = [float(n) for n in range(100, 0, -1)]

    assert (percentile(values, 0.5), percentile(values, 0.99)) == (51, 100)


def test_nothing_measured_is_not_zero() -> None:
    """No values give NaN, so that a failed measurement can't look fast."""
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(ratio(1, 0))
    assert math.isnan(median_of_rounds([]).value)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Of 200 measurements of 20 scattering rounds each, some 190; the median of few rounds is told a little wide."""
    inside = 0
    for seed in range(200):
        chance = random.Random(seed)
        found = median_of_rounds([chance.gauss(1.0, 0.5) for _ in range(20)], seed)
        inside += found.low <= 1.0 <= found.high

    assert 180 <= inside <= 200


def test_the_same_rounds_give_the_same_interval_and_one_outlier_does_not_move_it() -> None:
    """A hiccup of the machine is one round of many."""
    calm = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.1, 0.9]

    assert median_of_rounds(calm) == median_of_rounds(calm)
    assert median_of_rounds([*calm, 90.0]).high <= 1.1
    assert median_of_rounds(calm).straddles(1.0) and not median_of_rounds(calm).straddles(1.5)

"""The soak of a collector: its arithmetic, and one short run."""

from __future__ import annotations

import pytest

from spanlore_collector.bench.ingest import table
from spanlore_collector.bench.soak import Done, Plan, Sample, measure, result_of, slope_per_s


def test_the_slope_is_that_of_the_least_squares() -> None:
    """Of a line its own; of one sample none."""
    line = [Sample(second, 100 + 0.5 * second) for second in range(10)]

    assert slope_per_s(line) == pytest.approx(0.5)
    assert slope_per_s(line[:1]) == 0


@pytest.mark.parametrize(
    ("samples", "faults", "is_within"),
    [
        ([Sample(second * 10, 400 + min(second, 5)) for second in range(20)], [], True),
        ([Sample(second * 10, 400 + second) for second in range(20)], [], False),
        ([Sample(second * 10, 950) for second in range(20)], [], False),
        ([Sample(second * 10, 400) for second in range(20)], ["sending: refused"], False),
    ],
    ids=["filled caches", "a creep", "too much", "a fault"],
)
def test_what_is_within_budget(samples: list[Sample], faults: list[str], is_within: bool) -> None:
    """Growth in the first half is no creep."""
    assert result_of(samples, Done(faults=faults))["within_budget"] is is_within


def test_a_short_run() -> None:
    """Everything it does is done, and nothing fails."""
    lines: list[str] = []
    result = measure(Plan(seconds=2, spans_per_s=500, readers=1, quitters=1, sample_s=0.5), lines.append)
    rows = {row["what"].strip(): row for row in result["rows"]}

    assert rows["senders or readers that failed"]["faults"] == 0, result["rows"][-1]
    assert table(result).count("\n") == len(rows)
    assert rows["spans stored"]["spans"] >= 256
    assert rows["queries answered / abandoned / refused"]["queries"] > 0
    assert len(lines) >= 3

"""What was spent."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.costs import CostFilter, by_day, read_costs, today

NOW = datetime.fromtimestamp(time.time(), UTC)


def test_by_model(reader: Reader) -> None:
    """Most expensive first; a model without a price has no cost, and its calls are counted."""
    costs = read_costs(reader, CostFilter(by="model", days=7), NOW)

    assert [item.name for item in costs.names] == ["gpt-5-codex", "claude-sonnet-4-5", "local-model"]
    assert costs.names[0].cost_usd == pytest.approx(0.86)
    assert (costs.names[2].cost_usd, costs.names[2].unpriced_calls, costs.names[2].calls) == (0.0, 2, 2)
    assert costs.total.cost_usd == pytest.approx(sum(item.cost_usd for item in costs.names))
    assert costs.total.sessions == 4
    assert costs.names[2].cache_share == pytest.approx(11 / 12)


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("agent", {"codex", "claude-code", "pi"}),
        ("repository", {"github.com/acme/shop", "github.com/acme/widgets", ""}),
        ("call_class", {"main", "subagent"}),
    ],
)
def test_other_dimensions(reader: Reader, by: str, names: set[str]) -> None:
    """The same calls, divided otherwise."""
    costs = read_costs(reader, CostFilter.model_validate({"by": by, "days": 7}), NOW)

    assert {item.name for item in costs.names} == names
    assert sum(item.calls for item in costs.names) == costs.total.calls


def test_days(reader: Reader) -> None:
    """Every day asked for is there, empty ones too, and they add up to the whole."""
    costs = read_costs(reader, CostFilter(days=10), NOW)
    days = by_day(costs)

    asked = [day.day for day in days if day.day <= NOW.date().isoformat()]  # the store may be filled after midnight
    assert asked == [(NOW.date() - timedelta(days=n)).isoformat() for n in range(9, -1, -1)]
    assert sum(day.calls for day in days) == costs.total.calls
    assert days[0].calls == 0


def test_days_are_those_of_the_machines_clock(reader: Reader) -> None:
    """Far in the east it is another day: the same calls are there, counted in its days."""
    east = NOW.astimezone(timezone(timedelta(hours=14)))
    costs = read_costs(reader, CostFilter(days=10), east)

    assert costs.days[-1] == east.date().isoformat()
    assert costs.total.calls == read_costs(reader, CostFilter(days=10), NOW).total.calls


def test_only_of_a_repository(reader: Reader) -> None:
    """And nothing where there was nothing."""
    assert read_costs(reader, CostFilter(repository="github.com/acme/shop"), NOW).total.sessions == 2
    empty = read_costs(reader, CostFilter(repository="nowhere"), NOW)

    assert (empty.total.calls, empty.names, empty.cells) == (0, [], [])
    assert empty.total.cache_share is None


def test_today_has_an_offset() -> None:
    """Days are counted on this machine's clock."""
    assert today(0).utcoffset() is not None

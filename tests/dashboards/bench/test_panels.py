"""How panels are timed and judged."""

from spanlore_dashboards.bench.filling import Filled
from spanlore_dashboards.bench.panels import BUDGETS, Timed, measure, percentile, report, table
from spanlore_dashboards.grafana.boards.every import BOARDS
from support import filled_store


def test_every_panel_is_run(filled: filled_store.Filled) -> None:
    """Over the same door as Grafana's, with an answer each."""
    host = filled.collector.reader._url
    store = Filled(host, filled.collector.paths.token(), filled.now_ns, 1, filled.session, filled.trace, 0, "")
    timed = measure(store, 1)

    assert len(timed) == sum(len(board.charts) for board in BOARDS)
    assert all(item.p95_ms >= item.p50_ms > 0 and item.answer_bytes > 0 for item in timed)


def test_the_slowest_decides() -> None:
    """One panel over its budget is over budget; it stands first, and is marked."""
    limit = BUDGETS["panel_p95_ms"]
    fast, slow = Timed("spanlore-a", "fast", 1, limit, 10), Timed("spanlore-a", "slow", 2, limit + 1, 10)

    assert report([fast], 100, 3)["within_budget"] is True
    result = report([fast, slow], 100, 3)
    assert (result["within_budget"], result["rows"][0]["what"]) == (False, "a: slow")
    assert table(result).splitlines()[2].endswith("!")
    assert max(map(len, table(result).splitlines())) <= 80


def test_percentiles_of_few() -> None:
    """The value at that rank."""
    assert (percentile([3, 1, 2], 50), percentile([3, 1, 2], 95), percentile([7], 95)) == (2, 3, 7)

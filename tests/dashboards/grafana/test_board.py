"""Boards as data."""

from spanlore_dashboards.grafana.board import Board, Chart, Kind


def test_charts_in_order() -> None:
    """Over all rows."""
    first, second = (Chart(title, "Why?", Kind.STAT, "SELECT 1 AS n", ("n",)) for title in "ab")

    assert Board("u", "t", "a", (("one", (first,)), ("two", (second,)))).charts == [first, second]

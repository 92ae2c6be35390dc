"""Memories and their effect."""

from spanlore_dashboards.grafana.boards.memories import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_effect_tells_shown_from_withheld(filled: Filled) -> None:
    """By session, and says when there are too few to tell."""
    [row] = rows_of(chart_of(BOARD, "Effect"), filled)

    assert (row["memory"], row["shown"], row["withheld"], row["verdict"]) == (filled.memory, 4, 1, "too few")
    assert row["failures_with"] == (1 + 1 + 1 + 3) / 4
    assert "make check" in row["text"]


def test_opportunities_by_state(filled: Filled) -> None:
    """All three."""
    rows = rows_of(chart_of(BOARD, "Opportunities"), filled)

    assert {row["state"] for row in rows} == {"shown", "withheld", "skipped"}

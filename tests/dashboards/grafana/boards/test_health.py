"""Capture health."""

from spanlore_dashboards.grafana.boards.health import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_what_was_cut_off_is_shown(filled: Filled) -> None:
    """The one answer, in its session; nothing captured yet gives no age."""
    [cut] = rows_of(chart_of(BOARD, "Answers that were cut off"), filled)
    agents = {row["agent"]: row for row in rows_of(chart_of(BOARD, "Agents"), filled)}

    assert (cut["session"], cut["error"]) == ("session-2", "overloaded_error")
    assert (agents["claude-code"]["cut_off"], agents["codex"]["cut_off"]) == (1, 0)
    assert rows_of(chart_of(BOARD, "Last captured"), filled, agent=("nobody",)) == []

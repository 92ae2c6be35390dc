"""Sessions overview."""

from spanlore_dashboards.grafana.boards.sessions import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_figures(filled: Filled) -> None:
    """They are those of the store."""
    rows = {row["session"]: row for row in rows_of(chart_of(BOARD, "All sessions"), filled)}
    [cost] = rows_of(chart_of(BOARD, "Cost"), filled)
    [share] = rows_of(chart_of(BOARD, "Input from the cache"), filled)

    assert len(rows) == 5
    assert (rows["session-0"]["failed"], rows["session-0"]["tool_calls"], rows["session-0"]["turns"]) == (1, 2, 1)
    assert rows["session-0"]["first_prompt"] == "Run the tests."
    assert rows["session-4"]["cost"] is None
    assert rows["session-1"]["memories"] == 0 and rows["session-0"]["memories"] == 1
    assert round(cost["cost"], 4) == round(sum(row["cost"] or 0 for row in rows.values()), 4) > 0
    assert share["share"] == 0.7


def test_choices_narrow(filled: Filled) -> None:
    """One repository, one agent."""
    chart = chart_of(BOARD, "Sessions")

    assert rows_of(chart, filled)[0]["sessions"] == 5
    assert rows_of(chart, filled, repository=("github.com/example/other",))[0]["sessions"] == 1
    assert rows_of(chart, filled, agent=("claude-code",))[0]["sessions"] == 2

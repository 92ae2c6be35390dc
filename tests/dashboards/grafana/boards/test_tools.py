"""Tools and failures."""

from spanlore_dashboards.grafana.boards.tools import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_what_comes_back_and_what_goes_in_circles(filled: Filled) -> None:
    """A failure of four sessions, and one that came three times in a session."""
    first, *_ = rows_of(chart_of(BOARD, "Failures that came back"), filled)
    [circle] = rows_of(chart_of(BOARD, "Sessions that went in circles"), filled)
    tools = rows_of(chart_of(BOARD, "Tools"), filled)

    assert (first["sessions"], first["times"]) == (4, 4)
    assert "unrecognized subcommand" in first["error"]
    assert (circle["session"], circle["times"]) == ("session-4", 3)
    assert [row["calls"] for row in tools] == [11]

"""The JSON is what the code writes, and what Grafana and its linter take."""

import json

import pytest

from spanlore_dashboards.grafana.board import Board
from spanlore_dashboards.grafana.boards.every import BOARDS
from spanlore_dashboards.grafana.generate import FOLDER, dashboard_json, files
from support.dashboards import lints


def test_the_files_are_what_the_code_writes() -> None:
    """`python -m spanlore_dashboards.grafana` writes them; none is left over."""
    written = dict(files())

    assert set(FOLDER.glob("*.json")) == set(written)
    assert [path.name for path, text in written.items() if path.read_text() != text] == []


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_the_linter_has_no_complaint(board: Board) -> None:
    """Every rule of dashboard-linter that applies."""
    lints(json.loads(dashboard_json(board)))


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_each_chart_is_a_panel(board: Board) -> None:
    """With its query in the datasource's form: 0 a time series, 1 a table, 3 a trace."""
    document = json.loads(dashboard_json(board))
    panels = [panel for panel in document["panels"] if panel["type"] != "row"]

    assert [panel["title"] for panel in panels] == [chart.title for chart in board.charts]
    for panel, chart in zip(panels, board.charts, strict=True):
        [target] = panel["targets"]
        assert target["rawSql"] == chart.sql.strip()
        assert target["format"] == {"timeseries": 0, "traces": 3}.get(panel["type"], 1)
        assert target["editorType"] == ("builder" if chart.meta else "sql")
    assert document["uid"] == board.uid
    assert document["schemaVersion"] <= 42

"""What every dashboard has to keep: its queries run and give what they say, and Grafana's linter has no complaint."""

from __future__ import annotations

from typing import Any

from spanlore_dashboards.grafana.board import Board, Chart
from spanlore_dashboards.grafana.macros import ALL, Looking, expanded
from support.filled_store import Filled

UNITLESS = ("table", "traces", "row", "text")


def looking_at(store: Filled, **choices: str | tuple[str, ...]) -> Looking:
    """The last six hours, everything chosen but what `choices` say."""
    usual: dict[str, str | tuple[str, ...]] = {
        "repository": ALL,
        "agent": ALL,
        "model": ALL,
        "session": store.session,
        "trace": store.trace,
        "web": "http://127.0.0.1:7720",
    }
    now_s = store.now_ns // 10**9
    # What the store wrote itself bears its own time, on a busy machine minutes later.
    return Looking(now_s - 6 * 3600, now_s + 3600, 600, usual | choices)


def rows_of(chart: Chart, store: Filled, **choices: str | tuple[str, ...]) -> list[dict[str, Any]]:
    """The chart's rows; their columns are those it declares, in order."""
    rows = store.rows(expanded(chart.sql, looking_at(store, **choices)))
    assert all(tuple(row) == chart.columns for row in rows), chart.title
    return rows


def chart_of(board: Board, title: str) -> Chart:
    """By its title."""
    return next(chart for chart in board.charts if chart.title == title)


def runs_on(board: Board, store: Filled) -> None:
    """Every chart answers with rows, for everything and for one choice, and with none where nothing was chosen."""
    narrow: dict[str, str | tuple[str, ...]] = {
        "repository": ("github.com/example/tally", "it's none"),
        "agent": ("claude-code",),
        "model": ("claude-sonnet-5-5",),
    }
    for chart in board.charts:
        assert rows_of(chart, store), chart.title
        rows_of(chart, store, **narrow)
        rows_of(chart, store, repository=("nothing'",), agent=("nobody",), model=("none",), session="no", trace="")
    for variable in board.variables:
        if variable.sql:
            assert store.rows(expanded(variable.sql, looking_at(store))), variable.name


def lints(document: dict[str, Any]) -> None:
    """dashboard-linter's rules that are not about Prometheus or Loki: template-datasource, panel-datasource,
    template-on-time-change-reload, panel-title-description, panel-units, panel-no-targets, uneditable-dashboard."""
    variables = {variable["name"]: variable for variable in document["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "grafana-clickhouse-datasource"
    for variable in variables.values():
        if variable["type"] == "query":
            assert variable["refresh"] == 2, variable["name"]
            assert variable["datasource"]["uid"] == "${datasource}"
    assert document["editable"] is False
    panels = [panel for panel in document["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in document["panels"]}) == len(document["panels"])
    assert len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"] and panel["description"].endswith((".", "?")), panel["title"]
        assert "?" in panel["description"] or panel["type"] == "traces", panel["title"]
        assert panel["datasource"] == {"type": "grafana-clickhouse-datasource", "uid": "${datasource}"}
        assert panel["targets"], panel["title"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
        if panel["type"] not in UNITLESS:
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]

"""Boards → Grafana's dashboard JSON, by grafana-foundation-sdk; `python -m spanlore_dashboards.grafana` writes it.

Only development needs the SDK: what is written stands beside this file. It has no query of the ClickHouse datasource,
so that one is here (its fields: plugin 4.x, src/types/sql.ts: format 0 time series, 1 table, 3 traces).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from grafana_foundation_sdk.builders import common as build_common
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as made

from spanlore_dashboards.grafana.board import Board, Chart, Column, Kind, Link, Variable
from spanlore_dashboards.grafana.boards.every import BOARDS

DATASOURCE: Final = "grafana-clickhouse-datasource"
FOLDER: Final = Path(__file__).parent / "json"
_REF: Final = made.DataSourceRef(type_val=DATASOURCE, uid="${datasource}")
_FORMATS: Final = {Kind.TIMESERIES: 0, Kind.TRACES: 3}
_TABLE_FORMAT: Final = 1
_QUERY_TYPES: Final = {Kind.TIMESERIES: "timeseries", Kind.TRACES: "traces"}


class _Query(Dataquery):
    """A query in SQL, or in the plugin's builder when the chart has its options."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart

    def to_json(self) -> dict[str, Any]:
        chart = self._chart
        return {
            "refId": "A",
            "datasource": {"type": DATASOURCE, "uid": "${datasource}"},
            "editorType": "builder" if chart.meta else "sql",
            "queryType": _QUERY_TYPES.get(chart.kind, "table"),
            "format": _FORMATS.get(chart.kind, _TABLE_FORMAT),
            "rawSql": chart.sql.strip(),
            **chart.meta,
        }


class _QueryBuilder(Builder[Dataquery]):
    def __init__(self, chart: Chart) -> None:
        self._chart = chart

    def build(self) -> Dataquery:
        return _Query(self._chart)


def dashboard_json(board: Board) -> str:
    """The dashboard as Grafana imports it, with a line feed at its end."""
    dashboard = (
        build.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags(["spanlore"])
        .time(board.time_from, "now")
        .timezone("browser")
        .tooltip(made.DashboardCursorSync.CROSSHAIR)
        .readonly()
        .refresh(board.refresh)
        .with_variable(_datasource())
        .link(_elsewhere())
    )
    for variable in board.variables:
        dashboard = dashboard.with_variable(_variable(variable))
    for heading, charts in board.rows:
        dashboard = dashboard.with_row(build.Row(heading))
        for chart in charts:
            dashboard = dashboard.with_panel(_panel(chart))
    built = dashboard.build()
    for number, panel in enumerate(built.panels or (), start=1):
        panel.id_val = number
    return json.dumps(built, cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Each file that belongs beside this module, with its content."""
    for board in BOARDS:
        yield FOLDER / f"{board.uid}.json", dashboard_json(board)


def _datasource() -> build.DatasourceVariable:
    return build.DatasourceVariable("datasource").label("Data source").type(DATASOURCE)


def _elsewhere() -> build.DashboardLink:
    return (
        build.DashboardLink("spanlore")
        .type(made.DashboardLinkType.DASHBOARDS)
        .tags(["spanlore"])
        .as_dropdown(True)
        .keep_time(True)
    )


def _variable(variable: Variable) -> Builder[made.VariableModel]:
    if not variable.sql:
        return (
            build.TextBoxVariable(variable.name)
            .label(variable.label)
            .description(variable.about)
            .default_value(variable.default)
            .current(made.VariableOption(text=variable.default, value=variable.default))
        )
    query: dict[str, object] = {"editorType": "sql", "rawSql": variable.sql, "queryType": "table"}
    return (
        build.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(_REF)
        .query(query)
        .refresh(made.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .multi(True)
        .include_all(True)
        .current(made.VariableOption(selected=True, text=["All"], value=["$__all"]))
        .sort(made.VariableSort.ALPHABETICAL_ASC)
    )


def _panel(chart: Chart) -> Builder[made.Panel]:
    panel: Any = timeseries.Panel() if chart.kind is Kind.TIMESERIES else build.Panel().type(chart.kind.value)
    panel = (
        panel.title(chart.title)
        .description(chart.question)
        .datasource(_REF)
        .span(chart.width)
        .height(chart.height)
        .with_target(_QueryBuilder(chart))
    )
    if chart.kind is Kind.STAT:
        # Not for tables: Grafana would write it into each empty cell.
        panel = panel.no_value("–")
    if chart.kind not in (Kind.TABLE, Kind.TRACES):
        panel = panel.unit(chart.unit).min(0)
    if chart.warn_at is not None or chart.bad_at is not None:
        panel = panel.thresholds(_thresholds(chart))
    if chart.kind is Kind.TIMESERIES:
        return _lines(panel, chart)
    options = _OPTIONS[chart.kind]
    panel = panel.options({**options, "xField": chart.columns[0]} if chart.kind is Kind.TREND else options)
    for name, column in _columns(chart).items():
        panel = panel.override_by_name(name, list(_properties(column)))
    built: Builder[made.Panel] = panel
    return built


_OPTIONS: Final[dict[Kind, dict[str, Any]]] = {
    Kind.STAT: {
        "reduceOptions": {"values": False, "calcs": ["lastNotNull"], "fields": ""},
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "auto",
    },
    Kind.TABLE: {"showHeader": True, "cellHeight": "sm", "footer": {"show": False, "reducer": ["sum"], "fields": ""}},
    Kind.BARS: {
        "orientation": "horizontal",
        "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    },
    Kind.TRACES: {},
    Kind.TREND: {
        "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
}


_WIDTHS: Final = {
    **dict.fromkeys(("started", "last_seen", "updated", "time", "at"), 170),
    **dict.fromkeys(("turn", "turns", "calls", "tools", "times", "failed", "shown", "pinned"), 75),
    **dict.fromkeys(("duration", "tokens", "cost", "memories", "sessions", "withheld", "status", "outcome"), 95),
    **dict.fromkeys(("tool_calls", "exit_code", "confidence", "class", "kind", "state", "end", "p50", "p95"), 100),
    **dict.fromkeys(("agent", "branch", "tool", "program", "what", "source", "total", "time_lost", "verdict"), 120),
    **dict.fromkeys(("session", "memory", "failures_with", "failures_without", "model"), 135),
    **dict.fromkeys(("repository", "scope"), 210),
}
"""Pixels that these columns need; Grafana gives all the same, and cuts the texts that are there to be read."""


def _columns(chart: Chart) -> Mapping[str, Column]:
    """How each column is shown. The widest text gets what the others leave."""
    if chart.kind is not Kind.TABLE:
        return chart.formats
    known = {name: chart.formats.get(name, Column()) for name in chart.columns}
    sized = {name: replace(column, width=column.width or _WIDTHS.get(name, 0)) for name, column in known.items()}
    return {name: column for name, column in sized.items() if column != Column()}


def _lines(panel: Any, chart: Chart) -> Builder[made.Panel]:
    panel = panel.fill_opacity(70 if chart.stacked else 0).show_points(common.VisibilityMode.AUTO)
    panel = panel.legend(
        build_common.VizLegendOptions()
        .show_legend(True)
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
    )
    # All series at one time, the largest first: most of these charts are read across.
    panel = panel.tooltip(
        build_common.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)
    )
    if chart.stacked:
        panel = panel.draw_style(common.GraphDrawStyle.BARS)
        panel = panel.stacking(build_common.StackingConfig().mode(common.StackingMode.NORMAL))
    else:
        # Agents rest: points with nothing beside them are too small to be seen.
        panel = panel.span_nulls(True)
    for name, color in chart.colors.items():
        fixed = made.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color})
        panel = panel.override_by_name(name, [fixed])
    built: Builder[made.Panel] = panel
    return built


def _thresholds(chart: Chart) -> build.ThresholdsConfig:
    steps = [made.Threshold(value=None, color="green")]
    for value, color in ((chart.warn_at, "orange"), (chart.bad_at, "red")):
        if value is not None:
            steps.append(made.Threshold(value=value, color=color))
    return build.ThresholdsConfig().mode(made.ThresholdsMode.ABSOLUTE).steps(steps)


def _properties(column: Column) -> Iterator[made.DynamicConfigValue]:
    if column.unit:
        yield made.DynamicConfigValue("unit", column.unit)
    if column.width:
        yield made.DynamicConfigValue("custom.width", column.width)
    if column.links:
        yield made.DynamicConfigValue("links", [_link(link) for link in column.links])
    if column.is_hidden:
        yield made.DynamicConfigValue("custom.hidden", True)
    if column.colors:
        options = {value: {"color": color, "index": n} for n, (value, color) in enumerate(column.colors.items())}
        yield made.DynamicConfigValue("mappings", [{"type": "value", "options": options}])
        yield made.DynamicConfigValue("custom.cellOptions", {"type": "color-text"})


def _link(link: Link) -> dict[str, Any]:
    return {"title": link.title, "url": link.url, "targetBlank": link.new_tab}

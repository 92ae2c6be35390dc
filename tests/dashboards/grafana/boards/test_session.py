"""Session explorer, and the trace panel's format."""

from typing import Any

from spanlore_dashboards.grafana.boards.session import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled

NEEDED = {"traceID", "spanID", "parentSpanID", "serviceName", "operationName", "startTime", "duration"}
"""Of the trace panel, letter by letter (grafana-clickhouse-datasource, docs on traces)."""


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_trace_panels_have_the_datasources_columns(filled: Filled) -> None:
    """Milliseconds, '' for a root, tags as a list of pairs; both panels show the same spans."""
    own, otel = (chart for chart in BOARD.charts if chart.kind == "traces")
    spans = rows_of(own, filled)

    assert set(own.columns) >= NEEDED and set(otel.columns) >= NEEDED
    assert {row["traceID"] for row in spans} == {filled.trace}
    assert {row["spanID"] for row in spans} == {row["spanID"] for row in rows_of(otel, filled)}
    assert any(row["duration"] == 2000 for row in spans)
    assert {"key": "gen_ai.operation.name", "value": "chat"} in [tag for row in spans for tag in row["tags"]]
    assert otel.meta["builderOptions"]["meta"]["otelEnabled"] is True
    assert any(row["statusCode"] == 2 for row in spans)


def test_without_a_trace_the_first_is_shown(filled: Filled) -> None:
    """Coming from the overview with a session alone."""
    own = chart_of(BOARD, "Trace of the turn")

    assert {row["traceID"] for row in rows_of(own, filled, trace="")} == {filled.trace}


def test_the_sessions_own_figures(filled: Filled) -> None:
    """Of this session only."""

    def only(title: str) -> dict[str, Any]:
        return rows_of(chart_of(BOARD, title), filled)[0]

    assert only("Failed tool calls")["failed"] == 1
    assert only("Memories given")["memories"] == 1
    assert only("Turns")["trace"] == filled.trace
    assert only("Tool calls")["outcome"] == "failure"

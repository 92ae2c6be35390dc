"""Cost and cache."""

from spanlore_dashboards.grafana.boards.cost import BOARD
from support.dashboards import chart_of, rows_of, runs_on
from support.filled_store import Filled


def test_every_query_runs(filled: Filled) -> None:
    """With rows and the declared columns."""
    runs_on(BOARD, filled)


def test_figures_add_up(filled: Filled) -> None:
    """The sum over time is the whole; calls without a price are counted, not priced at 0."""
    [whole] = rows_of(chart_of(BOARD, "Cost"), filled)
    by_model = rows_of(chart_of(BOARD, "Cost by model"), filled)
    [unpriced] = rows_of(chart_of(BOARD, "Calls without a price"), filled)
    [model] = rows_of(chart_of(BOARD, "Models"), filled)
    tokens = rows_of(chart_of(BOARD, "Tokens by kind"), filled)

    assert round(sum(row["cost"] or 0 for row in by_model), 6) == round(whole["cost"], 6) > 0
    assert unpriced["calls"] == model["unpriced"] > 0
    assert model["prices"].startswith("genai-prices") or ", genai-prices" in model["prices"]
    fresh, reads = sum(row["fresh"] for row in tokens), sum(row["cache reads"] for row in tokens)
    assert fresh * 7 == reads * 2

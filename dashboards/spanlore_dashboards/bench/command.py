"""`spanlore bench dashboards`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spanlore.main import group


def register(app: typer.Typer) -> None:
    """Adds `bench dashboards`."""
    group(app, "bench", "Measure speed, as ratios within one run.").command("dashboards")(dashboards)


def dashboards(
    spans: Annotated[int, typer.Option(min=17, help="How many spans the store is filled with.")] = 1_000_000,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each panel.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """How long every panel's query takes, on a store of its own, over the ClickHouse interface."""
    import tempfile
    from pathlib import Path

    from spanlore_dashboards.bench.filling import filled
    from spanlore_dashboards.bench.panels import measure, report, table

    typer.echo(f"filling a store with {spans:,} spans …", err=True)
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), spans) as store:
        result = report(measure(store, runs), store.spans, runs)
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)

"""`spanlore bench ingest`."""

from __future__ import annotations

import json

import typer

from spanlore.main import group


def register(app: typer.Typer) -> None:
    """Adds `bench ingest`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("ingest")
    def ingest(
        spans: int = typer.Option(10_240, min=512, help="Spans a round."),
        batch: int = typer.Option(512, min=1, help="Spans a request."),
        senders: int = typer.Option(4, min=1, help="Requests at once."),
        rounds: int = typer.Option(3, min=1, help="Rounds; their median counts."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Spans a second until they can be queried, against the engine alone; memory of the collector."""
        from spanlore_collector.bench.ingest import Plan, measure, table

        result = measure(Plan(spans, batch, senders, rounds))
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)

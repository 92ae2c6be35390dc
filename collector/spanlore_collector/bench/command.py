"""`spanlore bench ingest`, `spanlore bench store`, `spanlore bench queries` and `spanlore bench soak`."""

from __future__ import annotations

import json
from typing import Any

import typer

from spanlore.main import group
from spanlore.terminal import tell


def register(app: typer.Typer) -> None:
    """Adds `bench ingest`, `bench store`, `bench queries` and `bench soak`."""
    made = group(app, "bench", "Measure speed, as ratios within one run.")
    made.command("ingest")(ingest)
    made.command("store")(store)
    made.command("queries")(queries)
    made.command("soak")(soak)


def ingest(
    sizes: str = typer.Option("10240", "--spans", help="Spans a round; several sizes as 10000,100000,1000000."),
    batch: int = typer.Option(512, min=1, help="Spans a request."),
    senders: int = typer.Option(4, min=1, help="Requests at once."),
    rounds: int = typer.Option(3, min=1, help="Rounds of each size; their median counts."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
) -> None:
    """Spans a second until they can be queried, against the engine alone; latency; memory of the collector."""
    from spanlore_collector.bench.ingest import Plan, measure

    _show(measure(Plan(_numbers(sizes), batch, senders, rounds)), as_json=as_json)


def store(
    sessions: int = typer.Option(40, min=1, help="Sessions of 48 spans."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
) -> None:
    """Bytes on disk against the distinct content of sessions, and whether resending their history adds any."""
    from spanlore_collector.bench.store import measure

    _show(measure(sessions), as_json=as_json)


def queries(
    sizes: str = typer.Option("10000,100000,1000000", "--spans", help="Spans of the stores; several sizes."),
    rounds: int = typer.Option(20, min=1, help="How often everything is asked."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
) -> None:
    """What people look at: last sessions, one session, dashboards; p50 and p95 as the store grows."""
    from spanlore_collector.bench import queries as bench

    result = bench.measure(bench.Plan(_numbers(sizes), rounds))
    typer.echo(bench.table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)


def soak(
    minutes: float = typer.Option(10, min=0.05, help="How long."),
    spans_per_s: int = typer.Option(500, min=1, help="Spans sent a second."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
) -> None:
    """Whether the collector's memory stays flat under spans, logs, queries, and clients that hang up."""
    from spanlore_collector.bench.soak import Plan, measure

    plan = Plan(minutes * 60, spans_per_s, sample_s=min(10.0, minutes * 6))
    _show(measure(plan, lambda line: typer.echo(line, err=as_json)), as_json=as_json)


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    from spanlore_collector.bench.ingest import table

    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(word) for word in text.split(","))
    except ValueError:
        numbers = (0,)
    if min(numbers) < 512:
        tell(f"spanlore: --spans is one number or several, each at least 512, not {text!r}")
        raise typer.Exit(2)
    return numbers

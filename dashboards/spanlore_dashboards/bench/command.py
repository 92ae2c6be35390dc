"""`spanlore bench dashboards` and `bench pages`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spanlore.main import group


def register(app: typer.Typer) -> None:
    """Adds `bench dashboards`."""
    bench = group(app, "bench", "Measure speed, as ratios within one run.")
    bench.command("dashboards")(dashboards)
    bench.command("pages")(pages)


def pages(
    sessions: Annotated[int, typer.Option(min=1, help="How many sessions the store has.")] = 10_000,
    spans: Annotated[int, typer.Option(min=61, help="How many spans the long session has.")] = 3_000,
    runs: Annotated[int, typer.Option(min=1, help="Requests of each page.")] = 20,
    with_browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Look at the pages in Chromium, too, where it is installed.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """What the web page costs at size, on a store of its own: CPU time of page, collector and browser, and time."""
    import tempfile
    import time
    from pathlib import Path

    import psutil

    from spanlore_dashboards.bench.filling import LONG, SPANS_OF_A_SESSION, filled, long_session
    from spanlore_dashboards.bench.pages import ask, look, report, serving, table
    from spanlore_dashboards.bench.pages import pages as wanted_of

    typer.echo(f"filling a store with {sessions:,} sessions …", err=True)
    long = long_session(spans, time.time_ns())
    with (
        tempfile.TemporaryDirectory() as folder,
        filled(Path(folder), sessions * SPANS_OF_A_SESSION, long) as store,
        serving(Path(folder)) as site,
    ):
        wanted = wanted_of(store, LONG)
        asked = ask(site, psutil.Process(store.pid), wanted, runs)
        seen = look(site, wanted, max(runs // 4, 1)) if with_browser else None
    if with_browser and seen is None:
        typer.echo("no Chromium, or no Playwright to drive it: only what the server does was measured", err=True)
    result = report(asked, seen, {"sessions": sessions, "long_spans": len(long), "runs": runs})
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)


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

"""`spanlore bench mine`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spanlore.main import group
from spanlore.terminal import tell


def register(app: typer.Typer) -> None:
    """Adds `bench mine`."""
    group(app, "bench", "Measure speed, as ratios within one run.").command("mine")(mine)


def mine(
    sizes: Annotated[str, typer.Option("--spans", help="Sizes of the stores: 10000,100000,1000000.")] = "10000,100000",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Spans mined a second as the store grows, and what a run without news costs."""
    from spanlore_extractor.bench.mining import measure, table

    words = sizes.split(",")
    if not all(word.strip().isdecimal() and int(word) >= 100 for word in words):
        tell(f"spanlore: --spans is one number or several, each at least 100, not {sizes!r}")
        raise typer.Exit(2)
    result = measure([int(word) for word in words])
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)

"""`spanlore eval detectors`: precision and recall on a folder with labelled sessions. `spanlore eval effect`: planted
effects of memories, found or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spanlore.main import group


def register(app: typer.Typer) -> None:
    """Adds `eval detectors` and `eval effect`."""
    evaluations = group(app, "eval", "Measure what is understood and learned, on recordings.")
    evaluations.command("detectors")(detectors)
    evaluations.command("effect")(planted)


def detectors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with labels.jsonl and sessions/.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Run the detectors over the labelled sessions of DIR: precision and recall, beside the baselines'."""
    from spanlore_extractor.evaluation.detectors import evaluate, table

    if not (folder / "labels.jsonl").is_file():
        typer.echo(f"spanlore: there is no labels.jsonl in {folder}", err=True)
        raise typer.Exit(2)
    try:
        result = evaluate(folder)
    except (OSError, ValueError, KeyError) as error:
        typer.echo(f"spanlore: can't read the labelled sessions of {folder}: {error!r}", err=True)
        raise typer.Exit(1) from None
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)


def planted(
    simulations: Annotated[int, typer.Option(min=20, help="Of each scenario.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Plant effects of memories and see whether they are found, and harmful memories retired."""
    from spanlore_extractor.effect.simulate import evaluate, table

    result = evaluate(simulations=simulations)
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)

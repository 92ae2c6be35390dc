"""`spanlore eval detectors`: precision and recall on a folder with labelled sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spanlore.main import group


def register(app: typer.Typer) -> None:
    """Adds `eval detectors`."""
    group(app, "eval", "Measure what is understood and learned, on recordings.").command("detectors")(detectors)


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

"""`spanlore eval detectors`: precision and recall on a folder with labelled sessions. `spanlore eval memories`: what
such a folder would be remembered of, for reading. `spanlore eval effect`: planted effects of memories, found or not.
`spanlore eval recall`: questions in other words than the memories', found or not, by words and by meaning.
`spanlore eval hints`: which hints real sessions would have got, and how many of them did not fit."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from spanlore.main import group
from spanlore.terminal import tell, write


def register(app: typer.Typer) -> None:
    """Adds `eval detectors`, `eval memories`, `eval effect`, `eval recall` and `eval hints`."""
    evaluations = group(app, "eval", "Measure what is understood and learned, on recordings.")
    evaluations.command("detectors")(detectors)
    evaluations.command("memories")(memories)
    evaluations.command("effect")(planted)
    evaluations.command("recall")(recalled)
    evaluations.command("hints")(hinted)


def detectors(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with labels.jsonl and sessions/.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Run the detectors over the labelled sessions of DIR: precision and recall, beside the baselines'."""
    from spanlore_extractor.evaluation.detectors import evaluate, table

    if not (folder / "labels.jsonl").is_file():
        tell(f"spanlore: there is no labels.jsonl in {folder}")
        raise typer.Exit(2)
    try:
        result = evaluate(folder)
    except (OSError, ValueError, KeyError) as error:
        tell(f"spanlore: can't read the labelled sessions of {folder}: {error!r}")
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


def memories(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with sessions/AGENT/REPOSITORY/FILE.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """List what all session files of DIR together would leave in memory: shown ones first, then what waits."""
    from spanlore.redaction.redact import Redactor
    from spanlore_extractor.evaluation.corpus import memories_of, rows_of

    if not (folder / "sessions").is_dir():
        tell(f"spanlore: there is no folder sessions in {folder}")
        raise typer.Exit(2)
    corpus = memories_of(folder, Redactor())
    rows = rows_of(corpus)
    for row in rows:
        write(f"{row['status']}  {row['kind']}  sessions: {row['sessions']}  {row['scope'][-40:]}")
        for line in textwrap.wrap(row["text"], 76):
            write(f"    {line}")
    left = [{"kind": kind, "reason": reason, "count": count} for kind, reason, count in corpus.left]
    for one in left:
        tell(f"left: {one['count']:>3} {one['kind']}: {one['reason']}")
    tell(f"{corpus.sessions} sessions, {corpus.candidates} candidates, {len(rows)} memories")
    if as_json:
        counts = {"sessions": corpus.sessions, "candidates": corpus.candidates, "skipped_files": corpus.skipped}
        typer.echo(json.dumps({"bench": "eval memories", "rows": rows, "left": left, **counts}))


def recalled(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Find the memory that answers a question, among 36, 1,000 and 10,000: by words, and by words and meaning."""
    from spanlore_extractor.evaluation.recalling import evaluate, table

    result = evaluate()
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))


def hinted(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with sessions/AGENT/REPOSITORY/FILE.")],
    listing: Annotated[bool, typer.Option("--list", help="Every hint, for reading.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on the last line.")] = False,
) -> None:
    """Leave each session of DIR out once: which hints would what the others teach put beside its failures, and how
    many of them do not fit?"""
    from spanlore_extractor.evaluation import hinting

    if not (folder / "sessions").is_dir():
        tell(f"spanlore: there is no folder sessions in {folder}")
        raise typer.Exit(2)
    result = hinting.evaluate(folder)
    if listing:
        for text in hinting.listing(result):
            typer.echo(text)
    typer.echo(hinting.table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)

"""`spanlore eval wire`: folds every recording of a folder, and says what was not understood."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from spanlore.main import group
from spanlore.terminal import tell

if TYPE_CHECKING:
    from spanlore_proxy.wire.dialect import Endpoint
    from spanlore_proxy.wire.exchange import Exchange

NAME = "wire"
BUDGETS = {"failed": 0, "unknown_events": 0, "unreadable_files": 0}
"""Nothing raises, nothing is unknown, over the dialects that have a codec."""


def register(app: typer.Typer) -> None:
    """Adds `eval wire`."""

    @group(app, "eval", "Measure what is understood and learned, on recordings.").command(NAME)
    def wire(
        folder: Path = typer.Argument(metavar="DIR", help="Folder with recordings: VCR YAML, *.chunks.txt, *.json."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Fold every recorded exchange below DIR: how many are understood, partial, failed, per dialect."""
        report(folder, evaluate, table, as_json=as_json)


def report(
    folder: Path,
    evaluate: Callable[[Path], dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    """Prints what `evaluate` finds in a folder of recordings; exit code 2 without one, 1 outside the budget."""
    if not folder.is_dir():
        tell(f"spanlore: {folder} is not a directory")
        raise typer.Exit(2)
    result = evaluate(folder)
    typer.echo(table(result))
    if as_json:
        typer.echo(json.dumps(result))
    if not result["within_budget"]:
        raise typer.Exit(1)


@dataclass(slots=True)
class Tally:
    """What happened to the exchanges of one dialect."""

    exchanges: int = 0
    folded: int = 0
    """Whole, an answer or an error."""
    partial: int = 0
    failed: int = 0
    """The fold or the request's parser raised, which it never may; or a whole request could not be parsed."""
    skipped: int = 0
    """No codec for this dialect yet, or no model call (batches, embeddings)."""
    unknown: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def row(self, dialect: str) -> dict[str, Any]:
        """As one row of the report."""
        return {
            "what": dialect,
            "exchanges": self.exchanges,
            "folded": self.folded,
            "partial": self.partial,
            "failed": self.failed,
            "skipped": self.skipped,
            "unknown_events": self.unknown.total(),
            "unknown_by_name": dict(self.unknown.most_common()),
            "failures": self.failures,
        }


def evaluate(folder: Path) -> dict[str, Any]:
    """The report over all recordings below the folder."""
    from spanlore_proxy.importers.cassettes import MalformedRecordingError, read_exchanges, recordings_below
    from spanlore_proxy.wire.dialect import recognise_any

    tallies: dict[str, Tally] = {}
    files = unreadable = elsewhere = 0
    for path in recordings_below(folder):
        files += 1
        try:
            exchanges = read_exchanges(path)
        except (MalformedRecordingError, OSError) as fault:
            unreadable += 1
            tell(f"spanlore: {path.name}: {fault}")
            continue
        for exchange in exchanges:
            endpoint = recognise_any(exchange.method, exchange.host, exchange.path)
            if endpoint is None:
                elsewhere += 1
                continue
            take(tallies.setdefault(endpoint.dialect.value, Tally()), exchange, endpoint, path.name)
    rows = [tallies[dialect].row(dialect) for dialect in sorted(tallies)]
    return judge(rows, files=files, unreadable_files=unreadable, other_exchanges=elsewhere)


def take(tally: Tally, exchange: Exchange, endpoint: Endpoint, name: str) -> None:
    """Folds one exchange and counts what came of it."""
    from spanlore_proxy.wire.codecs import CODECS, fold_exchange, read_request
    from spanlore_proxy.wire.dialect import Kind

    tally.exchanges += 1
    codec = CODECS.get(endpoint.dialect)
    if codec is None or endpoint.kind is Kind.OTHER:
        tally.skipped += 1
        return
    request = None
    try:
        if exchange.request_body:
            request = read_request(exchange.request_body, endpoint)
            for message in request.raw_messages:
                codec.message_digest(message)
                codec.decode_message(message)
        response = fold_exchange(exchange, endpoint.dialect, request)
    except Exception as fault:  # whatever it is: it is what this command is to find
        tally.failed += 1
        tally.failures.append(f"{name}: {type(fault).__name__}: {fault}"[:200])
        return
    tally.unknown.update(response.unknown_events)
    if response.is_complete:
        tally.folded += 1
    else:
        tally.partial += 1


def judge(rows: list[dict[str, Any]], *, files: int, unreadable_files: int, other_exchanges: int) -> dict[str, Any]:
    """The report's one object: rows, budgets, and whether they were kept."""
    within = all(row["failed"] == 0 and row["unknown_events"] == 0 for row in rows) and unreadable_files == 0
    return {
        "bench": f"eval {NAME}",
        "rows": rows,
        "files": files,
        "unreadable_files": unreadable_files,
        "other_exchanges": other_exchanges,
        "budgets": BUDGETS,
        "within_budget": within,
    }


def table(result: dict[str, Any]) -> str:
    """The report for people."""
    columns = ("exchanges", "folded", "partial", "failed", "unknown_events", "skipped")
    lines = [f"{'dialect':<22}" + "".join(f"{column:>16}" for column in columns)]
    for row in result["rows"]:
        lines.append(f"{row['what']:<22}" + "".join(f"{row[column]:>16}" for column in columns))
        lines += _details(row["unknown_by_name"].items())
        lines += [f"    failed: {failure}" for failure in row["failures"]]
    lines.append(
        f"{result['files']} files, {result['unreadable_files']} unreadable; "
        f"{result['other_exchanges']} exchanges of no known dialect"
    )
    return "\n".join(lines)


def _details(unknown: Iterable[tuple[str, int]]) -> list[str]:
    return [f"    unknown: {name} ×{count}" for name, count in unknown]

"""`spanlore eval insertions`: into every recorded request of a folder all that could be inserted, and out again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from spanlore.main import group
from spanlore_proxy.cli.evaluate import report

if TYPE_CHECKING:
    from spanlore_proxy.injection.rewrite import Addition
    from spanlore_proxy.wire.dialect import Endpoint
    from spanlore_proxy.wire.request import WireRequest

TEXTS: Final = ('<spanlore-memory>\n- "quoted" \\ back, ünï, 𝄞\n</spanlore-memory>', "a second one")
"""What is inserted at every place: quotes, escapes, line breaks, characters of two, three and four bytes."""
BUDGETS: Final = {"broken": 0}


def register(app: typer.Typer) -> None:
    """Adds `eval insertions`."""

    @group(app, "eval", "Measure what is understood and learned, on recordings.").command("insertions")
    def insertions(
        folder: Path = typer.Argument(metavar="DIR", help="Folder with recordings: VCR YAML, *.chunks.txt, *.json."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Insert at every place of every recorded request below DIR: does removing it give the client's bytes back?"""
        report(folder, evaluate, table, as_json=as_json)


@dataclass(slots=True)
class Tally:
    """What happened to the request bodies of one dialect."""

    bodies: int = 0
    rewritten: int = 0
    """Insertions came out again byte for byte, and the rest of the document is the client's."""
    places: int = 0
    """Where something was inserted, in all of them."""
    left_alone: Counter[str] = field(default_factory=Counter)
    """By reason: what injection would not touch either."""
    broken: list[str] = field(default_factory=list)


def evaluate(folder: Path) -> dict[str, Any]:
    """The report over all recordings below the folder."""
    from spanlore_proxy.importers.cassettes import MalformedRecordingError, read_exchanges, recordings_below
    from spanlore_proxy.wire.dialect import recognise_any

    tallies: dict[str, Tally] = {}
    for path in recordings_below(folder):
        try:
            exchanges = read_exchanges(path)
        except (MalformedRecordingError, OSError):
            continue  # `eval wire` tells
        for exchange in exchanges:
            endpoint = recognise_any(exchange.method, exchange.host, exchange.path)
            if endpoint is not None and exchange.request_body:
                take(tallies.setdefault(endpoint.dialect.value, Tally()), exchange.request_body, endpoint, path.name)
    return judge(tallies)


def take(tally: Tally, body: bytes, endpoint: Endpoint, name: str) -> None:
    """Inserts into one body whatever has room, and takes it out again."""
    from spanlore_proxy.injection.layouts.table import LAYOUTS
    from spanlore_proxy.injection.offsets import OffsetError
    from spanlore_proxy.injection.rewrite import insert
    from spanlore_proxy.wire.codecs import read_request
    from spanlore_proxy.wire.dialect import Kind
    from spanlore_proxy.wire.request import MalformedRequestError

    tally.bodies += 1
    layout = LAYOUTS.get(endpoint.dialect)
    if layout is None or endpoint.kind is not Kind.INFERENCE:
        tally.left_alone["dialect" if layout is None else "side_call"] += 1
        return
    try:
        request = read_request(body, endpoint)
    except MalformedRequestError:
        tally.left_alone["malformed"] += 1
        return
    if refusal := layout.refusal(request):
        tally.left_alone[refusal] += 1
        return
    additions = places_of(request)
    try:
        rewritten = insert(body, request, additions)
    except OffsetError:
        tally.left_alone["offset"] += 1
        return
    fault = _fault(body, rewritten.body, rewritten.insertions)
    if fault:
        tally.broken.append(f"{name}: {fault}"[:200])
    else:
        tally.rewritten += 1
        tally.places += len(additions)


def places_of(request: WireRequest) -> list[Addition]:
    """An addition for the system prompt, and one for each message that has room for a hint."""
    from spanlore_proxy.injection.layouts.table import LAYOUTS
    from spanlore_proxy.injection.rewrite import SYSTEM, Addition

    layout = LAYOUTS[request.dialect]
    rooms = [
        index
        for index, message in enumerate(request.raw_messages)
        if any(True for _ in layout.result_ids(message)) or layout.takes_prompt_hint(request, index)
    ]
    return [Addition(index, text) for index in (SYSTEM, *rooms) for text in TEXTS]


def _fault(body: bytes, forwarded: bytes, insertions: Iterable[Any]) -> str:
    import orjson

    from spanlore_proxy.injection.rewrite import without_insertions

    if without_insertions(forwarded, insertions) != body:
        return "taking the insertions out does not give the client's body"
    try:
        orjson.loads(forwarded)
    except orjson.JSONDecodeError as error:
        return f"what is forwarded is no JSON: {error}"
    return "" if len(forwarded) == len(body) + sum(len(one.data) for one in insertions) else "bytes are missing"


def judge(tallies: dict[str, Tally]) -> dict[str, Any]:
    """The report's one object: rows, budgets, and whether they were kept."""
    rows = [
        {
            "what": dialect,
            "bodies": tally.bodies,
            "rewritten": tally.rewritten,
            "places": tally.places,
            "left_alone": dict(tally.left_alone.most_common()),
            "broken": len(tally.broken),
            "failures": tally.broken,
        }
        for dialect, tally in sorted(tallies.items())
    ]
    within = all(not row["broken"] for row in rows)
    return {"bench": "eval insertions", "rows": rows, "budgets": BUDGETS, "within_budget": within}


def table(result: dict[str, Any]) -> str:
    """The report for people."""
    lines = [f"{'dialect':<22}{'bodies':>9}{'rewritten':>11}{'places':>9}{'broken':>8}  left alone"]
    for row in result["rows"]:
        alone = ", ".join(f"{count} {reason}" for reason, count in row["left_alone"].items())
        numbers = f"{row['bodies']:>9}{row['rewritten']:>11}{row['places']:>9}{row['broken']:>8}"
        lines.append(f"{row['what']:<22}{numbers}  {alone}".rstrip())
        lines += [f"    {failure}" for failure in row["failures"]]
    return "\n".join(lines)

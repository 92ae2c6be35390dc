"""`spanlore mine --transcript FILE`: what the detectors find in one session file, without a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from spanlore.figures import several
from spanlore.terminal import tell, write


def mine_file(path: Path, *, as_json: bool, with_left: bool) -> None:
    """Prints the findings: one JSON object a line, or for people."""
    from spanlore.redaction.redact import Redactor
    from spanlore.transcripts.reading import UnknownFormatError
    from spanlore_extractor.evaluation.building import session_of
    from spanlore_extractor.evaluation.findings import find_all
    from spanlore_extractor.evaluation.transcripts import read_path

    try:
        transcript = read_path(path)
    except UnknownFormatError as error:
        tell(f"spanlore: {path} is {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        tell(f"spanlore: can't read {path}: {error.strerror or error}")
        raise typer.Exit(1) from None
    uuids = {event.mark.line: event.mark.uuid for event in transcript.events if event.mark.uuid}
    findings = find_all(session_of(transcript, "path:unknown"), uuids, Redactor(), with_left=with_left)
    for text in (json.dumps(finding) for finding in findings) if as_json else _shown(findings):
        write(text)
    malformed = f", {transcript.malformed_lines} malformed" if transcript.malformed_lines else ""
    typer.echo(
        f"{transcript.harness}: {several(transcript.lines, 'line')}{malformed}, "
        f"{several(len(transcript.events), 'event')}, "
        f"{several(sum(not one['dropped'] for one in findings), 'finding')}, "
        f"{sum(one['gate'] not in (None, 'dropped') for one in findings)} kept by the gate",
        err=True,
    )


def _shown(findings: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for one in findings:
        text = " ".join(str(one["quote"] or one["evidence"][-1]["text"]).split())
        yield f"line {one['at']['line'] + 1}: {one['kind']}{f' ({one["type"]})' if one['type'] else ''}"
        yield f"    {text[:74]}"
        if one["fix_call_id"]:
            yield f"    fixed by: {' '.join(one['evidence'][-1]['text'].split())[:64]}"
        if one["rule"]:
            yield f"    {one['rule'][:74]}"
        if one["dropped"]:
            yield f"    left: {one['drop_reason'][:68]}"
        elif one["gate"]:
            yield f"    {f'{one["gate"]}: {one["gate_reason"]}'[:74]}"

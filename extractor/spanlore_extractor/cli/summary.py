"""`spanlore summary SESSION`: what a session was about, by template."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from spanlore import completion
from spanlore.terminal import write
from spanlore_extractor.cli.daemon import Json, daemon

if TYPE_CHECKING:
    from spanlore_extractor.mining.summary import Summary
    from spanlore_extractor.reading import Rows

_FIND = """
SELECT DISTINCT session_id FROM inferences WHERE startsWith(session_id, {start:String}) ORDER BY session_id LIMIT 3
"""


def register(app: typer.Typer) -> None:
    """Adds `summary`."""
    app.command("summary", help="What a session was about: goal, decisions, files, errors.")(summary_command)


def summary_command(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION", help="The session's id, or how it begins.", autocompletion=completion.sessions
        ),
    ],
    as_json: Json = False,
) -> None:
    """Goal, decisions, files changed, errors resolved and open, questions; quoted, no model asked."""
    from spanlore.settings import load_settings

    window_ns = int(load_settings().mining.pair_window_s * 1e9)
    with daemon() as (reader, _):
        code = show_summary(reader, session, window_ns, as_json=as_json)
    if code:
        raise typer.Exit(code)


def show_summary(reader: Rows, start: str, window_ns: int, *, as_json: bool) -> int:
    """Prints the summary of the session whose id begins so; the exit code."""
    from spanlore_extractor.mining.summary import summarise
    from spanlore_extractor.reading import read_sessions

    found = [row["session_id"] for row in reader.rows(_FIND, {"start": start})]
    if len(found) != 1:
        why = "several sessions begin" if found else "no session begins"
        told = ", ".join(sorted(found)) if found else "`spanlore sessions` lists them"
        typer.echo(f"spanlore: {why} with {start!r}: {told}", err=True)
        return 1
    sessions = read_sessions(reader, found)
    if not sessions:
        typer.echo(f"spanlore: nothing is known of session {found[0]} yet", err=True)
        return 1
    summary = summarise(sessions[0], window_ns)
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        write(text_of(summary))
    return 0


def text_of(summary: Summary) -> str:
    """The summary for people."""
    start = datetime.fromtimestamp(summary.start_time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
    minutes = (summary.end_time_ns - summary.start_time_ns) / 60e9
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.counts.items())
    lines = [
        f"{summary.session_id}  {summary.harness}",
        f"{summary.repository or 'unknown repository'}  {summary.branch}".rstrip(),
        f"{start} UTC, {minutes:.0f} min, {counts}",
        "",
        f"Goal: {summary.goal or '(nobody typed anything)'}",
    ]
    if summary.task:
        lines.append(f"Last asked: {summary.task}")
    if summary.suggested_next:
        lines.append(f"Next, perhaps: {summary.suggested_next}")
    resolved = [f"{item.error} -> {item.fix}" for item in summary.resolved]
    for title, items in (
        ("Decisions", summary.decisions),
        ("Files changed", summary.files),
        ("Errors resolved", resolved),
        ("Errors open", summary.unresolved),
        ("Confirmed", summary.confirmed),
        ("Open questions", summary.questions),
    ):
        if items:
            lines += ["", f"{title}:", *(f"- {item}" for item in items)]
    if summary.left_out:
        lines += ["", f"({summary.left_out} more left out)"]
    return "\n".join(lines)

"""`spanlore summary`: what a session was about, and what all sessions of a repository were about, by template."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import USAGE, WRONG, fail
from spanlore.terminal import tell, write
from spanlore_extractor.cli.daemon import Json, daemon, here, print_json

if TYPE_CHECKING:
    from spanlore_extractor.mining.summary import Summary
    from spanlore_extractor.reading import Rows

_FIND = """
SELECT DISTINCT session_id FROM inferences WHERE startsWith(session_id, {start:String}) ORDER BY session_id LIMIT 3
"""
_REPOSITORIES = """
SELECT DISTINCT repository FROM session_summaries
WHERE repository != '' AND position(repository, {part:String}) > 0 ORDER BY repository LIMIT 6
"""


def register(app: typer.Typer) -> None:
    """Adds `summary`."""
    app.command("summary", help="What a session, or all sessions of a repository, were about.")(summary_command)


def summary_command(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="The session's id, or how it begins. Without: all sessions of this repository.",
            autocompletion=completion.sessions,
        ),
    ] = "",
    repository: Annotated[
        str,
        typer.Option(
            "--repo",
            "--repository",
            help="All sessions of the repository that contains this; `.` is this one.",
            autocompletion=completion.repositories,
        ),
    ] = "",
    branch: Annotated[str, typer.Option(help="Only those on this branch.")] = "",
    tokens: Annotated[
        int, typer.Option(min=200, max=1_000_000, help="As long as this at most: older sessions in fewer words.")
    ] = 40_000,
    as_json: Json = False,
) -> None:
    """Goal, decisions, files changed, errors resolved and open, questions; quoted, no model asked. It stays when a
    session's content is past its days."""
    if session and (repository or branch):
        fail("name a session, or --repo and --branch, not both.", USAGE)
    if session:
        from spanlore.settings import load_settings

        window_ns = int(load_settings().mining.pair_window_s * 1e9)
        with daemon() as (reader, _):
            summary, is_kept = _one(reader, session, window_ns)
        if as_json:
            print_json({**asdict(summary), "is_kept": is_kept})
        else:
            _tell(summary, is_kept)
        return
    _show_digest(repository, branch, tokens, as_json)


def _one(reader: Rows, start: str, window_ns: int) -> tuple[Summary, bool]:
    """(the summary of the session whose id begins so, whether it is the kept one, made when more was known)."""
    from spanlore_collector.store.summaries import summaries_named
    from spanlore_extractor.mining.summary import summarise
    from spanlore_extractor.reading import read_sessions
    from spanlore_extractor.summaries.record import summary_of

    kept = {row["session_id"]: row for row in summaries_named(reader, start)}
    found = sorted({row["session_id"] for row in reader.rows(_FIND, {"start": start})} | set(kept))
    if start in found:
        found = [start]
    if len(found) != 1:
        why = "several sessions begin" if found else "no session begins"
        told = ", ".join(found) if found else "`spanlore sessions` lists them"
        fail(f"{why} with {start!r}: {told}", WRONG)
    sessions = read_sessions(reader, found)
    now = summarise(sessions[0], window_ns) if sessions else None
    row = kept.get(found[0])
    if row is not None and (now is None or int(row["steps"]) > now.steps):
        return summary_of(row), True
    if now is None:
        fail(f"nothing is known of session {found[0]} yet", WRONG)
    return now, False


def _tell(summary: Summary, is_kept: bool) -> None:
    from spanlore_extractor.summaries.record import head_of, text_of

    note = "\n(as it was kept: its content is past its days, see `spanlore store retention`)" if is_kept else ""
    write(f"{head_of(summary)}{note}\n\n{text_of(summary)}")


def _show_digest(repository: str, branch: str, tokens: int, as_json: bool) -> None:
    import time

    from spanlore_extractor.summaries.keeping import digest_of

    with daemon() as (reader, client):
        where = _repository(reader, repository)
        found = digest_of(reader, where, client.memories(), time.time_ns(), tokens, branch)
    if as_json:
        data: dict[str, Any] = asdict(found)
        data["chapters"] = [asdict(chapter) for chapter in found.chapters]
        print_json({**data, "text": found.text()})
    elif found.sessions:
        write(found.text())
    else:
        on = f" on branch {branch}" if branch else ""
        tell(f"Nothing was kept of sessions of {where}{on} yet; `spanlore mine` does it now.")


def _repository(reader: Rows, given: str) -> str:
    """The key of the repository that is meant."""
    if given in ("", "."):
        scope = here().scope
        return scope or fail(
            "this is not inside a git repository; name a session, or a repository: --repo NAME.", USAGE
        )
    found = [str(row["repository"]) for row in reader.rows(_REPOSITORIES, {"part": given})]
    if given in found or len(found) == 1:
        return given if given in found else found[0]
    if found:
        fail(f"several repositories contain {given!r}: {', '.join(found)}", WRONG)
    fail(f"nothing was kept of a repository that contains {given!r}. `spanlore sessions --repo` finds sessions.", WRONG)

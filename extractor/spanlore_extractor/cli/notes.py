"""`spanlore notes`: memories and sessions as Markdown, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore.ending import USAGE, WRONG, fail
from spanlore.main import group
from spanlore.terminal import write
from spanlore_extractor.cli.daemon import Json, daemon, print_json

if TYPE_CHECKING:
    from pathlib import Path

    from spanlore.settings import Paths, Settings


def register(app: typer.Typer) -> None:
    """Adds the sub-commands."""
    notes = group(app, "notes", "Memories and sessions as Markdown files that you may edit.")
    notes.command("sync", help="Bring notes and memories into step: your edits and deletions first.")(sync)
    notes.command("status", help="What a sync would do, and which conflicts wait for you.")(status)
    notes.command("path", help="Where the notes lie.")(path)


def sync(
    deletions: Annotated[
        bool, typer.Option("--deletions", help="Forget also when most of the notes are gone.")
    ] = False,
    sessions: Annotated[int, typer.Option(help="Notes of so many of the last sessions; 0 for none.")] = 20,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Edits and deletions by hand become operations; then the notes are written. A note changed on both sides is left
    as it is, with ours beside it as `.conflict`: take that file away to let yours hold."""
    _sync(deletions, sessions, dry_run, as_json)


def status(as_json: Json = False) -> None:
    """What a sync would do now."""
    _sync(False, 0, True, as_json)


def path(as_json: Json = False) -> None:
    """Where the notes lie, whether or not there are any."""
    folder, _, _ = _place()
    if as_json:
        print_json({"path": str(folder), "exists": folder.is_dir()})
    else:
        write(str(folder))


def _sync(deletions: bool, sessions: int, dry_run: bool, as_json: bool) -> None:
    import time

    from spanlore.memory.operations import operation_to_json
    from spanlore_extractor.notes.folder import sync as bring_into_step
    from spanlore_extractor.notes.recent import recent_notes

    folder, settings, paths = _place()
    with daemon() as (reader, client):
        written = recent_notes(reader, client, sessions) if sessions and not dry_run else {}
        try:
            plan = bring_into_step(
                client, settings, paths, time.time_ns(),
                sessions=written, with_deletions=deletions, dry_run=dry_run,
            )  # fmt: skip
        except OSError as error:
            fail(f"the notes can't be read or written: {error}.", WRONG)
    data: dict[str, Any] = {
        "path": str(folder),
        "dry_run": dry_run,
        "operations": [operation_to_json(operation) for operation in plan.operations],
        "written": sorted(plan.writes),
        "removed": plan.removals,
        "conflicts": plan.conflicts,
        "problems": [{"file": file, "problem": problem} for file, problem in plan.problems],
        "withheld_deletions": plan.withheld_deletions,
    }
    if as_json:
        print_json(data)
        return
    would = "would be " if dry_run else ""
    write(f"{folder}: {len(plan.writes)} {would}written, {len(plan.removals)} {would}removed.")
    for operation in plan.operations:
        write(f"{operation.memory.id} {would}{operation.verb.value}: {operation.memory.text}")
    for file in plan.conflicts:
        write(f"conflict: {file} was changed here and there. Compare {file}.conflict, then delete that file.")
    for file, problem in plan.problems:
        write(f"not read: {file}: {problem}")
    if plan.withheld_deletions:
        write(f"{plan.withheld_deletions} notes are gone, most of all. If you mean it: spanlore notes sync --deletions")


def _place() -> tuple[Path, Settings, Paths]:
    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_extractor.notes.folder import NotesPlaceError, folder_of

    settings, paths = load_settings(), Paths.from_environ(child_environment({}))
    try:
        return folder_of(settings, paths), settings, paths
    except NotesPlaceError as error:
        fail(str(error), USAGE)

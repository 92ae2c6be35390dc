"""The extractor's commands: mine, memories, why, review, remember and what else a person does to memories,
effect, cost, eval.

Data goes to stdout, messages to stderr. Exit codes: 1 something is wrong, 2 usage or configuration, 3 no daemon.
Heavy imports are inside the commands: `spanlore --help` does not pay for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlore.ending import USAGE, WRONG, fail
from spanlore.terminal import show
from spanlore_extractor.bench import command as bench
from spanlore_extractor.cli import (
    changes,
    effect,
    evaluate,
    judge,
    mcp,
    memories,
    notes,
    recall,
    review,
    summary,
    transcript,
)
from spanlore_extractor.cli.daemon import Json, daemon, print_json, time_of

if TYPE_CHECKING:
    from spanlore.settings import Settings
    from spanlore_extractor.judge.judging import Judge


def commands(app: typer.Typer) -> None:
    """Adds the extractor's commands to `app`."""
    app.command("mine", help="Learn from recorded sessions now, instead of waiting for the schedule.")(mine)
    memories.register(app)
    review.register(app)
    changes.register(app)
    effect.register(app)
    recall.register(app)
    evaluate.register(app)
    judge.register(app)
    summary.register(app)
    notes.register(app)
    mcp.register(app)
    bench.register(app)


def mine(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be learned; change nothing.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All sessions again, not only those with news.")] = False,
    since: Annotated[str, typer.Option(help="Only sessions that ended since: 2026-11-30, 7d, 12h.")] = "",
    diff: Annotated[bool, typer.Option("--diff", help="Mine everything afresh; show what would change.")] = False,
    apply_diff: Annotated[bool, typer.Option("--apply", help="With --diff: make it so; `undo` takes it back.")] = False,
    file: Annotated[
        Path | None, typer.Option("--transcript", metavar="FILE", help="Only show what an agent's session file holds.")
    ] = None,
    with_left: Annotated[
        bool, typer.Option("--left", help="With --transcript: also what was looked at and left.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Mine the sessions with news, those still going on too."""
    if file is not None:
        return transcript.mine_file(file, as_json=as_json, with_left=with_left)
    import time

    from spanlore.settings import load_settings
    from spanlore_collector.store.api_client import VersionConflictError
    from spanlore_extractor.cli import views
    from spanlore_extractor.run import Rules
    from spanlore_extractor.run import mine as run_mine

    if diff:
        return _diff(apply_diff and not dry_run, as_json)
    if apply_diff:
        fail("--apply goes with --diff.", USAGE)
    since_ns = time_of(since, "--since") if since else 0
    settings, now_ns = load_settings(), time.time_ns()
    with daemon() as (reader, client), _judge(settings, now_ns) as asked:
        try:
            report = run_mine(
                reader,
                client,
                Rules.of(settings, idle_s=0),
                now_ns,
                everything=everything or bool(since),
                active_too=True,
                dry_run=dry_run,
                since_ns=since_ns,
                judge=asked,
            )
        except VersionConflictError as error:
            fail(f"{error} Run `spanlore mine` once more.", WRONG)
    if as_json:
        print_json(views.report_to_json(report, dry_run))
    else:
        show(views.report_view(report, dry_run))
    return None


@contextmanager
def _judge(settings: Settings, now_ns: int) -> Iterator[Judge | None]:
    """The judge, if there is a key; the SDK is only loaded then."""
    if not settings.judge.api_key:
        yield None
        return
    from spanlore.settings import Paths, child_environment
    from spanlore_extractor.judge.appointing import judge_of
    from spanlore_extractor.judge.instructions import PromptError

    try:
        with judge_of(settings, Paths.from_environ(child_environment({})), now_ns) as appointed:
            yield appointed
    except PromptError as error:
        fail(str(error), USAGE)


def _diff(is_applied: bool, as_json: bool) -> None:
    import time

    from spanlore.settings import load_settings
    from spanlore_extractor.cli import views
    from spanlore_extractor.memories.differing import operations_of
    from spanlore_extractor.run import Rules, apply_in_parts, remine

    with daemon() as (reader, client):
        found = remine(reader, client, Rules.of(load_settings(), idle_s=0), time.time_ns())
        operations = operations_of(found)
        if is_applied and operations:
            apply_in_parts(client, operations)
    if as_json:
        print_json({**views.diff_to_json(found), "applied": len(operations) if is_applied else 0})
    else:
        show(views.diff_view(found, is_applied))

"""`spanlore sessions` and `spanlore session ID`: what the store holds, for people and for scripts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from spanlore.terminal import show
from spanlore_collector.bench import command as bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanlore_collector.store.views import RowSource

EXIT_FAULT, EXIT_USAGE, EXIT_NOT_RUNNING = 1, 2, 3


def commands(app: typer.Typer) -> None:
    """Adds the collector's commands to `app`."""
    app.command("sessions", help="The newest sessions: tools, failures, tokens, cost.")(sessions)
    app.command("session", help="One session as a tree: turns, model calls, tools, what was injected.")(session)
    bench.register(app)


def sessions(
    limit: int = typer.Option(20, min=1, max=10_000, help="How many."),
    repository: str = typer.Option("", help="Only those whose repository contains this text."),
    failed: bool = typer.Option(False, "--failed", help="Only those with a failed tool call."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one array."),
) -> None:
    """The newest sessions, newest first."""
    from spanlore_collector.cli import rendering
    from spanlore_collector.store import views

    with _store() as store:
        rows = views.list_sessions(store, limit=limit, repository=repository, only_failed=failed)
    if as_json:
        _print_json(rows)
    elif rows:
        show(rendering.session_table(rows))
    else:
        typer.echo("No sessions yet. Start one with: spanlore run -- claude", err=True)


def session(
    session_id: str = typer.Argument(..., metavar="ID", help="The session's id, or how it begins."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one object."),
) -> None:
    """One session as a tree."""
    from spanlore_collector.cli import rendering
    from spanlore_collector.store import session_tree, views

    with _store() as store:
        found = views.sessions_named(store, session_id)
        if len(found) != 1:
            _refuse(session_id, [row["session_id"] for row in found])
        tree = session_tree.build_tree(views.session_spans(store, found[0]["session_id"]))
    if as_json:
        _print_json({"session": found[0], "turns": session_tree.tree_to_json(tree)})
    else:
        show(rendering.session_view(found[0], tree))


@contextmanager
def _store() -> Iterator[RowSource]:
    """The reading side of the running daemon's store, or exit code 3 with what to do."""
    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_collector.store.api_client import connect
    from spanlore_collector.store.reader import StoreUnavailableError

    try:
        reader, client = connect(load_settings(), Paths.from_environ(child_environment({})))
        client.close()
        with reader:
            yield reader
    except StoreUnavailableError as error:
        typer.echo(f"spanlore: {error}", err=True)
        raise typer.Exit(EXIT_NOT_RUNNING) from None


def _refuse(prefix: str, found: list[str]) -> None:
    if found:
        typer.echo(f"spanlore: several sessions begin with {prefix!r}: {', '.join(found)}", err=True)
    else:
        typer.echo(f"spanlore: no session begins with {prefix!r}; `spanlore sessions` lists them", err=True)
    raise typer.Exit(EXIT_FAULT)


def _print_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode())

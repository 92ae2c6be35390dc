"""The extractor's commands: mine, memories, why, remember, forget, eval detectors.

Data goes to stdout, messages to stderr. Exit codes: 1 something is wrong, 2 usage or configuration, 3 no daemon.
Heavy imports are inside the commands: `spanlore --help` does not pay for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from spanlore.terminal import show, write
from spanlore_extractor.cli import evaluate, mcp, transcript

if TYPE_CHECKING:
    from spanlore.memory.memory import Memory
    from spanlore_collector.store.api_client import MemoryClient
    from spanlore_collector.store.reader import Reader

WRONG, USAGE, NOT_RUNNING = 1, 2, 3

_Json = Annotated[bool, typer.Option("--json", help="JSON, one object.")]


def commands(app: typer.Typer) -> None:
    """Adds the extractor's commands to `app`."""
    app.command("mine", help="Learn from recorded sessions now, instead of waiting for the schedule.")(mine)
    app.command("memories", help="What was learned here.")(memories)
    app.command("why", help="One memory: its life, and the evidence opened.")(why)
    app.command("remember", help="Remember something, for this repository or for all.")(remember)
    app.command("forget", help="Forget a memory for good: it is never learned again.")(forget)
    evaluate.register(app)
    mcp.register(app)


def mine(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be learned; change nothing.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All sessions again, not only those with news.")] = False,
    file: Annotated[
        Path | None, typer.Option("--transcript", metavar="FILE", help="Only show what an agent's session file holds.")
    ] = None,
    with_left: Annotated[
        bool, typer.Option("--left", help="With --transcript: also what was looked at and left.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Mine the sessions with news, those still going on too."""
    if file is not None:
        transcript.mine_file(file, as_json=as_json, with_left=with_left)
        return
    import time

    from spanlore.redaction.redact import Redactor
    from spanlore.settings import load_settings
    from spanlore_collector.store.api_client import VersionConflictError
    from spanlore_extractor.cli import views
    from spanlore_extractor.run import Rules
    from spanlore_extractor.run import mine as run_mine

    settings = load_settings()
    rules = Rules(0, int(settings.mining.pair_window_s * 1e9), Redactor(settings.capture.redact))
    with _daemon() as (reader, client):
        try:
            report = run_mine(
                reader, client, rules, time.time_ns(), everything=everything, active_too=True, dry_run=dry_run
            )
        except VersionConflictError as error:
            _fail(f"{error} Run `spanlore mine` once more.", WRONG)
    if as_json:
        _print_json(views.report_to_json(report, dry_run))
    else:
        show(views.report_view(report, dry_run))


def memories(
    scope: Annotated[str, typer.Option(help="Scope key, `user`, or `repo` for this repository.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every scope, and what is no longer live.")] = False,
    as_json: _Json = False,
) -> None:
    """The memories of this repository and of the user."""
    from spanlore.memory.memory import USER_SCOPE, Status, memory_to_json
    from spanlore_extractor.cli import views

    here = _scope_here()
    scopes = None if everything and not scope else _scopes(scope, here, USER_SCOPE)
    with _daemon() as (_, client):
        found = client.memories()
    ended = (Status.SUPERSEDED, Status.RETIRED, Status.FORGOTTEN)
    kept = [
        memory
        for memory in found
        if (scopes is None or memory.scope in scopes) and (everything or memory.status not in ended)
    ]
    kept.sort(key=views.listing_order)
    if as_json:
        _print_json(
            {"scopes": sorted(scopes) if scopes else "all", "memories": [memory_to_json(item) for item in kept]}
        )
    elif kept:
        show(views.memory_table(kept, show_scope=scopes is None or len(scopes) > 1))
    else:
        where = "" if scopes is None else f" for {' or '.join(sorted(scopes))}"
        typer.echo(f"Nothing is remembered{where} yet. `spanlore mine` learns from recorded sessions.", err=True)


def why(
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or how it begins.")],
    as_json: _Json = False,
) -> None:
    """One memory, what happened to it, and what proves it."""
    from spanlore.memory.memory import memory_to_json
    from spanlore_extractor.cli import views
    from spanlore_extractor.reading import open_evidence

    with _daemon() as (reader, client):
        memory = _one(client, memory_id)
        events = client.events(memory.id)
        opened = open_evidence(reader, memory.evidence)
    if as_json:
        evidence = views.evidence_to_json(memory, opened)
        _print_json({"memory": memory_to_json(memory), "events": events, "evidence": evidence})
    else:
        show(views.memory_view(memory, events, opened))


def remember(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to remember; quotes are not needed.")],
    scope: Annotated[str, typer.Option(help="`repo` (this repository, the default) or `user` (all of them).")] = "repo",
    as_json: _Json = False,
) -> None:
    """Remember TEXT: shown to agents from the next session on."""
    import time

    from spanlore.memory.memory import USER_SCOPE, Status, memory_to_json
    from spanlore.redaction.redact import Redactor
    from spanlore.settings import load_settings
    from spanlore_extractor.memories import stated

    if scope not in ("repo", "user"):
        _fail(f"--scope is repo or user, not {scope!r}.", USAGE)
    here = _scope_here()
    if scope == "repo" and not here:
        _fail("this is not inside a git repository. Go to one, or say --scope user.", USAGE)
    redacted = Redactor(load_settings().capture.redact).redact(" ".join(text))
    with _daemon() as (_, client):
        where = here if scope == "repo" else USER_SCOPE
        try:
            operations = stated.remember(redacted.text, where, client.memories(), time.time_ns())
        except ValueError as error:
            _fail(f"{error}.", USAGE)
        if operations:
            client.apply(operations)
    if as_json:
        changed = [memory_to_json(operation.memory) for operation in operations]
        _print_json({"memory": changed[0] if changed else None, "superseded": changed[1:]})
    elif not operations:
        typer.echo("That is remembered already.", err=True)
    else:
        made = operations[0].memory
        write(f"{made.id}  {made.text}")
        if made.status is Status.QUARANTINED:
            typer.echo(f"spanlore: it is kept, but no agent is shown it: {made.note}.", err=True)
        for operation in operations[1:]:
            typer.echo(f"spanlore: {operation.memory.id} is superseded: {operation.memory.text}", err=True)
    if redacted.count:
        typer.echo(f"spanlore: {redacted.count} secret(s) were replaced before it was kept.", err=True)


def forget(
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or how it begins.")],
    as_json: _Json = False,
) -> None:
    """Forget a memory; agents are no longer shown it, and mining does not bring it back."""
    from spanlore.memory.memory import Status, memory_to_json
    from spanlore_extractor.memories import stated

    with _daemon() as (_, client):
        memory = _one(client, memory_id)
        if memory.status is not Status.FORGOTTEN:
            operation = stated.forget(memory)
            client.apply([operation])
            memory = operation.memory
    if as_json:
        _print_json({"memory": memory_to_json(memory)})
    else:
        write(f"{memory.id} is forgotten: {memory.text}")


@contextmanager
def _daemon() -> Iterator[tuple[Reader, MemoryClient]]:
    """The store and the API of the running daemon, or exit code 3 with what to do."""
    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_collector.store.api_client import RequestRefusedError, VersionConflictError, connect
    from spanlore_collector.store.client import StoreUnavailableError
    from spanlore_collector.store.reader import QueryFailedError

    try:
        reader, client = connect(load_settings(), Paths.from_environ(child_environment({})))
        with reader:
            try:
                yield reader, client
            finally:
                client.close()
    except StoreUnavailableError as error:
        _fail(str(error), NOT_RUNNING)
    except VersionConflictError as error:
        _fail(f"{error} Say it once more.", WRONG)
    except (RequestRefusedError, QueryFailedError) as error:
        _fail(str(error), WRONG)


def _one(client: MemoryClient, memory_id: str) -> Memory:
    """The memory of that id, or whose id begins so; exit code 1 when there is none, or several."""
    found = [memory for memory in client.memories() if memory.id.startswith(memory_id)]
    exact = [memory for memory in found if memory.id == memory_id]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if found:
        _fail(f"several ids begin with {memory_id!r}: {', '.join(sorted(memory.id for memory in found))}", WRONG)
    _fail(f"there is no memory {memory_id!r}. `spanlore memories --all` lists them.", WRONG)


def _scope_here() -> str:
    from spanlore.repository.checkout import locate

    return locate(Path.cwd()).scope


def _scopes(scope: str, here: str, user: str) -> set[str] | None:
    """The scopes asked for; None for all, when nothing was asked for outside of a repository."""
    if scope == "repo":
        if not here:
            _fail("this is not inside a git repository.", USAGE)
        return {here}
    if scope:
        return {scope}
    return {here, user} if here else None


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"spanlore: {message}", err=True)
    raise typer.Exit(code)


def _print_json(value: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(value, default=str).decode())

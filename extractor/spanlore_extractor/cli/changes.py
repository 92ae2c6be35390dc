"""What a person does to memories: remember, edit, pin, confirm, forget, undo.

Called by an agent in its shell, `remember` and `edit` only propose, `forget` can what MCP's can, and the others refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spanlore import completion
from spanlore.ending import USAGE, WRONG, fail
from spanlore.terminal import tell, write
from spanlore_extractor.cli.daemon import Id, Json, daemon, here, length_of, one_of, print_json
from spanlore_extractor.cli.speaker import desk, only_the_user, speaking_agent, tell_waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanlore.memory.operations import Operation


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("remember", help="Remember something, for this repository or for all.")(remember)
    app.command("edit", help="Change what a memory says.")(edit)
    app.command("pin", help="Pin a memory: age, conflicts and caps don't touch it.")(pin)
    app.command("unpin", help="Let go of a pinned memory.")(unpin)
    app.command("confirm", help="Say that a memory is right: agents are shown it.")(confirm)
    app.command("forget", help="Forget a memory for good: it is never learned again.")(forget)
    app.command("undo", help="Take back the last change, or the last one of a memory.")(undo)


def remember(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to remember; quotes are not needed.")],
    scope: Annotated[str, typer.Option(help="`repo` (this repository) or `user` (all of them).")] = "repo",
    length: Annotated[str, typer.Option("--for", help="Only for so long, never after: 12h, 7d, 2w.")] = "",
    episodic: Annotated[bool, typer.Option("--episodic", help="The same as --for 7d.")] = False,
    as_json: Json = False,
) -> None:
    """Remember TEXT: shown to agents from the next session on. Called by an agent, it waits for its user's yes."""
    import time

    from spanlore.memory import stated
    from spanlore.memory.memory import USER_SCOPE, Status, memory_to_json
    from spanlore.redaction.redact import Redactor
    from spanlore.settings import load_settings

    if scope not in ("repo", "user"):
        fail(f"--scope is repo or user, not {scope!r}.", USAGE)
    place = here()
    if scope == "repo" and not place.scope:
        fail("this is not inside a git repository. Go to one, or say --scope user.", USAGE)
    wanted = length or ("7d" if episodic else "")
    length_ns = length_of(wanted, "--for") if wanted else 0
    if agent := speaking_agent():
        _propose(agent, " ".join(text), scope, time.time_ns() + length_ns if length_ns else 0, as_json)
        return
    redacted = Redactor(load_settings().capture.redact).redact(" ".join(text))
    with daemon() as (_, client):
        where = place.scope if scope == "repo" else USER_SCOPE
        now_ns = time.time_ns()
        until_ns = now_ns + length_ns if length_ns else 0
        try:
            operations = stated.remember(redacted.text, where, client.memories(), now_ns, until_ns=until_ns)
        except ValueError as error:
            fail(f"{error}.", USAGE)
        if operations:
            client.apply(operations)
    if as_json:
        changed = [memory_to_json(operation.memory) for operation in operations]
        print_json({"memory": changed[0] if changed else None, "superseded": changed[1:]})
    elif not operations:
        tell("That is remembered already.")
    else:
        made = operations[0].memory
        write(f"{made.id}  {made.text}")
        if made.status is Status.QUARANTINED:
            tell(f"spanlore: it is kept, but no agent is shown it: {made.note}.")
        _tell_superseded(operations)
    if redacted.count:
        tell(f"spanlore: {redacted.count} secret(s) were replaced before it was kept.")


def _propose(agent: str, text: str, scope: str, until_ns: int, as_json: bool) -> None:
    """As MCP's `remember`: kept at once only in words that the user has just typed; else it waits."""
    from spanlore_extractor.mcp_server.desk import DeskError

    with daemon():
        try:
            done = desk().remember(text, "repository" if scope == "repo" else scope, until_ns)
        except DeskError as error:
            fail(f"{error}.", USAGE)
    if as_json:
        print_json({**done, "by": agent})
        return
    if done["memory"] is not None:
        write(f"{done['memory']['id']}  {done['memory']['text']}")
    tell_waiting(agent, done["note"])
    if done["secrets_replaced"]:
        tell(f"spanlore: {done['secrets_replaced']} secret(s) were replaced before it was kept.")


def edit(
    memory_id: Id,
    text: Annotated[str, typer.Option("--text", help="The new text; without it your editor opens.")] = "",
    as_json: Json = False,
) -> None:
    """Change what a memory says. From then on it is your word: mining neither rewrites nor supersedes it."""
    import time

    import click

    from spanlore.memory import stated
    from spanlore.memory.memory import Status, memory_to_json
    from spanlore.redaction.redact import Redactor
    from spanlore.settings import load_settings
    from spanlore_extractor.mcp_server.desk import told_of

    agent = speaking_agent()
    if agent and not text:
        fail(f"this was called by {agent}; an editor opens for its user alone. Say it with --text.", USAGE)
    with daemon() as (_, client):
        memory, known = one_of(client, memory_id)
        wanted = text or click.edit(memory.text, extension=".txt")
        if wanted is None:
            fail("nothing was changed.", WRONG)
        redacted = Redactor(load_settings().capture.redact).redact(wanted)
        try:
            operations = (
                stated.remember(redacted.text, memory.scope, known, time.time_ns(), by="agent")
                if agent
                else stated.edit(memory, redacted.text, known, time.time_ns())
            )
        except ValueError as error:
            fail(f"{error}.", USAGE)
        if operations:
            client.apply(operations)
    after = operations[0].memory if operations else memory
    if as_json:
        superseded = [memory_to_json(operation.memory) for operation in operations[1:]]
        by = {"by": agent} if agent else {}
        print_json({"memory": memory_to_json(after), "changed": bool(operations), "superseded": superseded, **by})
        return
    write(f"{after.id}  {after.text}")
    if agent:
        tell_waiting(agent, f"{memory.id} stays as it is; {told_of(operations[0].memory if operations else None)}")
    if after.status is Status.QUARANTINED:
        tell(f"spanlore: no agent is shown it: {after.note}.")
    _tell_superseded(operations)


def pin(memory_id: Id, as_json: Json = False) -> None:
    """Pin a memory."""
    _pin(memory_id, True, as_json)


def unpin(memory_id: Id, as_json: Json = False) -> None:
    """Let go of a pinned memory."""
    _pin(memory_id, False, as_json)


def confirm(memory_id: Id, as_json: Json = False) -> None:
    """Say that a memory is right. It is shown from now on, also one that waited, was quarantined or forgotten."""
    import time

    from spanlore.memory import stated
    from spanlore.memory.memory import memory_to_json

    only_the_user("saying that a memory is right")
    with daemon() as (_, client):
        memory, known = one_of(client, memory_id)
        operations = stated.confirm(memory, known, time.time_ns())
        client.apply(operations)
    after = operations[0].memory
    if as_json:
        superseded = [memory_to_json(operation.memory) for operation in operations[1:]]
        print_json({"memory": memory_to_json(after), "superseded": superseded})
        return
    write(f"{after.id} is active: {after.text}")
    _tell_superseded(operations)


def forget(memory_id: Id, as_json: Json = False) -> None:
    """Forget a memory; agents are no longer shown it, and mining does not bring it back."""
    from spanlore.memory import stated
    from spanlore.memory.memory import Status, memory_to_json

    agent = speaking_agent()
    with daemon() as (_, client):
        memory, _known = one_of(client, memory_id)
        if agent:
            _let_agent_forget(memory.id)
        elif memory.status is not Status.FORGOTTEN:
            client.apply([stated.forget(memory)])
        memory, _known = one_of(client, memory.id)
    if as_json:
        print_json({"memory": memory_to_json(memory)})
    else:
        write(f"{memory.id} is forgotten: {memory.text}")


def _let_agent_forget(memory_id: str) -> None:
    from spanlore_extractor.mcp_server.desk import DeskError

    try:
        desk().forget(memory_id)
    except DeskError as error:
        fail(f"{error}.", WRONG)


def undo(
    memory_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="One memory; else the last change of all.", autocompletion=completion.memories
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken back.")] = False,
    as_json: Json = False,
) -> None:
    """Take back the last change: what one command or one mining run did, or the last one of memory ID.

    Called again it takes back the one before that."""
    from spanlore.memory import undoing
    from spanlore.memory.memory import memory_to_json
    from spanlore_collector.store.history import last_changes, states

    if not dry_run:
        only_the_user("taking back a change")
    with daemon() as (reader, client):
        try:
            if memory_id:
                memory, _ = one_of(client, memory_id)
                operations = [undoing.undo_one(memory, client.events(memory.id))]
            else:
                batch = undoing.last_batch(last_changes(reader))
                ids = {change.id for change in batch}
                current = {memory.id: memory for memory in client.memories() if memory.id in ids}
                operations = undoing.undo_batch(batch, states(reader, ids), current)
        except undoing.UndoError as error:
            fail(f"{error}.", WRONG)
        if not dry_run:
            client.apply(operations)
    if as_json:
        print_json({"dry_run": dry_run, "memories": [memory_to_json(item.memory) for item in operations]})
        return
    what = "1 memory" if len(operations) == 1 else f"{len(operations)} memories"
    verb = "would be" if dry_run else "is" if len(operations) == 1 else "are"
    write(f"{what} {verb} as before ({operations[0].reason}):")
    for item in operations:
        write(f"{item.memory.id}  {item.memory.status.value}  {item.memory.text}")


def _pin(memory_id: str, pinned: bool, as_json: bool) -> None:
    from spanlore.memory import stated
    from spanlore.memory.memory import memory_to_json

    only_the_user("pinning")
    with daemon() as (_, client):
        memory, _ = one_of(client, memory_id)
        try:
            operation = stated.pin(memory, pinned)
        except ValueError as error:
            fail(f"{error}.", WRONG)
        if operation is not None:
            client.apply([operation])
            memory = operation.memory
    if as_json:
        print_json({"memory": memory_to_json(memory)})
    else:
        write(f"{memory.id} is {'pinned' if pinned else 'not pinned'}: {memory.text}")


def _tell_superseded(operations: Sequence[Operation]) -> None:
    for operation in operations[1:]:
        tell(f"spanlore: {operation.memory.id} is superseded: {operation.memory.text}")

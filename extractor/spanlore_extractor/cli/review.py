"""`spanlore review`: what waits for a person, one by one, or by option for scripts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import WRONG, fail
from spanlore.terminal import show, tell, write
from spanlore_extractor.cli.daemon import Json, daemon, one_of, print_json, scopes_of
from spanlore_extractor.cli.speaker import only_the_user, speaking_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanlore.memory.memory import Memory
    from spanlore.memory.operations import Operation
    from spanlore_collector.store.api_client import MemoryClient
    from spanlore_collector.store.reader import Reader

_KEYS = "[c]onfirm, [f]orget, [e]dit, [s]kip, [q]uit"
_MERGE, _BOTH = "[m]erge, ", "merge with [b]oth texts, "


def register(app: typer.Typer) -> None:
    """Adds `review`."""
    app.command("review", help="Go through what waits: candidates, and what looked suspicious.")(review)


def _ids(flag: str, told: str) -> Any:
    return typer.Option(flag, metavar="ID", help=told, autocompletion=completion.memories)


def review(
    scope: Annotated[
        str,
        typer.Option(
            help="Scope key, `user`, or `repo` for this repository.",
            autocompletion=completion.scopes,
        ),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="Of every scope.")] = False,
    confirm: Annotated[list[str] | None, _ids("--confirm", "This one is right.")] = None,
    forget: Annotated[list[str] | None, _ids("--forget", "This one is not.")] = None,
    merge: Annotated[
        list[str] | None, _ids("--merge", "The judge is right: make one of this one and the one it repeats.")
    ] = None,
    both_texts: Annotated[
        bool, typer.Option("--both-texts", help="With --merge: keep a text that says both, the judge's where it holds.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only show the queue.")] = False,
    as_json: Json = False,
) -> None:
    """What was learned and is not shown yet: suspicious ones first, then those worth most. On a terminal each is asked
    about; else the queue is shown, and --confirm, --forget and --merge say what to do."""
    import time

    from spanlore.memory.memory import memory_to_json
    from spanlore_extractor.effect.reading import contradicted
    from spanlore_extractor.memories.queue import waiting

    scopes = None if everything else scopes_of(scope)
    if confirm or forget or merge:
        only_the_user("saying yes or no to what waits")
    listing = listing or bool(speaking_agent())
    with daemon() as (reader, client):
        done = _by_option(client, confirm or [], forget or [])
        done += _merged(client, merge or [], {operation.memory.id for operation in done}, both_texts)
        now_ns = time.time_ns()
        queue = waiting((item for item in client.memories() if scopes is None or item.scope in scopes), now_ns)
        known = {item.id for item in client.memories() if scopes is None or item.scope in scopes}
        denied = [row for row in contradicted(reader) if row["memory_id"] in known]
        if as_json:
            changed = [memory_to_json(operation.memory) for operation in done]
            waits = [memory_to_json(memory) for memory in queue]
            print_json({"changed": changed, "waiting": waits, "contradicted": denied})
        elif listing or done or not (sys.stdin.isatty() and sys.stdout.isatty()):
            _show_queue(queue, done, [row["memory_id"] for row in denied])
        else:
            ask(reader, client, queue)


def _show_queue(queue: Sequence[Memory], done: Sequence[Operation], denied: Sequence[str]) -> None:
    """`denied`: ids of the memories that the user's own files or words contradict."""
    from spanlore_extractor.cli import views

    for operation in done:
        write(f"{operation.memory.id} is {operation.memory.status.value}: {operation.memory.text}")
    if queue:
        show(views.memory_table(queue))
    for memory_id in denied:
        write(f"{memory_id} is contradicted by the user's own files or words, and was withheld there.")
    how_many = {0: "Nothing waits for review.", 1: "1 waits."}.get(len(queue), f"{len(queue)} wait.")
    write(f"{how_many} `spanlore why ID` shows the evidence." if queue else how_many)


def ask(reader: Reader, client: MemoryClient, queue: Sequence[Memory]) -> None:
    """Goes through the queue on a terminal."""
    from spanlore.memory.merging import text_for_both, twin_of
    from spanlore_extractor.cli import views
    from spanlore_extractor.reading import open_evidence

    if not queue:
        write("Nothing waits.")
    for number, memory in enumerate(queue, 1):
        show(views.memory_view(memory, client.events(memory.id), open_evidence(reader, memory.evidence)))
        answer = ""
        twin = twin_of(memory, client.memories())
        if twin is not None:
            write(f"\nThe judge says that {twin.id} says it already: {twin.text}")
        both = text_for_both(memory, twin) if twin is not None else ""
        if both:
            write(f"A text that says both: {both}")
        keys = f"{_MERGE if twin is not None else ''}{_BOTH if both else ''}{_KEYS}"
        while not answer or answer not in f"cfesq{'m' if twin is not None else ''}{'b' if both else ''}":
            answer = typer.prompt(f"\n{number}/{len(queue)}  {keys}", default="s", show_default=False)[:1].lower()
        if answer == "q":
            break
        operations = _answered(answer, memory, client.memories())
        if operations:
            client.apply(operations)
            write(f"{memory.id} is {operations[0].memory.status.value}.\n")


def _answered(answer: str, memory: Memory, known: Sequence[Memory]) -> list[Operation]:
    import time

    from spanlore.memory import stated
    from spanlore.memory.merging import merge

    if answer in ("m", "b"):
        return merge(memory, known, time.time_ns(), both_texts=answer == "b")
    if answer == "c":
        return stated.confirm(memory, known, time.time_ns())
    if answer == "f":
        return [stated.forget(memory)]
    if answer == "e":
        import click

        text = click.edit(memory.text, extension=".txt")
        try:
            return stated.edit(memory, text, known, time.time_ns()) if text else []
        except ValueError as error:
            tell(f"spanlore: {error}.")
    return []


def _by_option(client: MemoryClient, confirm: Sequence[str], forget: Sequence[str]) -> list[Operation]:
    import time

    from spanlore.memory import stated

    done: list[Operation] = []
    for word, is_right in [*((word, True) for word in confirm), *((word, False) for word in forget)]:
        memory, known = one_of(client, word)
        if any(operation.memory.id == memory.id for operation in done):
            fail(f"{memory.id} is named twice.", WRONG)
        operations = stated.confirm(memory, known, time.time_ns()) if is_right else [stated.forget(memory)]
        client.apply(operations)
        done += operations
    return done


def _merged(client: MemoryClient, words: Sequence[str], touched: set[str], both_texts: bool) -> list[Operation]:
    import time

    from spanlore.memory.merging import merge

    done: list[Operation] = []
    for word in words:
        memory, known = one_of(client, word)
        if memory.id in touched:
            fail(f"{memory.id} is named twice.", WRONG)
        try:
            operations = merge(memory, known, time.time_ns(), both_texts=both_texts)
        except ValueError as error:
            fail(f"{error}.", WRONG)
        client.apply(operations)
        touched |= {operation.memory.id for operation in operations}
        done += operations
    return done

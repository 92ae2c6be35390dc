"""`spanlore memories`: what was learned, and `check`, `export`, `import`; `why`: one memory's life and evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlore import completion
from spanlore.ending import USAGE, WRONG, fail
from spanlore.terminal import show, tell, write
from spanlore_extractor.cli.daemon import Id, Json, daemon, here, one_of, print_json, scopes_of
from spanlore_extractor.cli.daemon import time_of as time_of_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanlore.memory.memory import Memory
    from spanlore.repository.checkout import Checkout

_Scope = Annotated[
    str,
    typer.Option(help="Scope key, `user`, or `repo` for this repository.", autocompletion=completion.scopes),
]
_Status = Annotated[str, typer.Option(help="Only of this status, such as active, trial or quarantined.")]
_Kind = Annotated[str, typer.Option(help="Only of this kind, such as usage, environment or correction.")]
_Category = Annotated[str, typer.Option(help="Only of this category, such as convention or dependency.")]
_AsOf = Annotated[str, typer.Option(help="As they were recorded then: a date, a time, or an age such as 7d.")]


def register(app: typer.Typer) -> None:
    """Adds `memories` and `why`."""
    memories = typer.Typer(
        name="memories", help="What was learned here; with a sub-command: check, export, import.", no_args_is_help=False
    )
    memories.callback(invoke_without_command=True)(listing)
    memories.command("check", help="Look for what memories name in this working tree, now.")(check)
    memories.command("export", help="Write memories as JSON lines.")(export)
    memories.command("import", help="Read memories from JSON lines; they wait for review unless trusted.")(take_in)
    app.add_typer(memories, name="memories", invoke_without_command=True)
    app.command("why", help="One memory: its life, and the evidence opened.")(why)


def listing(
    context: typer.Context,
    scope: _Scope = "",
    kind: _Kind = "",
    status: _Status = "",
    category: _Category = "",
    everything: Annotated[bool, typer.Option("--all", help="Every scope, and what is no longer live.")] = False,
    as_of: _AsOf = "",
    as_json: Json = False,
) -> None:
    """The memories of this repository and of the user."""
    if context.invoked_subcommand is not None:
        return
    from spanlore.memory.categories import Category
    from spanlore.memory.memory import Kind, Status
    from spanlore_collector.store.history import memories_as_of
    from spanlore_extractor.cli import views

    _known_word("--kind", kind, [item.value for item in Kind])
    _known_word("--status", status, [item.value for item in Status])
    _known_word("--category", category, [item.value for item in Category])
    scopes = None if everything and not scope else scopes_of(scope)
    at_ns = time_of_word(as_of, "--as-of") if as_of else 0
    with daemon() as (reader, client):
        found = memories_as_of(reader, at_ns) if at_ns else client.memories()
    kept = [memory for memory in found if scopes is None or memory.scope in scopes]
    kept = _wanted(kept, kind, status, category, everything)
    kept = sorted(kept if at_ns else _looked_at(kept), key=views.listing_order)
    if as_json:
        print_json(
            {"scopes": sorted(scopes) if scopes else "all", "memories": [views.categorised(item) for item in kept]}
        )
    elif kept:
        show(views.memory_table(kept, show_scope=scopes is None or len(scopes) > 1))
    else:
        where = "" if scopes is None else f" for {' or '.join(sorted(scopes))}"
        what = " of that kind, status or category" if kind or status or category else ""
        tell(f"Nothing is remembered{where}{what} yet. `spanlore mine` learns from recorded sessions.")


def _wanted(memories: Iterable[Memory], kind: str, status: str, category: str, everything: bool) -> list[Memory]:
    """Those of that kind, status and category ('' is any); what is over, and what only counts, when it is asked for."""
    from spanlore.memory.categories import category_of
    from spanlore.memory.memory import Status
    from spanlore_extractor.memories.queue import is_only_counted

    ended = () if everything or status else (Status.SUPERSEDED, Status.RETIRED, Status.FORGOTTEN)
    is_filtered = everything or status or kind or category
    return [
        memory
        for memory in memories
        if memory.status not in ended
        and (is_filtered or not is_only_counted(memory))
        and kind in ("", memory.kind.value)
        and status in ("", memory.status.value)
        and category in ("", category_of(memory))
    ]


def why(memory_id: Id, as_json: Json = False) -> None:
    """One memory, what happened to it, and what proves it."""
    from spanlore_extractor.cli import views
    from spanlore_extractor.reading import open_evidence

    with daemon() as (reader, client):
        memory, _ = one_of(client, memory_id)
        events = client.events(memory.id)
        opened = open_evidence(reader, memory.evidence)
    [memory] = _looked_at([memory])
    if as_json:
        evidence = views.evidence_to_json(memory, opened)
        print_json({"memory": views.categorised(memory), "events": events, "evidence": evidence})
    else:
        show(views.memory_view(memory, events, opened))


def check(as_json: Json = False) -> None:
    """Look for the paths, symbols and commands that this repository's memories name; what is gone is not shown."""
    from spanlore.memory.memory import memory_to_json
    from spanlore_extractor.run import look_at_trees

    place = here()
    if not place.scope:
        fail("this is not inside a git repository.", USAGE)
    with daemon() as (_, client):
        known = client.memories(scope=place.scope)
        operations = look_at_trees(known, [(place.scope, str(place.root))])
        if operations:
            client.apply(operations)
    if as_json:
        changed = [{"reason": item.reason, "memory": memory_to_json(item.memory)} for item in operations]
        print_json({"scope": place.scope, "looked_at": len(known), "changed": changed})
        return
    write(f"{len(known)} {'memory' if len(known) == 1 else 'memories'} of {place.scope}, {len(operations)} changed.")
    for item in operations:
        write(f"{item.memory.id}  {item.reason}\n    {item.memory.text}")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; `-` is stdout.")] = Path("-"),
    scope: _Scope = "",
    everything: Annotated[bool, typer.Option("--all", help="Every scope, and what is no longer live.")] = False,
    as_json: Json = False,
) -> None:
    """Write this repository's and the user's memories, one JSON object a line, evidence included."""
    from spanlore import private_file
    from spanlore_extractor.memories.carrying import to_lines

    scopes = None if everything and not scope else scopes_of(scope)
    with daemon() as (_, client):
        found = client.memories()
    kept = [item for item in found if (scopes is None or item.scope in scopes) and (everything or item.is_live)]
    text = "".join(f"{line}\n" for line in to_lines(kept))
    if str(file) == "-":
        typer.echo(text, nl=False)
        return
    try:
        # What was learned may be private, as the store is.
        private_file.write(file, text.encode())
    except OSError as error:
        fail(f"can't write {file}: {error.strerror}.", WRONG)
    if as_json:
        print_json({"file": str(file), "memories": len(kept)})
    else:
        write(f"{file} has {'1 memory' if len(kept) == 1 else f'{len(kept):,} memories'}.")


def take_in(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines of `memories export`; `-` is stdin.")],
    trust: Annotated[bool, typer.Option("--trust", help="Keep their status: the file is your own.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken in; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Take in memories from FILE. What is here already stays; what is new waits for review, unless --trust."""
    import sys

    from spanlore.redaction.redact import Redactor
    from spanlore.settings import load_settings
    from spanlore_extractor.memories.carrying import from_lines, take

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        carried = from_lines(text)
    except OSError as error:
        fail(f"can't read {file}: {error.strerror}.", WRONG)
    except ValueError as error:
        fail(f"{file}: {error}. Nothing was taken in.", WRONG)
    with daemon() as (_, client):
        taken = take(carried, client.memories(), Redactor(load_settings().capture.redact), trust)
        if taken.operations and not dry_run:
            client.apply(taken.operations)
    counts = {
        "taken_in": len(taken.operations),
        "known": taken.known,
        "refused": [{"id": memory_id, "reason": reason} for memory_id, reason in taken.refused],
        "dry_run": dry_run,
    }
    if as_json:
        print_json(counts)
        return
    would = "would be " if dry_run else ""
    write(f"{len(taken.operations)} {would}taken in, {taken.known} known already, {len(taken.refused)} refused.")
    for memory_id, reason in taken.refused:
        write(f"{memory_id}  {reason}")
    if taken.operations and not trust:
        write("They wait for review: `spanlore review`.")


def _looked_at(memories: Iterable[Memory]) -> list[Memory]:
    """The memories with their anchors as this working tree says, where it is theirs. Nothing is written."""
    from spanlore_extractor.memories.anchoring import check as check_one
    from spanlore_extractor.tree import WorkingTree

    place: Checkout = here()
    if not place.scope or place.root is None:
        return list(memories)
    tree = WorkingTree(place.root)
    out = []
    for memory in memories:
        found = check_one(memory, tree) if memory.scope == place.scope and memory.is_live else None
        out.append(found.memory if found is not None else memory)
    return out


def _known_word(option: str, word: str, words: list[str]) -> None:
    if word and word not in words:
        fail(f"{option} is one of {', '.join(words)}, not {word!r}.", USAGE)

"""What the extractor's commands share: the way to the daemon, memories by id, the place they are called in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import NOT_RUNNING, USAGE, WRONG, fail

if TYPE_CHECKING:
    from spanlore.memory.memory import Memory
    from spanlore.repository.checkout import Checkout
    from spanlore_collector.store.api_client import MemoryClient
    from spanlore_collector.store.reader import Reader

Json = Annotated[bool, typer.Option("--json", help="JSON, one object.")]
Id = Annotated[
    str,
    typer.Argument(metavar="ID", help="The memory's id, or how it begins.", autocompletion=completion.memories),
]


@contextmanager
def daemon() -> Iterator[tuple[Reader, MemoryClient]]:
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
        fail(str(error), NOT_RUNNING)
    except VersionConflictError as error:
        fail(f"{error} Say it once more.", WRONG)
    except (RequestRefusedError, QueryFailedError) as error:
        if "AUTHENTICATION_FAILED" in str(error) or "says 401" in str(error):
            fail("the daemon refuses the token of the state directory: it was made anew since. Restart it.", WRONG)
        fail(str(error), WRONG)


def one_of(client: MemoryClient, memory_id: str) -> tuple[Memory, list[Memory]]:
    """(the memory of that id, or whose id begins so; all memories); exit code 1 when there is none, or several."""
    known = client.memories()
    found = [memory for memory in known if memory.id.startswith(memory_id)]
    exact = [memory for memory in found if memory.id == memory_id]
    if exact or len(found) == 1:
        return (exact or found)[0], known
    if found:
        fail(f"several ids begin with {memory_id!r}: {', '.join(sorted(memory.id for memory in found))}", WRONG)
    fail(f"there is no memory {memory_id!r}. `spanlore memories --all` lists them.", WRONG)


def here() -> Checkout:
    """The checkout that the command is called in."""
    from spanlore.repository.checkout import locate

    return locate(Path.cwd())


def scopes_of(word: str) -> tuple[str, ...] | None:
    """The scopes that `--scope` means: those read here when nothing is said; None, all, outside of a repository."""
    from spanlore.memory.sharing import Sharing
    from spanlore.settings import load_settings

    place = here()
    if word == "repo":
        if not place.scope:
            fail("this is not inside a git repository.", USAGE)
        return (place.scope,)
    if word:
        return (word,)
    forks = {**({place.scope: place.upstream} if place.upstream else {}), **load_settings().memory.forks}
    return Sharing(forks).scopes(place.scope) if place.scope else None


def time_of(word: str, option: str) -> int:
    """Nanoseconds of `2026-11-30`, `2026-11-30T12:00`, or so long ago: `90m`, `12h`, `7d`, `2w`."""
    import time

    from spanlore.since import since_ns

    try:
        return since_ns(word, time.time_ns())
    except ValueError:
        fail(f"{option} is a date (2026-11-30), a time (2026-11-30T12:00) or an age (7d, 12h), not {word!r}.", USAGE)


def length_of(word: str, option: str) -> int:
    """Nanoseconds of a length of time: `90m`, `12h`, `7d`, `2w`; at most a year."""
    from spanlore.since import length_ns

    length = length_ns(word) or 0
    if not 0 < length <= 366 * 86_400 * 10**9:
        fail(f"{option} is a length of time up to a year (90m, 12h, 7d, 2w), not {word!r}.", USAGE)
    return length


def print_json(value: Any) -> None:
    """One JSON object on one line."""
    import orjson

    typer.echo(orjson.dumps(value, default=str).decode())

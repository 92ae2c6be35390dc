"""Whose word a command is: a person's, or that of the agent in whose shell it was called (`spanlore.harness.caller`).

What an agent has remembered waits for its user's yes, as by MCP; what is a user's decision, an agent can't take.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spanlore.ending import WRONG, fail
from spanlore.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanlore_extractor.mcp_server.desk import Desk


def speaking_agent() -> str:
    """The agent that called this command; '' when a person did, or its user has said that agents speak for them."""
    from spanlore.harness.caller import calling_agent
    from spanlore.settings import Paths, child_environment, load_settings

    environ = child_environment({})
    if load_settings({}, Paths.from_environ(environ)).memory.agents_word == "kept":
        return ""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    has_terminal = any(stream is not None and not stream.closed and stream.isatty() for stream in streams)
    return calling_agent(environ, _ancestors(), has_terminal=has_terminal)


def only_the_user(what: str) -> None:
    """Ends the command with exit code 1 where an agent called it."""
    if agent := speaking_agent():
        fail(f"this was called by {agent}, and {what} is for its user alone, in a terminal of their own.", WRONG)


def tell_waiting(agent: str, note: str) -> None:
    """Why what was said is not shown to anybody yet."""
    tell(f"spanlore: called by {agent}, so these are an agent's words: {note}")


def desk() -> Desk:
    """The operations that agents have, where this command was called."""
    import time
    from pathlib import Path

    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_extractor.mcp_server.desk import Desk
    from spanlore_extractor.mcp_server.workplace import workplace_of

    environ = child_environment({})
    paths = Paths.from_environ(environ)
    return Desk(load_settings(paths=paths), paths, workplace_of(Path.cwd(), environ), time.time_ns)


def _ancestors() -> Iterator[Sequence[str]]:
    """Command lines from the parent upwards; those of other users' processes can't be read and are left out."""
    import psutil

    try:
        parents = psutil.Process().parents()
    except psutil.Error:
        return
    for process in parents:
        try:
            yield process.cmdline()
        except (psutil.Error, OSError):
            continue

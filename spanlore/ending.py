"""How the commands talk and end: data to stdout, messages to stderr, exit codes that scripts can use."""

from __future__ import annotations

from typing import Final, NoReturn

import typer

from spanlore.terminal import tell

WRONG: Final = 1
"""Exit code: something is wrong."""
USAGE: Final = 2
"""Exit code: usage or configuration error."""
NOT_RUNNING: Final = 3
"""Exit code: there is no daemon."""


def say(text: str) -> None:
    """One message to the user, marked as ours: an agent's own output goes to the same terminal."""
    tell(f"spanlore: {text}")


def fail(text: str, code: int = WRONG) -> NoReturn:
    """Ends the command with a message."""
    say(text)
    raise typer.Exit(code)

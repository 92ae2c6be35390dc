"""How the commands talk: messages to stderr, data to stdout, exit codes that scripts can use."""

from __future__ import annotations

from typing import Final

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

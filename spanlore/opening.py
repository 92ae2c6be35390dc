"""How far a collector is that opens its store: told in a file while nothing listens yet, read by whoever waits for it.

The first start of a new version on a large store takes its time. The daemon waits for as long as it gets on.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from spanlore import private_file

QUIET_S: Final = 3.0
"""Whoever waits says nothing of an opening that takes no longer, and nothing more of it for as long."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One step of it."""

    pid: int
    """Of the collector."""
    doing: str
    """In words, as they stand behind "the collector is"."""
    done: int = 0
    of: int = 0
    """Steps of an upgrade, 0 where it is none."""

    def __str__(self) -> str:
        """`upgrading the store (0041_texts), step 3 of 40`."""
        return f"{self.doing}, step {self.done + 1} of {self.of}" if self.of else self.doing


def tell(path: Path, doing: str, done: int = 0, of: int = 0) -> None:
    """Leaves this process's step for others. That it can't be told keeps nothing from being done."""
    with suppress(OSError):
        private_file.replace(path, json.dumps(asdict(Opening(os.getpid(), doing, done, of))).encode())


def read(path: Path) -> Opening | None:
    """The step that was told last, by a process that is there; None when no store is being opened."""
    try:
        found = json.loads(path.read_bytes())
        opening = Opening(int(found["pid"]), str(found["doing"]), int(found["done"]), int(found["of"]))
        os.kill(opening.pid, 0)
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return opening

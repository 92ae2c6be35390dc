"""Anchors: what of a repository a memory names, and whether it is still there.

A memory that names a path, a symbol or a command is only as good as that. Anchors are checked where a working tree is
known (mining, the command line, `spanlore run`), never while a request waits; what is found is kept in the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class AnchorKind(StrEnum):
    """What sort of thing is named."""

    PATH = "path"
    """A file or directory, relative to the repository's root."""
    SYMBOL = "symbol"
    """An identifier that stands in `file`."""
    COMMAND = "command"
    """A target or script that `file` defines: `make check`, `npm run lint`."""


class AnchorState(StrEnum):
    """What the working tree said when it was last looked at."""

    UNKNOWN = "unknown"
    """Never looked at: no tree was known."""
    FRESH = "fresh"
    DRIFTED = "drifted"
    """Still there, in a file that has changed since the memory was made."""
    ORPHANED = "orphaned"
    """Gone."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One thing a memory names."""

    kind: AnchorKind
    name: str
    file: str = ""
    """Relative path that holds it; the path itself for `PATH`."""
    digest: str = ""
    """Of the file's content when the anchor was first seen fresh, 16 hex digits; '' for directories and before that."""
    state: AnchorState = AnchorState.UNKNOWN


def state_of(anchors: Iterable[Anchor]) -> AnchorState:
    """The worst of them: orphaned before drifted before fresh; unknown when none was looked at."""
    states = {anchor.state for anchor in anchors}
    for state in (AnchorState.ORPHANED, AnchorState.DRIFTED, AnchorState.FRESH):
        if state in states:
            return state
    return AnchorState.UNKNOWN


def anchor_from_json(data: dict[str, Any]) -> Anchor:
    """The inverse of `dataclasses.asdict`.

    Raises:
        KeyError, ValueError: not an anchor.
    """
    return Anchor(
        kind=AnchorKind(data["kind"]),
        name=str(data["name"]),
        file=str(data.get("file") or ""),
        digest=str(data.get("digest") or ""),
        state=AnchorState(data.get("state") or AnchorState.UNKNOWN),
    )

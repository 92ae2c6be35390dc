"""Transcripts of agents that write one JSON object a line: every line goes to a reader, which gathers events and what
the file says about its session."""

from __future__ import annotations

from typing import Any, Protocol

from spanlore.transcripts.events import Event, Transcript
from spanlore.transcripts.loose import Lines


class LineReader(Protocol):
    """What an agent's reader offers."""

    events: list[Event]
    about: dict[str, str]
    """`cwd` and `branch` among it, and session and version under the agent's own names."""

    def take(self, line: int, event: dict[str, Any]) -> None:
        """Takes in the object on a line (0-based)."""
        ...


def read_lined(data: bytes, harness: str, reader: LineReader, *, session: str, version: str) -> Transcript:
    """The transcript of one file. `session` and `version` are the names under which the reader knows them."""
    lines = Lines(data)
    for line, event in lines:
        reader.take(line, event)
    about = reader.about
    return Transcript(
        harness,
        about.get(session, ""),
        about.get(version, ""),
        about.get("cwd", ""),
        about.get("branch", ""),
        tuple(reader.events),
        lines.count,
        lines.malformed,
    )

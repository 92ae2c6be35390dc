"""Reads a session file of any known agent for mining; the importers, which make spans of it, are the proxy's."""

from __future__ import annotations

from pathlib import Path

from spanlore.transcripts import opencode
from spanlore.transcripts.events import Transcript
from spanlore.transcripts.opencode_storage import export_at
from spanlore.transcripts.reading import read_transcript
from spanlore_extractor.evaluation.building import session_of
from spanlore_extractor.mining.session import MinedSession


def read_session(root: Path, file: str) -> MinedSession:
    """The session in `root/file`, where `file` is `sessions/<harness>/<repository>/<name>`.

    Raises:
        OSError: the file can't be read.
        UnknownFormatError: no known agent writes such a file.
    """
    parts = file.split("/")
    repository = f"github.com/{parts[-2].replace('__', '/', 1).lower()}" if len(parts) > 1 else ""
    return session_of(read_path(root / file), repository)


def read_path(path: Path) -> Transcript:
    """The transcript of a session file; a session in OpenCode's storage is put together from its parts.

    Raises:
        OSError: the file can't be read.
        UnknownFormatError: no known agent writes such a file.
    """
    export = export_at(path)
    return opencode.read(export) if export is not None else read_transcript(path.read_bytes())

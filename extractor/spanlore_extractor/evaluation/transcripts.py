"""Reads a labelled session file, by the harness its path names. Only for measuring; the importers are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spanlore_extractor.evaluation import claude_code, codex, trajectories
from spanlore_extractor.mining.session import Conversation, MinedSession, Step

_LINES: dict[str, Callable[[list[bytes]], tuple[Step, ...]]] = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "pi": trajectories.read_pi,
}
_WHOLE: dict[str, Callable[[bytes], tuple[Step, ...]]] = {
    "mini-swe-agent": trajectories.read_mini,
    "swe-agent": trajectories.read_swe,
    "gemini-cli": trajectories.read_gemini,
}


def read_session(root: Path, file: str) -> MinedSession | None:
    """The session in `root/file`, where `file` is `sessions/<harness>/<repository>/<name>`; None when the harness is
    not known here.

    Raises:
        OSError: the file can't be read.
        ValueError: it is not what its harness writes.
    """
    _, harness, repository, name = file.split("/", 3)
    data = (root / file).read_bytes()
    if harness in _LINES:
        steps = _LINES[harness](data.split(b"\n"))
    elif harness in _WHOLE:
        steps = _WHOLE[harness](data)
    else:
        return None
    return MinedSession(
        session_id=name,
        conversations=(Conversation(key=name[:16], steps=steps),),
        harness=harness,
        repository=f"github.com/{repository.replace('__', '/', 1).lower()}",
    )

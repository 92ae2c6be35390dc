"""Each session of a folder left out once: what all others of its repository teach is what is known in it.

Memories that wait are taken as confirmed, or there would be next to nothing to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from spanlore.memory.memory import Memory, Status
from spanlore.recall.snapshot import Snapshot
from spanlore.redaction.redact import Redactor
from spanlore_extractor.evaluation.corpus import candidates_of, consolidated
from spanlore_extractor.mining.session import MinedSession

_WAITING: Final = frozenset({Status.CANDIDATE, Status.TRIAL})


def left_out(sessions: Sequence[MinedSession]) -> Iterator[tuple[MinedSession, Snapshot]]:
    """(session, what is known in it); none for the only one of its repository."""
    redactor = Redactor()
    mined = {id(session): candidates_of(session) for session in sessions}
    for session in sessions:
        others = [one for one in sessions if one is not session and one.repository == session.repository]
        if others:
            taught = consolidated(others, 0, redactor, lambda one: mined[id(one)]).memories
            yield session, Snapshot.of(map(_confirmed, taught))


def _confirmed(memory: Memory) -> Memory:
    return replace(memory, status=Status.ACTIVE, alpha=9.0) if memory.status in _WAITING else memory

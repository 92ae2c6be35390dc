"""A session's note: what was wanted, decided, changed, put right and left open, and what was learned. By template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.memory.shapes import suspicious
from spanlore_extractor.memories.wording import clip
from spanlore_extractor.mining.session import MinedSession
from spanlore_extractor.mining.summary import Summary, summarise
from spanlore_extractor.notes.markdown import TITLE_CHARS, Observation, assemble, observation

MAX_CHARS: Final = 300
WINDOW_NS: Final = 600 * 10**9


def session_file(session: MinedSession) -> str:
    """Where its note lies."""
    scope = re.sub(r"[^A-Za-z0-9._-]+", "-", session.repository).strip("-.") or "unknown"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", session.session_id).strip("-.")[:80] or "session"
    return f"sessions/{scope}/{_day(summarise(session, WINDOW_NS).start_time_ns)}-{name}.md"


def session_note(session: MinedSession, memories: Iterable[Memory]) -> str:
    """The note of a session; '' when nothing was done in it."""
    summary = summarise(session, WINDOW_NS)
    if not summary.counts.get("tool_calls"):
        return ""
    learned = sorted(
        memory.id for memory in memories if any(item.session_id == session.session_id for item in memory.evidence)
    )
    observations = [item for item in _observations(summary) if not suspicious(item.text)]
    goal = next((item.text for item in observations if item.category == "goal"), "")
    title = clip(goal, TITLE_CHARS) or f"session {session.session_id}"
    front = {
        "title": title,
        "type": "session",
        "permalink": f"spanlore/sessions/{session.session_id}",
        "tags": ["spanlore", "session"],
        "session": session.session_id,
        "scope": session.repository,
        "agent": session.harness,
        "branch": session.branch,
        "date": _day(summary.start_time_ns),
        "duration_min": round((summary.end_time_ns - summary.start_time_ns) / 60e9, 1),
        **summary.counts,
    }
    related = [("about", session.repository)] if session.repository else []
    related += [("taught", memory_id) for memory_id in learned]
    return assemble(front, title, [observation(item) for item in observations], related)


def _observations(summary: Summary) -> list[Observation]:
    """In Basic Memory's categories; what is said was said by a person or a program, never thought by a model."""
    told = [("goal", summary.goal), ("current_task", summary.task)]
    told += [("decision", text) for text in summary.decisions]
    told += [("files_changed", text) for text in summary.files]
    told += [("error_resolved", f"{item.error}: {item.fix}") for item in summary.resolved]
    told += [("error_open", text) for text in summary.unresolved]
    told += [("open_question", text) for text in summary.questions]
    told.append(("suggested_next", summary.suggested_next))
    told += [("confirmed", text) for text in summary.confirmed]
    return [Observation(category, clip(text, MAX_CHARS)) for category, text in told if text.strip()]


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d") if time_ns else "undated"

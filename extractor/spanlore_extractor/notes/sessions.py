"""A session's note: what was wanted, what was changed, what failed and was put right, what was learned. By template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.memories.shapes import suspicious
from spanlore_extractor.memories.wording import clip
from spanlore_extractor.mining.failures import find_deltas
from spanlore_extractor.mining.lessons import relative, shown_command
from spanlore_extractor.mining.session import HumanStep, MinedSession, Step, ToolStep, time_of
from spanlore_extractor.mining.tools import is_edit, path_of
from spanlore_extractor.notes.markdown import TITLE_CHARS, Observation, assemble, observation

MAX_FILES: Final = 20
MAX_RESOLVED: Final = 10
WINDOW_NS: Final = 600 * 10**9


def session_file(session: MinedSession) -> str:
    """Where its note lies."""
    scope = re.sub(r"[^A-Za-z0-9._-]+", "-", session.repository).strip("-.") or "unknown"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", session.session_id).strip("-.")[:80] or "session"
    return f"sessions/{scope}/{_day(_steps(session))}-{name}.md"


def session_note(session: MinedSession, memories: Iterable[Memory]) -> str:
    """The note of a session; '' when nothing was done in it."""
    steps = _steps(session)
    tools = [step for step in steps if isinstance(step, ToolStep)]
    if not tools:
        return ""
    goal = _goal(steps)
    learned = sorted(
        memory.id for memory in memories if any(item.session_id == session.session_id for item in memory.evidence)
    )
    title = clip(goal, TITLE_CHARS) or f"session {session.session_id}"
    failures = sum(step.outcome is Outcome.FAILURE for step in tools)
    front = {
        "title": title,
        "type": "session",
        "permalink": f"spanlore/sessions/{session.session_id}",
        "tags": ["spanlore", "session"],
        "session": session.session_id,
        "scope": session.repository,
        "agent": session.harness,
        "branch": session.branch,
        "date": _day(steps),
        "duration_min": round((time_of(steps[-1]) - time_of(steps[0])) / 60e9, 1),
        "tool_calls": len(tools),
        "failures": failures,
    }
    lines = [Observation("goal", clip(goal, 300))] if goal else []
    lines += [Observation("files_changed", path) for path in _files(tools, session)]
    lines += [Observation("error_resolved", text) for text in _resolved(session)]
    related = [("about", session.repository)] if session.repository else []
    related += [("taught", memory_id) for memory_id in learned]
    return assemble(front, title, [observation(line) for line in lines], related)


def _steps(session: MinedSession) -> list[Step]:
    steps = [step for conversation in session.conversations for step in conversation.steps]
    return sorted(steps, key=time_of)


def _goal(steps: Sequence[Step]) -> str:
    """The first thing a person typed, unless it looks like poison."""
    said = (step.text for step in steps if isinstance(step, HumanStep) and step.channel is Channel.USER_MESSAGE)
    first = " ".join(next(said, "").split())
    return "" if suspicious(first) else clip(first, 300)


def _files(tools: Sequence[ToolStep], session: MinedSession) -> list[str]:
    done = (step for step in tools if step.outcome is Outcome.SUCCESS and is_edit(step) and path_of(step))
    return list(dict.fromkeys(relative(path_of(step), session) for step in done))[:MAX_FILES]


def _resolved(session: MinedSession) -> list[str]:
    out = []
    for conversation in session.conversations:
        for delta in find_deltas(conversation, WINDOW_NS).deltas:
            failed, line = shown_command(delta.failure.command, session), delta.failure.error_line
            told = clip(f"{failed}: {line}", 200)
            if not suspicious(told):
                out.append(told)
    return list(dict.fromkeys(out))[:MAX_RESOLVED]


def _day(steps: Sequence[Step]) -> str:
    return datetime.fromtimestamp(time_of(steps[0]) / 1e9, UTC).strftime("%Y-%m-%d") if steps else "undated"

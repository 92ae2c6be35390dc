"""What one session was about, told without a model: its goal, what the person decided, which files were changed, which
errors were resolved, what is open.

Everything is quoted from the session's own spans. What the agent thought, or says of itself, is no fact and stands only
as its last word, marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from spanlore.genai.inference import CallClass
from spanlore.harness.prose import prose
from spanlore.spans.place import Channel
from spanlore_extractor.mining.answer import is_success
from spanlore_extractor.mining.detected import Detected, detect
from spanlore_extractor.mining.hygiene import sentences
from spanlore_extractor.mining.lessons import relative, shown_command
from spanlore_extractor.mining.session import AgentStep, Conversation, HumanStep, MinedSession, Step, ToolStep, time_of
from spanlore_extractor.mining.tools import is_edit, path_of

MAX_GOAL_CHARS: Final = 200
MAX_ITEMS: Final = 12
"""Of each sort; what is left out is counted."""
MAX_ITEM_CHARS: Final = 160
MAX_DECISIONS: Final = 40
MAX_DECISION_CHARS: Final = 600
"""A person's own words are kept whole, unless somebody pasted a page."""
_LISTS: Final = frozenset({"todowrite", "update_plan", "write_todos"})
"""Tools by which agents keep a list of what they are to do."""
_TEXTS: Final = ("content", "step", "description")


@dataclass(frozen=True, slots=True)
class Resolved:
    """An error, and the call that answered it."""

    error: str
    fix: str
    type: str


@dataclass(frozen=True, slots=True)
class Summary:
    """One session."""

    session_id: str
    repository: str
    branch: str
    harness: str
    start_time_ns: int
    end_time_ns: int
    goal: str
    """The first thing the person asked, '' when nobody typed anything."""
    task: str = ""
    """The last thing the person asked, when it is another."""
    decisions: tuple[str, ...] = ()
    """The person's corrections and standing statements, in their words."""
    files: tuple[str, ...] = ()
    resolved: tuple[Resolved, ...] = ()
    unresolved: tuple[str, ...] = ()
    """Errors that nothing answered."""
    questions: tuple[str, ...] = ()
    """What the agent asked last, and nobody answered."""
    suggested_next: str = ""
    """What was left to do: the first open item of the agent's own list, else what it asked last, else the last error
    that nothing answered. '' when nothing tells."""
    confirmed: tuple[str, ...] = ()
    left_out: int = 0
    """Items beyond `MAX_ITEMS` of a sort."""
    counts: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    """Steps it was made of, and contents of them that were there: of two summaries of a session the one made of more is
    the better one."""


def summarise(session: MinedSession, window_ns: int, detected: Sequence[Detected] = ()) -> Summary:
    """The session's summary; pure, and the same for the same spans. `detected`: what `detect` gives for the session,
    where that is known already."""
    detected = detected or detect(session, window_ns)
    steps = [step for conversation in session.conversations for step in conversation.steps]
    told = [one for one in detected if one.conversation.call_class in (CallClass.MAIN, CallClass.UNKNOWN)]
    main = [one.conversation for one in told]
    asked = [text for one in main for step in one.steps if (text := _request(step))]
    decisions: list[str] = []
    confirmed: list[str] = []
    questions: list[str] = []
    for one in told:
        decisions += _decisions(one)
        confirmed += [item.reason for item in one.confirmations]
        questions += _questions(one.conversation)
    found = [one.failures for one in detected]
    resolved = [
        Resolved(_clip(delta.failure.error_line), _fix(delta.fix, session), delta.type.value)
        for findings in found
        for delta in findings.deltas
    ]
    open_lines = [_clip(drop.failure.error_line) for item in found for drop in item.drops if drop.failure.error_line]
    settled = {item.error for item in resolved}
    unresolved = [line for line in open_lines if line not in settled]
    kept = _Kept()
    return Summary(
        session_id=session.session_id,
        repository=session.repository,
        branch=session.branch,
        harness=session.harness,
        start_time_ns=min((time_of(step) for step in steps), default=0),
        end_time_ns=max((time_of(step) for step in steps), default=0),
        goal=asked[0] if asked else "",
        task=asked[-1] if len(asked) > 1 and asked[-1] != asked[0] else "",
        decisions=kept.of(decisions, MAX_DECISIONS),
        files=kept.of(_files(session)),
        resolved=kept.of(resolved),
        unresolved=kept.of(unresolved),
        questions=kept.of(questions),
        suggested_next=_open_item(main) or (questions or unresolved or [""])[-1],
        confirmed=kept.of(confirmed),
        left_out=kept.left_out,
        counts=_counts(steps),
        steps=sum(map(_told, steps)),
    )


def _told(step: Step) -> int:
    return 1 + (bool(step.arguments) + bool(step.output) if isinstance(step, ToolStep) else 0)


class _Kept:
    """The first items of each sort, each once, and how many were left out."""

    def __init__(self) -> None:
        self.left_out = 0

    def of[Item](self, items: list[Item], most: int = MAX_ITEMS) -> tuple[Item, ...]:
        each = tuple(dict.fromkeys(items))
        self.left_out += max(len(each) - most, 0)
        return each[:most]


def _request(step: Step) -> str:
    """What the person asked in a message of their own."""
    if not isinstance(step, HumanStep) or step.channel is not Channel.USER_MESSAGE:
        return ""
    flat = " ".join((prose(step.text) or step.text).split())
    return flat if len(flat) <= MAX_GOAL_CHARS else flat[: MAX_GOAL_CHARS - 1].rstrip() + "…"


def _decisions(detected: Detected) -> list[str]:
    found = [(item.step.time_ns, item.quote) for item in detected.corrections[0]]
    found += [(item.step.time_ns, item.quote) for item in detected.statements]
    return [_clip(quote, MAX_DECISION_CHARS) for _, quote in sorted(found, key=lambda one: one[0])]


def _files(session: MinedSession) -> list[str]:
    steps = (step for conversation in session.conversations for step in conversation.steps)
    changed = (step for step in steps if isinstance(step, ToolStep) and is_edit(step) and is_success(step))
    return [relative(path, session) for step in changed if (path := path_of(step))]


def _questions(conversation: Conversation) -> list[str]:
    last = conversation.steps[-1] if conversation.steps else None
    if not isinstance(last, AgentStep):
        return []
    return [_clip(sentence) for sentence in sentences(last.text[-600:]) if sentence.endswith("?")]


def _open_item(conversations: Sequence[Conversation]) -> str:
    """The first item of the agent's newest list that is not done, the one in progress before others."""
    steps = [step for one in conversations for step in one.steps if isinstance(step, ToolStep)]
    newest = next((step for step in reversed(steps) if step.tool_name.lower() in _LISTS), None)
    items = items_of(newest) if newest is not None else []
    open_items = sorted((item for item in items if item[0] != "completed"), key=lambda item: item[0] != "in_progress")
    return _clip(open_items[0][1]) if open_items else ""


def items_of(step: ToolStep) -> list[tuple[str, str]]:
    """(status, text) of the items of a list that an agent keeps: Claude Code's and OpenCode's, Codex's, Gemini CLI's.
    [] when the arguments were cut."""
    try:
        data = orjson.loads(step.arguments)
    except orjson.JSONDecodeError:
        return []
    if not isinstance(data, dict):
        return []
    listed: list[Any] = next((data[name] for name in ("todos", "plan") if isinstance(data.get(name), list)), [])
    return [
        (str(item.get("status") or "pending"), str(next((item[key] for key in _TEXTS if item.get(key)), "")))
        for item in listed
        if isinstance(item, dict) and item.get("status") != "cancelled"
    ]


def _fix(step: ToolStep, session: MinedSession) -> str:
    path = path_of(step)
    return _clip(f"{step.tool_name} {relative(path, session)}" if path else shown_command(step.command, session))


def _counts(steps: Sequence[Step]) -> dict[str, int]:
    tools = [step for step in steps if isinstance(step, ToolStep)]
    return {
        "messages": sum(isinstance(step, HumanStep) for step in steps),
        "tool_calls": len(tools),
        "failures": sum(step.outcome.value == "failure" for step in tools),
    }


def _clip(text: str, most: int = MAX_ITEM_CHARS) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"

"""SWE-agent trajectories: one action with its observation a step. There are no exit codes."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Event, Mark, Result, Said, Transcript
from spanlore.transcripts.loose import mapping, string, text_of

HARNESS: Final = "swe-agent"
_OWN: Final = frozenset(
    {"edit", "open", "create", "goto", "insert", "scroll_up", "scroll_down", "search_dir", "search_file", "find_file",
     "str_replace_editor", "submit"}
)  # fmt: skip


def read(document: dict[str, Any]) -> Transcript:
    """The transcript of a trajectory; a mark's line is the step."""
    steps = document.get("trajectory")
    steps = steps if isinstance(steps, list) else []
    events: list[Event] = []
    if task := _task(document):
        events.append(Said(Mark(0, "task"), (task,)))
    for line, step in enumerate(steps):
        if not isinstance(step, dict):
            continue
        action, text = string(step.get("action")).strip(), text_of(step.get("observation"))
        mark = Mark(line, str(line))
        if thought := string(step.get("thought")).strip():
            events.append(Answered(mark, Text(thought), f"step-{line}"))
        if action:
            first = action.split(None, 1)[0]
            call = ToolCall(str(line), first if first in _OWN else "bash", {"command": action})
            events.append(Answered(mark, call, f"step-{line}"))
            events.append(Result(mark, ToolResult(str(line), text)))
    bad = sum(not isinstance(step, dict) for step in steps)
    return Transcript(HARNESS, string(document.get("environment")), "", _cwd(steps), "", tuple(events), len(steps), bad)


def _task(document: dict[str, Any]) -> str:
    history = document.get("history")
    for message in history if isinstance(history, list) else ():
        if isinstance(message, dict) and message.get("role") == "user" and not message.get("is_demo"):
            return text_of(message.get("content"))
    return ""


def _cwd(steps: list[Any]) -> str:
    for step in steps[:1]:
        return string(mapping(parsed(mapping(step).get("state"))).get("working_dir"))
    return ""

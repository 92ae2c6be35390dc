"""Calls whose result belongs to an earlier call: the rest of a command that was still running.

Codex answers a slow command with `Process running with session ID N` (in code mode: `Script running with cell ID N`).
How it ended is told later, in the result of a `write_stdin` or `wait` call with that id, and so under another call id.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.harness.printed import read_printed
from spanlore_proxy.conversation.view import View

_FOLLOWS: Final = {"write_stdin": "session_id", "wait": "cell_id"}
"""Tool that asks for the rest → the argument that names what is running."""
_MAX_LOOKBACK: Final = 200
"""Messages that are searched for the beginning."""


def command_behind(view: View, index: int, call: ToolCall, harness: str) -> ToolCall | None:
    """The call that started what this one waits for; None when it waits for nothing, or the start is not there.

    `index`: of the message that holds the result.
    """
    running = _awaited(call)
    if not running:
        return None
    for at in range(index - 1, max(index - 1 - _MAX_LOOKBACK, -1), -1):
        if view.is_assistant(at):
            continue
        for part in view.message(at).parts:
            if isinstance(part, ToolResult) and read_printed(part.response, harness).running == running:
                begun = view.tool_calls_before(at)[1].get(part.id)
                if begun is not None and not _awaited(begun):
                    return begun
    return None


def _awaited(call: ToolCall) -> str:
    key = _FOLLOWS.get(call.name)
    value: Any = call.arguments.get(key) if key is not None and isinstance(call.arguments, dict) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

"""SWE-agent's trajectories."""

from __future__ import annotations

import pytest

from spanlore.genai.messages import ToolCall
from spanlore.transcripts.events import Answered, Result
from spanlore.transcripts.swe_agent import read


def test_a_step() -> None:
    """A step is a call and its result; the tool is SWE-agent's own, or the shell."""
    steps = [
        {"action": "open a.py\n", "observation": "1:x", "thought": "T", "state": '{"working_dir": "/r"}'},
        {"action": "python a.py", "observation": "ok"},
        "torn",
    ]
    found = read({"environment": "e", "trajectory": steps})

    calls = [event.part for event in found.events if isinstance(event, Answered) and isinstance(event.part, ToolCall)]
    assert [(call.id, call.name) for call in calls] == [("0", "open"), ("1", "bash")]
    assert (found.cwd, found.lines, found.malformed_lines) == ("/r", 3, 1)


@pytest.mark.parametrize(
    ("observation", "flag"),
    [
        ("Traceback (most recent call last):\n", True),
        ("Your proposed edit has introduced new syntax error(s).", True),
        ("No replacement was performed, old_str did not appear verbatim", True),
        ("bash: foo: command not found", True),
        ("Found 3 errors in the log", None),
    ],
)
def test_failures(observation: str, flag: bool | None) -> None:
    """Only refusals and tracebacks tell a failure; the word error does not."""
    found = read({"trajectory": [{"action": "x", "observation": observation}]}).events
    [result] = [event for event in found if isinstance(event, Result)]

    assert result.result.is_error is flag

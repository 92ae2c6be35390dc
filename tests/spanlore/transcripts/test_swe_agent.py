"""SWE-agent's trajectories."""

from __future__ import annotations

import pytest

from spanlore.genai.messages import ToolCall
from spanlore.spans.place import Outcome
from spanlore.transcripts.events import Answered, Result
from spanlore.transcripts.swe_agent import read
from spanlore.transcripts.verdict import verdict


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
    ("action", "observation", "outcome"),
    [
        ("python x.py", "Traceback (most recent call last):\nValueError: no", Outcome.FAILURE),
        ("edit 1:2", "Your proposed edit has introduced new syntax error(s)." + "\nline" * 40, Outcome.FAILURE),
        (
            "str_replace_editor str_replace /a --old_str x",
            "No replacement was performed, old_str did not appear",
            Outcome.FAILURE,
        ),
        ("foo", "bash: foo: command not found", Outcome.FAILURE),
        ("cat build.log", "Found 3 errors in the log", Outcome.UNKNOWN),
        ("open a.py", "[File: /a.py (3 lines total)]\nerror: x", Outcome.UNKNOWN),
    ],
)
def test_failures(action: str, observation: str, outcome: Outcome) -> None:
    """Only what a tool or program says of its own end tells a failure; the word error does not."""
    found = read({"trajectory": [{"action": action, "observation": observation}]}).events
    [call] = [event.part for event in found if isinstance(event, Answered) and isinstance(event.part, ToolCall)]
    [result] = [event for event in found if isinstance(event, Result)]

    assert verdict(call, result, "swe-agent").outcome is outcome

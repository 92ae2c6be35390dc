"""Outcomes that only the file tells."""

from __future__ import annotations

import pytest

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.spans.place import Outcome
from spanlore.transcripts.events import Mark, Result
from spanlore.transcripts.verdict import verdict


@pytest.mark.parametrize(
    ("command", "exit_code", "refusal", "outcome"),
    [
        ("make", 0, None, Outcome.SUCCESS),
        ("make", 2, None, Outcome.FAILURE),
        ("grep a b", 1, None, Outcome.SUCCESS),
        ("make | tail", 0, None, Outcome.UNKNOWN),
        ("make", None, None, Outcome.UNKNOWN),
        ("make", None, "", Outcome.REJECTED),
        ("make", 0, "no", Outcome.REJECTED),
    ],
)
def test_outcomes(command: str, exit_code: int | None, refusal: str | None, outcome: Outcome) -> None:
    """Exit codes mean what they mean for the command; without one and without a flag nobody knows."""
    call = ToolCall("t", "bash", {"command": command})

    assert verdict(call, Result(Mark(0), ToolResult("t", "out"), exit_code, refusal), "opencode").outcome is outcome

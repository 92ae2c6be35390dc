"""How a call in a session file ended: as the wire would tell it, and what only the file tells."""

from __future__ import annotations

from dataclasses import replace

from spanlore.genai.messages import ToolCall
from spanlore.harness.outcome import Verdict, judge
from spanlore.spans.place import Outcome
from spanlore.transcripts.events import Result


def verdict(call: ToolCall, event: Result, harness: str) -> Verdict:
    """The verdict on a result. An exit code that stands apart from the text is judged like one that Claude Code
    prints; a refusal that the file names is one whatever the text says."""
    if event.refusal is not None:
        return Verdict(Outcome.REJECTED, "user_rejected")
    if event.exit_code is None:
        return judge(call, event.result, harness)
    text = event.result.response
    told = f"Exit code {event.exit_code}\n{text}" if event.exit_code else text
    return judge(call, replace(event.result, response=told, is_error=bool(event.exit_code)), "claude-code")

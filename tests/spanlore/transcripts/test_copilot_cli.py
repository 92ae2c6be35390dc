"""Copilot CLI's events."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore.genai.messages import ToolCall
from spanlore.transcripts.copilot_cli import read
from spanlore.transcripts.events import Answered, Result, Said, Stopped


def event(kind: str, **data: Any) -> bytes:
    return orjson.dumps({"type": kind, "id": f"e-{kind}", "timestamp": "2026-02-01T00:00:00Z", "data": data})


def done(**data: Any) -> bytes:
    return event("tool.execution_complete", toolCallId="t1", **data)


def test_a_call_that_is_announced_and_started_is_one() -> None:
    """The answer asks for the call, its start tells it again."""
    found = read(
        b"\n".join(
            (
                event("session.start", sessionId="s", copilotVersion="1.0", context={"cwd": "/r", "branch": "main"}),
                event("user.message", content="go"),
                event(
                    "assistant.message",
                    messageId="m1",
                    content="ok",
                    toolRequests=[{"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}}],
                ),
                event("tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "ls"}),
                done(success=True, result={"content": "x\n<exited with exit code 2>"}),
                event("abort", reason="user initiated"),
            )
        )
    )

    assert (found.session_id, found.cwd, found.branch, found.version) == ("s", "/r", "main", "1.0")
    assert [type(one) for one in found.events] == [Said, Answered, Answered, Result, Stopped]
    call, result = found.events[2], found.events[3]
    assert isinstance(call, Answered) and call.part == ToolCall("t1", "bash", {"command": "ls"})
    assert isinstance(result, Result) and result.exit_code == 2


def test_results_without_an_exit_code() -> None:
    """Success is told by the flag; a refusal by its code, with the person's feedback."""
    [good] = read(done(success=True, result={"content": "the exit code 3 is fine here, said the manual"})).events
    [bad] = read(done(success=False, error={"message": "No match found", "code": "failure"})).events
    [refused] = read(
        done(success=False, error={"message": "Rejected. User feedback: use make", "code": "rejected"})
    ).events

    assert isinstance(good, Result) and (good.result.is_error, good.exit_code) == (False, None)
    assert isinstance(bad, Result) and (bad.result.is_error, bad.result.response) == (True, "No match found")
    assert isinstance(refused, Result) and refused.refusal == "use make"
    [denied] = read(done(success=False, error={"message": "Denied, reason: always", "code": "denied"})).events
    assert isinstance(denied, Result) and denied.refusal == ""

"""OpenCode's exports."""

from __future__ import annotations

from typing import Any

from spanlore.genai.messages import ToolCall
from spanlore.transcripts.events import Answered, Compacted, Result, Said, Stopped
from spanlore.transcripts.opencode import export_of, read


def tool(status: str, **state: Any) -> dict[str, Any]:
    state = {"status": status, "input": {"command": "make"}, **state}
    return {"id": "prt_3", "type": "tool", "callID": "call_1", "tool": "bash", "state": state}


USER = {"info": {"id": "msg_1", "role": "user"}, "parts": [
    {"id": "prt_1", "type": "text", "text": "build it"},
    {"id": "prt_2", "type": "text", "text": "Called the Read tool", "synthetic": True},
]}  # fmt: skip


def assistant(*parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {
        "info": {"id": "msg_2", "role": "assistant", "modelID": "m", "path": {"cwd": "/r"}, **info},
        "parts": [*parts],
    }


def test_parts_are_numbered_through_the_export() -> None:
    """The line of a part counts all parts before it; what the client added itself is nobody's words."""
    found = read({"info": {"id": "ses_1"}, "messages": [USER, assistant({"type": "step-start"}, tool("completed"))]})

    assert [(type(event), event.mark.line) for event in found.events] == [(Said, 0), (Answered, 3), (Result, 3)]
    assert (found.session_id, found.cwd, found.lines) == ("ses_1", "/r", 4)
    call = found.events[1]
    assert isinstance(call, Answered) and call.part == ToolCall("call_1", "bash", {"command": "make"})


def test_a_failed_command_is_completed() -> None:
    """Its exit code stands in the metadata."""
    part = tool("completed", output="boom", metadata={"exit": 2})
    [_, result] = read({"messages": [assistant(part)]}).events

    assert isinstance(result, Result) and (result.exit_code, result.result.is_error) == (2, None)


def test_a_refusal_carries_the_persons_words() -> None:
    """A refused call says so in its error, with the feedback if there was any."""
    text = "The user rejected permission to use this specific tool call with the following feedback: use make"
    [_, result] = read({"messages": [assistant(tool("error", error=text))]}).events
    [_, bare] = read({"messages": [assistant(tool("error", error=text.partition(" with")[0] + "."))]}).events
    [_, failed] = read({"messages": [assistant(tool("error", error="old_string not found"))]}).events

    assert isinstance(result, Result) and result.refusal == "use make"
    assert isinstance(bare, Result) and bare.refusal == ""
    assert isinstance(failed, Result) and (failed.refusal, failed.result.is_error) == (None, True)


def test_stops_and_compactions() -> None:
    """An aborted answer was stopped by the person; a compaction part replaces what was before."""
    aborted = assistant({"type": "text", "text": "I"}, error={"name": "MessageAbortedError"})
    compacted = {"info": {"role": "user"}, "parts": [{"type": "compaction"}]}

    assert [type(event) for event in read({"messages": [aborted, compacted]}).events] == [Answered, Stopped, Compacted]


def test_an_export_from_the_storage_is_in_order() -> None:
    """Messages by their time, parts by their id."""
    late = {"id": "m2", "role": "assistant", "time": {"created": 2000}}
    early = {"id": "m1", "role": "user", "time": {"created": 1000}}
    parts = {"m1": [{"id": "p2"}, {"id": "p1"}]}

    export = export_of({"id": "s"}, [late, early], parts)

    assert [message["info"]["id"] for message in export["messages"]] == ["m1", "m2"]
    assert [part["id"] for part in export["messages"][0]["parts"]] == ["p1", "p2"]

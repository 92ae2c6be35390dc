"""Gemini CLI's chats."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore.genai.messages import ToolResult
from spanlore.transcripts.events import Answered, Result, Said, Stopped
from spanlore.transcripts.gemini_cli import read_document, read_lines


def call(status: str, response: dict[str, Any]) -> dict[str, Any]:
    result = [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": response}}]
    return {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}, "result": result, "status": status}


def test_a_document() -> None:
    """The line is the message's index; thoughts count as output; what the model was told is the result."""
    answer = {
        "id": "m2",
        "type": "gemini",
        "content": "done",
        "thoughts": [{"subject": "S", "description": "D"}],
        "tokens": {"input": 10, "output": 2, "thoughts": 3, "cached": 4},
        "toolCalls": [call("error", {"error": "Exit Code: 1"})],
    }
    said = {"id": "m1", "type": "user", "content": [{"text": "go"}]}
    stop = {"type": "info", "content": "Request cancelled."}
    found = read_document({"sessionId": "s", "messages": [said, answer, stop, 7]})

    assert [type(event) for event in found.events] == [Said, Answered, Answered, Answered, Result, Stopped]
    assert [event.mark.line for event in found.events] == [0, 1, 1, 1, 1, 2]
    assert found.malformed_lines == 1
    last, result = found.events[3], found.events[4]
    assert isinstance(last, Answered) and (last.usage.output_tokens, last.usage.reasoning_tokens) == (5, 3)
    assert isinstance(result, Result) and result.result == ToolResult("c1", "Exit Code: 1", True)


def test_lines_replace_and_rewind() -> None:
    """A message written again replaces the earlier one; a rewind takes back what came after."""
    entries = [
        {"sessionId": "s", "projectHash": "p"},
        {"id": "m1", "type": "user", "content": "go"},
        {"id": "m2", "type": "gemini", "content": "half"},
        {"id": "m2", "type": "gemini", "content": "whole"},
        {"$set": {"directories": ["/repo"]}},
        {"id": "m3", "type": "user", "content": "no"},
        {"$rewindTo": "m3"},
    ]
    found = read_lines(b"\n".join(map(orjson.dumps, entries)))

    assert (found.session_id, found.cwd) == ("s", "/repo")
    assert [(type(event), event.mark.line) for event in found.events] == [(Said, 1), (Answered, 2)]
    assert isinstance(found.events[1], Answered) and getattr(found.events[1].part, "content", "") == "whole"

"""pi's sessions."""

from __future__ import annotations

import orjson

from spanlore.genai.messages import Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Result, Said, Stopped
from spanlore.transcripts.pi import read


def test_a_session() -> None:
    """Roles user, assistant, toolResult; an aborted answer was stopped by the person."""
    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}
    usage = {"input": 3, "cacheRead": 4, "cacheWrite": 5, "output": 6}
    entries = [
        {"type": "session", "id": "s", "cwd": "/repo", "version": 3},
        {"type": "message", "id": "e1", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "ok"}, call],
                "usage": usage,
                "stopReason": "aborted",
            },
        },
        {
            "type": "message",
            "message": {"role": "toolResult", "toolCallId": "t1", "content": [{"text": "out"}], "isError": True},
        },
        {"type": "compaction", "summary": "short"},
        {"type": "message", "message": {"role": "bashExecution", "command": "!ls"}},
    ]
    found = read(b"\n".join(map(orjson.dumps, entries)))

    assert (found.session_id, found.cwd) == ("s", "/repo")
    assert [type(event) for event in found.events] == [Said, Answered, Answered, Stopped, Result, Compacted]
    text, called, result = found.events[1], found.events[2], found.events[4]
    assert isinstance(text, Answered) and isinstance(called, Answered) and isinstance(result, Result)
    assert (text.part, called.part) == (Text("ok"), ToolCall("t1", "bash", {"command": "ls"}))
    assert text.usage.input_tokens == 12
    assert result.result == ToolResult("t1", "out", True)

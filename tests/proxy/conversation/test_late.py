"""Results that belong to an earlier call."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore.genai.messages import ToolCall
from spanlore_proxy.conversation.late import command_behind
from spanlore_proxy.conversation.view import View
from spanlore_proxy.wire.openai_responses import parse_request

RUNNING = "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID {id}\nOutput:\n"


def call(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": name, "arguments": orjson.dumps(arguments).decode()}


def output(id_: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": text}


def view(*items: dict[str, Any]) -> View:
    return View(parse_request(orjson.dumps({"input": items})))


def test_the_command_behind_a_late_result() -> None:
    """Through several looks at it, and past another one that runs beside it."""
    seen = view(
        call("a", "exec_command", cmd="go test"),
        output("a", RUNNING.format(id=7)),
        call("b", "exec_command", cmd="npm test"),
        output("b", RUNNING.format(id=8)),
        call("c", "write_stdin", session_id=7, chars=""),
        output("c", RUNNING.format(id=7)),
        call("d", "write_stdin", session_id=7, chars=""),
        output("d", "Process exited with code 1\nOutput:\nFAIL"),
    )
    waiting = ToolCall("d", "write_stdin", {"session_id": 7, "chars": ""})

    assert command_behind(seen, len(seen) - 1, waiting, "codex") == ToolCall("a", "exec_command", {"cmd": "go test"})


def test_what_waits_for_nothing() -> None:
    """Other tools, and a start that nobody saw."""
    seen = view(call("d", "write_stdin", session_id=7), output("d", "Process exited with code 1\nOutput:\n"))

    assert command_behind(seen, 1, ToolCall("d", "write_stdin", {"session_id": 7}), "codex") is None
    assert command_behind(seen, 1, ToolCall("d", "exec_command", {"cmd": "ls"}), "codex") is None
    assert command_behind(seen, 1, ToolCall("d", "wait", "x"), "codex") is None

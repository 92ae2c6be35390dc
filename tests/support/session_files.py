"""Small session files of every agent, and all the ways in which one of their values can be of another type."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

_CALL = {
    "id": "c1",
    "name": "bash",
    "args": {},
    "status": "success",
    "result": [{"functionResponse": {"response": {}}}],
}
SAMPLES: dict[str, list[Any]] = {
    "claude-code": [
        {"type": "queue-operation", "operation": "enqueue", "content": "hi", "sessionId": "s"},
        {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01", "message": {"content": "go"}},
        {"type": "assistant", "sessionId": "s", "message": {"id": "m", "usage": {"input_tokens": 1}, "content": [
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}},
        {"type": "user", "sessionId": "s", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": [{"text": "x"}]}]}},
    ],
    "codex": [
        {"type": "session_meta", "timestamp": "2026-01-01T00:00:00Z", "payload": {"id": "s", "git": {"branch": "b"}}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "go"}]}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "sh", "arguments": "", "call_id": "c"}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "x"}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 1}}}},
    ],
    "pi": [
        {"type": "session", "id": "s", "cwd": "/r", "version": 1},
        {"type": "message", "message": {"role": "assistant", "usage": {"input": 1}, "content": [
            {"type": "toolCall", "id": "t", "name": "bash", "arguments": {}}]}},
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "t", "content": [{"text": "x"}]}},
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/r"}}},
        {"type": "assistant.message", "data": {"content": "a", "toolRequests": [{"toolCallId": "t", "name": "bash"}]}},
        {"type": "tool.execution_complete", "data": {"toolCallId": "t", "result": {"content": "x"}, "error": {}}},
    ],
    "gemini-cli": [{"sessionId": "s", "projectHash": "p", "messages": [
        {"type": "user", "content": "go"},
        {"type": "gemini", "content": "a", "thoughts": [{"subject": "s"}], "tokens": {}, "toolCalls": [_CALL]}]}],
    "opencode": [{"info": {"id": "s"}, "messages": [
        {"info": {"role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "go"}]},
        {"info": {"role": "assistant", "tokens": {"input": 1, "cache": {"read": 1}}}, "parts": [
            {"type": "tool", "callID": "c", "state": {"status": "completed", "metadata": {"exit": 1}}}]}]}],
    "mini-swe-agent": [{"info": {}, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "a", "tool_calls": [{"id": "c", "function": {"name": "bash"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"}]}],
    "swe-agent": [{"environment": "e", "history": [{"role": "user", "content": "t"}], "trajectory": [
        {"action": "ls", "observation": "x", "thought": "t", "state": "{}"}]}],
}  # fmt: skip
"""One small session of each agent: a list of lines, or one document."""


def broken(lines: list[Any]) -> Iterator[list[Any]]:
    """The lines with each value in turn replaced."""
    for path in _paths(lines):
        values: tuple[Any, ...] = (None, 7, -1.5, "x", [], {}, [None, {"a": []}], True)
        for value in values:
            changed = copy.deepcopy(lines)
            at: Any = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            yield changed


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))

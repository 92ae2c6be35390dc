"""Codex rollouts. There is no error flag: the output's header tells the exit code, and a slow command's end shows up in
a later `write_stdin`, so its failure is joined back to the command that started the session."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson

from spanlore_extractor.evaluation.building import ConversationBuilder
from spanlore_extractor.evaluation.claude_code import events
from spanlore_extractor.evaluation.human_text import typed
from spanlore_extractor.mining.session import Step

_RUNNING = re.compile(r"Process running with session ID (\d+)")


def read(lines: Iterable[bytes]) -> tuple[Step, ...]:
    """The steps of the conversation."""
    builder, running = ConversationBuilder(), _Running()
    for number, event in events(lines):
        if event.get("type") != "response_item":
            continue
        builder.tick(event.get("timestamp"))
        item = event.get("payload") or {}
        match item.get("type"):
            case "message":
                _message(builder, number, item)
            case "function_call":
                builder.next_inference()
                running.call(builder, number, item, _arguments(item.get("arguments")))
            case "custom_tool_call":
                builder.next_inference()
                builder.call(number, item["call_id"], item["name"], {"input": item.get("input", "")})
            case "function_call_output" | "custom_tool_call_output":
                running.output(builder, item["call_id"], _output(item.get("output")))
            case _:
                pass
    return builder.steps()


class _Running:
    """Commands that were still running when their call answered."""

    def __init__(self) -> None:
        self._polls: dict[str, str] = {}
        self._sessions: dict[str, str] = {}

    def call(self, builder: ConversationBuilder, number: int, item: dict[str, Any], arguments: Any) -> None:
        call_id = item["call_id"]
        if item["name"] == "write_stdin" and isinstance(arguments, dict):
            self._polls[call_id] = str(arguments.get("session_id", ""))
        else:
            builder.call(number, call_id, item["name"], arguments)

    def output(self, builder: ConversationBuilder, call_id: str, text: str) -> None:
        started = self._sessions.get(self._polls.get(call_id, ""), call_id)
        running = _RUNNING.search(text[:300])
        if running:
            self._sessions[running[1]] = started
        else:
            builder.result(started, text, None)


def _message(builder: ConversationBuilder, number: int, item: dict[str, Any]) -> None:
    text = "\n".join(block.get("text", "") for block in item.get("content") or ())
    if item.get("role") == "assistant":
        builder.next_inference()
        builder.agent(number, text)
    elif item.get("role") == "user" and typed(text):
        builder.human(number, typed(text))


def _arguments(raw: Any) -> Any:
    try:
        return orjson.loads(raw)
    except (orjson.JSONDecodeError, TypeError):
        return raw


def _output(raw: Any) -> str:
    text = raw if isinstance(raw, str) else str(raw)
    if text.startswith("{"):
        parsed = _arguments(text)
        if isinstance(parsed, dict) and "output" in parsed:
            code = (parsed.get("metadata") or {}).get("exit_code")
            return f"Exit code: {code}\n{parsed['output']}" if code is not None else str(parsed["output"])
    return text

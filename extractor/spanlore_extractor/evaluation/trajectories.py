"""pi sessions, mini-swe-agent and SWE-agent trajectories, and Gemini CLI's saved chats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from spanlore_extractor.evaluation.building import ConversationBuilder
from spanlore_extractor.evaluation.claude_code import events, is_slash_command, text_of
from spanlore_extractor.evaluation.human_text import typed
from spanlore_extractor.mining.session import Step


def read_pi(lines: Iterable[bytes]) -> tuple[Step, ...]:
    """pi's JSONL: `message` events with role user, assistant or toolResult."""
    builder = ConversationBuilder()
    for number, event in events(lines):
        message = event.get("message")
        if event.get("type") != "message" or not isinstance(message, dict):
            continue
        builder.tick(event.get("timestamp"))
        content = message.get("content")
        match message.get("role"):
            case "assistant":
                builder.next_inference()
                if message.get("stopReason") == "aborted":
                    builder.interrupted()
                for block in content if isinstance(content, list) else ():
                    if block.get("type") == "toolCall":
                        builder.call(number, block["id"], block["name"], block.get("arguments"))
                    elif block.get("type") == "text":
                        builder.agent(number, block.get("text", ""))
            case "toolResult":
                builder.result(message.get("toolCallId", ""), text_of(content), bool(message.get("isError")))
            case "user" if typed(text_of(content)) and not is_slash_command(text_of(content)):
                builder.human(number, typed(text_of(content)))
            case _:
                pass
    return builder.steps()


def read_mini(data: bytes) -> tuple[Step, ...]:
    """mini-swe-agent: OpenAI-shaped messages, `<returncode>N</returncode>` in tool results. A call's id is its line."""
    builder, ids = ConversationBuilder(), {}
    for number, message in enumerate(orjson.loads(data)["messages"]):
        builder.tick(None)
        if message.get("role") == "assistant":
            builder.next_inference()
            for call in message.get("tool_calls") or ():
                ids[call["id"]] = str(number)
                function = call["function"]
                builder.call(number, str(number), function["name"], _parsed(function.get("arguments")))
        elif message.get("role") == "tool":
            builder.result(ids.get(message.get("tool_call_id"), ""), str(message.get("content")), None)
    return builder.steps()


def read_swe(data: bytes) -> tuple[Step, ...]:
    """SWE-agent: one action with its observation a step; no exit codes, so only its own refusals and Python's
    tracebacks tell a failure."""
    builder = ConversationBuilder()
    for number, step in enumerate(orjson.loads(data)["trajectory"]):
        builder.tick(None)
        builder.next_inference()
        action = str(step.get("action") or "").strip()
        name = action.split(None, 1)[0] if action else ""
        is_own = name in ("edit", "open", "create", "goto", "search_dir", "search_file", "find_file", "submit")
        builder.call(number, str(number), name if is_own else "bash", {"command": action})
        text = str(step.get("observation") or "")
        builder.result(str(number), text, text.startswith("Traceback (most recent call last)"))
    return builder.steps()


def read_gemini(data: bytes) -> tuple[Step, ...]:
    """Gemini CLI: `messages[].toolCalls[].status`."""
    builder = ConversationBuilder()
    for number, message in enumerate(orjson.loads(data).get("messages") or ()):
        builder.tick(message.get("timestamp"))
        if message.get("type") == "user" and typed(str(message.get("content"))):
            builder.human(number, typed(str(message.get("content"))))
            continue
        builder.next_inference()
        builder.agent(number, str(message.get("content") or ""))
        for call in message.get("toolCalls") or ():
            builder.call(number, call["id"], call["name"], call.get("args"))
            builder.result(call["id"], _gemini_output(call), call.get("status") == "error")
    return builder.steps()


def _gemini_output(call: dict[str, Any]) -> str:
    result = call.get("resultDisplay") or call.get("result") or ""
    return result if isinstance(result, str) else orjson.dumps(result).decode()


def _parsed(raw: Any) -> Any:
    try:
        return orjson.loads(raw)
    except (orjson.JSONDecodeError, TypeError):
        return raw

"""What a script wants to know of an agent's request, in whichever of the four dialects it comes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spanlore_proxy.demo.model_request import ReceivedRequest

RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")


def is_main(request: ReceivedRequest) -> bool:
    """Whether the agent offers tools: its main loop, not a title or router call."""
    document = request.document or {}
    if document.get("generate") is False:
        return False  # warms a connection up
    items = document.get("input")
    offered = any(item.get("type") == "additional_tools" for item in items or () if isinstance(item, dict))
    return bool(document.get("tools")) or offered


def results(request: ReceivedRequest) -> int:
    """How many results of tools the request carries."""
    return sum(1 for _ in _results(request.document))


def flow(request: ReceivedRequest) -> list[tuple[str, str]]:
    """What was said, in order: ("user", text), ("assistant", text), ("result", text); system prompts left out."""
    document = request.document or {}
    inner = document.get("request")
    document = inner if isinstance(inner, dict) else document
    items = document.get("messages") or document.get("input") or document.get("contents") or ()
    return [said for item in items if isinstance(item, dict) for said in _said(item)]


def _said(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    role = {"model": "assistant"}.get(str(item.get("role")), item.get("role"))
    if item.get("type") in RESULTS or role == "tool":
        yield "result", _text(item.get("output", item.get("content")))
        return
    if item.get("type") == "agent_message":  # the task itself is sealed; here it is not
        yield from (("user", str(part.get("text", part.get("encrypted_content")))) for part in item.get("content", ()))
    if role not in ("user", "assistant"):
        return
    content = item.get("content", item.get("parts"))
    for part in [content] if isinstance(content, str) else content or ():
        if isinstance(part, str):
            yield role, part
        elif part.get("type") in RESULTS or "functionResponse" in part:
            yield "result", _text(part.get("content", part.get("functionResponse")))
        elif isinstance(part.get("text"), str):
            yield role, part["text"]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _results(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _results(item)
    elif isinstance(value, dict):
        if value.get("type") in RESULTS or value.get("role") == "tool" or "functionResponse" in value:
            yield value
        else:
            for inner in value.values():
                yield from _results(inner)

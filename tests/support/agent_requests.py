"""What a script wants to know of an agent's request, in whichever of the four dialects it comes."""

from __future__ import annotations

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

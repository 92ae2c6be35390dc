"""Rows of one session → the tree turn → chat → tools → sub-agent's turn. Pure: no store, no terminal.

A tool call hangs under the inference that asked for it (same conversation and step); a sub-agent's turn hangs under the
tool call whose span is its parent. A turn that is not over yet has no row of its own, only inferences that name it as
their parent: it is put together from them. Side calls (titles, safety checks) name no turn at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from spanlore_collector.store.views import Row, SessionSpans


@dataclass(slots=True)
class ToolNode:
    """One tool call, with the turns of the sub-agent it started."""

    row: Row
    turns: list[TurnNode] = field(default_factory=list)


@dataclass(slots=True)
class ChatNode:
    """One inference with the tools it asked for."""

    row: Row
    tools: list[ToolNode] = field(default_factory=list)


@dataclass(slots=True)
class TurnNode:
    """One turn."""

    row: Row
    chats: list[ChatNode] = field(default_factory=list)
    tools: list[ToolNode] = field(default_factory=list)
    """Calls whose inference was not captured."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One piece of text that was in a forwarded request."""

    kind: str
    anchor: str
    memory_ids: tuple[str, ...]
    bytes: int
    is_first: bool
    """Newly placed in this request, not replayed."""
    state: str = "shown"
    """shown, withheld (to measure the effect) or skipped."""
    reason: str = ""
    """Why it was skipped."""


def build_tree(spans: SessionSpans) -> list[TurnNode]:
    """The turns that no tool call of the session started, in order of time."""
    turns = {row["span_id"]: TurnNode(row) for row in spans.turns}
    steps: dict[tuple[str, int], ChatNode] = {}
    for row in spans.inferences:
        # A side call belongs to no turn; those of one conversation stand together.
        turn = turns.setdefault(row["parent_span_id"] or row["conversation"], TurnNode(_open_turn(row)))
        chat = ChatNode(row)
        turn.chats.append(chat)
        # A retry has the step of its first attempt; the last one is the one that was answered.
        steps[row["conversation"], int(row["step_index"])] = chat
    tools = {row["span_id"]: ToolNode(row) for row in spans.tool_calls}
    for tool in tools.values():
        asked = steps.get((tool.row["conversation"], int(tool.row["step_index"])))
        if asked is not None:
            asked.tools.append(tool)
        else:
            turns.setdefault(tool.row["parent_span_id"], TurnNode(_open_turn(tool.row))).tools.append(tool)
    roots: list[TurnNode] = []
    for turn in sorted(turns.values(), key=lambda node: int(node.row["start_time_ns"])):
        starter = tools.get(turn.row.get("parent_span_id") or "")
        (starter.turns if starter else roots).append(turn)
    return roots


def placements(row: Row) -> tuple[Placement, ...]:
    """What stood in the request of an inference row, and what was withheld from it or left out."""
    try:
        items = orjson.loads(row.get("injected_placements") or "[]")
    except orjson.JSONDecodeError:
        return ()
    return tuple(
        Placement(
            kind=str(item.get("kind", "")),
            anchor=str(item.get("anchor", "")),
            memory_ids=tuple(item.get("memory_ids") or ()),
            bytes=int(item.get("bytes") or 0),
            is_first=bool(item.get("first")),
            state=str(item.get("state") or "shown"),
            reason=str(item.get("reason") or ""),
        )
        for item in items
        if isinstance(item, dict)
    )


def tree_to_json(turns: Iterable[TurnNode]) -> list[dict[str, Any]]:
    """The tree as JSON objects, for scripts."""
    return [
        turn.row
        | {
            "chats": [_chat_json(chat) for chat in turn.chats],
            "tools": [_tool_json(tool) for tool in turn.tools],
        }
        for turn in turns
    ]


def _chat_json(chat: ChatNode) -> dict[str, Any]:
    placed = [
        {
            "kind": item.kind,
            "anchor": item.anchor,
            "memory_ids": item.memory_ids,
            "bytes": item.bytes,
            "first": item.is_first,
            "state": item.state,
            "reason": item.reason,
        }
        for item in placements(chat.row)
    ]
    return chat.row | {"injected_placements": placed, "tools": [_tool_json(tool) for tool in chat.tools]}


def _tool_json(tool: ToolNode) -> dict[str, Any]:
    return tool.row | {"turns": tree_to_json(tool.turns)}


def _open_turn(row: Row) -> Row:
    """A turn that is still going on, or side calls that have none, from the first row that names it."""
    return {
        "span_id": row["parent_span_id"],
        "parent_span_id": "",
        "start_time_ns": row["start_time_ns"],
        "end_time_ns": row["end_time_ns"],
        "duration_ns": None,
        "turn_index": row["turn_index"],
        "prompt": "",
        "end": "open" if row["parent_span_id"] else "none",
        "conversation": row["conversation"],
        "call_class": row.get("call_class", ""),
    }

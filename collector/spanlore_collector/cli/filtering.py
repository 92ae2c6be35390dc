"""A session's tree with only what is asked for; whatever leads to it stays. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spanlore_collector.store.session_tree import ChatNode, ToolNode, TurnNode


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for; nothing set asks for all."""

    failed: bool = False
    tool: str = ""
    """A tool's name or a program, in any case."""
    turn: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether everything passes."""
        return not (self.failed or self.tool)


def filtered(turns: Iterable[TurnNode], wanted: Filter) -> list[TurnNode]:
    """The turns of that number, with the tool calls and the failed model calls that pass."""
    kept = [turn for turn in turns if wanted.turn is None or int(turn.row["turn_index"]) == wanted.turn]
    if wanted.is_empty:
        return kept
    return [found for turn in kept if (found := _turn(turn, wanted)) is not None]


def _turn(turn: TurnNode, wanted: Filter) -> TurnNode | None:
    chats = [found for chat in turn.chats if (found := _chat(chat, wanted)) is not None]
    tools = _tools(turn.tools, wanted)
    return replace(turn, chats=chats, tools=tools) if chats or tools else None


def _chat(chat: ChatNode, wanted: Filter) -> ChatNode | None:
    tools = _tools(chat.tools, wanted)
    is_fault = wanted.failed and not wanted.tool and bool(chat.row["error_type"])
    return replace(chat, tools=tools) if tools or is_fault else None


def _tools(tools: Iterable[ToolNode], wanted: Filter) -> list[ToolNode]:
    out = []
    for tool in tools:
        turns = [found for turn in tool.turns if (found := _turn(turn, wanted)) is not None]
        named = not wanted.tool or wanted.tool.lower() in (tool.row["tool_name"].lower(), tool.row["program"].lower())
        if turns or (named and (not wanted.failed or tool.row["outcome"] == "failure")):
            out.append(replace(tool, turns=turns))
    return out

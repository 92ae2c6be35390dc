"""A session's turns as a conversation to read: who said what, what was called, what came back. Pure but for `read`.

What a request repeats of its history is not in the store again, so each step holds what was new in it. A tool's result
stands with the call that asked for it, where a person looks for it, not in the next request, where the wire has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from spanlore_collector.store.session_tree import ChatNode, Placement, ToolNode, TurnNode, placements
from spanlore_collector.store.views import Row, RowSource
from spanlore_dashboards.web.one_session import Part, read_parts

TURNS_A_PAGE: Final = 20
HEAD_CHARS: Final = 8_000


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with what went in and what came out."""

    row: Row
    arguments: Part | None
    result: Part | None
    turns: tuple[Spoken, ...]
    """Of the sub-agent it started."""

    @property
    def edits(self) -> list[tuple[str, str]]:
        """(sign, line) of a tool that replaces text, as a difference; empty for any other."""
        if self.arguments is None or self.arguments.is_cut:
            return []
        try:
            given = orjson.loads(self.arguments.text)
        except orjson.JSONDecodeError:
            return []
        if not isinstance(given, dict) or not all(
            isinstance(given.get(key), str) for key in ("old_string", "new_string")
        ):
            return []
        removed = [("-", line) for line in given["old_string"].splitlines()]
        return removed + [("+", line) for line in given["new_string"].splitlines()]


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: what was newly said to it, what it answered, and the tools it asked for."""

    row: Row
    said: tuple[Part, ...]
    """By the user, or to a sub-agent."""
    system: tuple[Part, ...]
    """System instructions, where they were new."""
    answered: tuple[Part, ...]
    """Text and reasoning, in order."""
    calls: tuple[Call, ...]
    placed: tuple[Placement, ...]
    """Newly placed, withheld or left out here."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn as a conversation."""

    row: Row
    steps: tuple[Step, ...]
    calls: tuple[Call, ...] = field(default=())
    """Calls whose model call was not captured."""


@dataclass(frozen=True, slots=True)
class TalkPage:
    """Some turns of a session."""

    turns: list[Spoken]
    first: int
    """Index of the first of them, from 0."""
    total: int


def read_talk(source: RowSource, session_id: str, turns: Sequence[TurnNode], first: int) -> TalkPage:
    """The turns from `first` on, `TURNS_A_PAGE` of them, with their content."""
    shown = turns[first : first + TURNS_A_PAGE]
    parts = read_parts(source, session_id, span_ids(shown), HEAD_CHARS)
    return TalkPage([_spoken(turn, parts) for turn in shown], first, len(turns))


def span_ids(turns: Iterable[TurnNode]) -> Iterator[str]:
    """Of all model calls and tool calls below."""
    for turn in turns:
        for chat in turn.chats:
            yield chat.row["span_id"]
        for tool in (*turn.tools, *(tool for chat in turn.chats for tool in chat.tools)):
            yield tool.row["span_id"]
            yield from span_ids(tool.turns)


def _spoken(turn: TurnNode, parts: Mapping[str, list[Part]]) -> Spoken:
    return Spoken(
        turn.row,
        tuple(_step(chat, parts) for chat in turn.chats),
        tuple(_call(tool, parts) for tool in turn.tools),
    )


def _step(chat: ChatNode, parts: Mapping[str, list[Part]]) -> Step:
    found = parts.get(chat.row["span_id"], [])
    return Step(
        row=chat.row,
        said=tuple(part for part in found if part.direction == "input" and part.type not in _ELSEWHERE),
        system=tuple(part for part in found if part.direction == "system"),
        answered=tuple(part for part in found if part.direction == "output" and part.type not in _ELSEWHERE),
        calls=tuple(_call(tool, parts) for tool in chat.tools),
        placed=tuple(item for item in placements(chat.row) if item.is_first or item.state != "shown"),
    )


_ELSEWHERE: Final = frozenset({"tool_call", "tool_call_response"})


def _call(tool: ToolNode, parts: Mapping[str, list[Part]]) -> Call:
    found = {part.direction: part for part in parts.get(tool.row["span_id"], [])}
    return Call(
        tool.row, found.get("arguments"), found.get("result"), tuple(_spoken(turn, parts) for turn in tool.turns)
    )

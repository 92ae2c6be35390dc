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
CHUNK_SPANS: Final = 30
"""Of a turn, drawn or fetched later at once: model calls and tools, a sub-agent's with the call that started it."""
SHOWN_SPANS: Final = 60
"""Drawn with the page; the rest comes when somebody gets near it."""
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
class TalkChunk:
    """Some steps of a turn."""

    number: int
    """In its turn, from 0."""
    steps: int
    failures: int
    spoken: Spoken | None
    """None: not drawn yet."""


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A turn in chunks."""

    row: Row
    chunks: tuple[TalkChunk, ...]


@dataclass(frozen=True, slots=True)
class TalkPage:
    """Some turns of a session."""

    turns: list[TalkTurn]
    first: int
    """Index of the first of them, from 0."""
    total: int


def read_talk(
    source: RowSource,
    session_id: str,
    turns: Sequence[TurnNode],
    first: int,
    span_id: str = "",
    *,
    is_whole: bool = False,
) -> TalkPage:
    """The turns from `first` on, `TURNS_A_PAGE` of them, the first chunks and that with the span with their content;
    all of them if the whole is wanted."""
    shown = turns[first : first + TURNS_A_PAGE]
    cut = [(turn, chunked(turn)) for turn in shown]
    drawn, wanted = 0, list[TurnNode]()
    for chunk in (chunk for _, chunks in cut for chunk in chunks):
        ids = list(span_ids([chunk]))
        if is_whole or drawn < SHOWN_SPANS or span_id in ids:
            wanted.append(chunk)
            drawn += len(ids)
    parts = read_parts(source, session_id, span_ids(wanted), HEAD_CHARS)
    are_drawn = {id(chunk) for chunk in wanted}

    def told(chunks: list[TurnNode]) -> tuple[TalkChunk, ...]:
        return tuple(_talk_chunk(n, one, parts if id(one) in are_drawn else None) for n, one in enumerate(chunks))

    return TalkPage([TalkTurn(turn.row, told(chunks)) for turn, chunks in cut], first, len(turns))


def read_chunk(source: RowSource, session_id: str, turn: TurnNode, number: int) -> TalkChunk | None:
    """One chunk of a turn with its content; None when the turn has no such chunk."""
    chunks = chunked(turn)
    if not 0 <= number < len(chunks):
        return None
    parts = read_parts(source, session_id, span_ids([chunks[number]]), HEAD_CHARS)
    return _talk_chunk(number, chunks[number], parts)


def chunked(turn: TurnNode) -> list[TurnNode]:
    """The turn in pieces of about `CHUNK_SPANS`; calls without their model call stand in the last one."""
    out, held = [TurnNode(turn.row)], 0
    for chat in turn.chats:
        if held >= CHUNK_SPANS:
            out.append(TurnNode(turn.row))
            held = 0
        out[-1].chats.append(chat)
        held += 1 + sum(1 + sum(1 for _ in span_ids(tool.turns)) for tool in chat.tools)
    out[-1].tools.extend(turn.tools)
    return out


def _talk_chunk(number: int, chunk: TurnNode, parts: Mapping[str, list[Part]] | None) -> TalkChunk:
    tools = [*chunk.tools, *(tool for chat in chunk.chats for tool in chat.tools)]
    failures = sum(tool.row["outcome"] == "failure" for tool in tools)
    return TalkChunk(number, len(chunk.chats), failures, None if parts is None else _spoken(chunk, parts))


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

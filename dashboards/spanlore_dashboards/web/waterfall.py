"""A session's tree → rows of a waterfall. Pure: no store, no HTML.

Each turn of a main conversation is a section with a time scale of its own, since hours of waiting for a person would
press everything else into a line. The overview above has one scale for all, with the waiting cut out and marked.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from spanlore.figures import one_line
from spanlore_collector.store.session_tree import ChatNode, ToolNode, TurnNode, placements
from spanlore_collector.store.views import Row

IDLE_NS: Final = 5_000_000_000
"""Longer stretches in which nothing ran are cut out of the overview."""
CUT_SHARE: Final = 0.012
"""Width of a cut in the overview, as a share of what is shown."""
MAX_INDENT: Final = 15
CHUNK_ROWS: Final = 100
"""Rows of a turn that are drawn, or fetched later, at once."""
SHOWN_ROWS: Final = 120
"""Drawn with the page; the rest comes when somebody gets near it."""
SIDE: Final = "side"


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: a turn of a sub-agent, a model call or a tool call."""

    span_id: str
    kind: str
    """turn, chat, tool or side."""
    depth: int
    label: str
    detail: str
    outcome: str
    """success, failure, rejected or unknown; of a model call success or failure."""
    start: float
    """Of the section's width, percent."""
    width: float
    wait: float
    """Of a model call: up to its first token, percent of the section's width; 0 where unknown."""
    duration_ns: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    notes: tuple[tuple[str, str], ...] = ()
    """(word, style): injected, retry, error, compaction …"""

    @property
    def indent(self) -> int:
        """Steps to the right; deeper ones stand below each other."""
        return min(self.depth, MAX_INDENT)

    @property
    def run_start(self) -> float:
        """Where the bar's second part begins."""
        return round(self.start + self.wait, 3)

    @property
    def run_width(self) -> float:
        """Its width, never too small to be seen."""
        return round(max(self.width - self.wait, 0.3), 3)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a section."""

    turn: str
    """The section's key."""
    first: int
    """Index of the first of them in the section."""
    bars: tuple[Bar, ...]
    is_drawn: bool
    summary: str
    """Changes when anything in it does, or the section's scale."""

    @property
    def failures(self) -> int:
        """Rows that failed: so that a key finds the next one before it is drawn."""
        return sum(bar.outcome == "failure" for bar in self.bars)


@dataclass(frozen=True, slots=True)
class Section:
    """One turn with all that it did."""

    key: str
    title: str
    turn_index: int
    prompt: str
    end: str
    """completed, interrupted, open, …, or none for side calls."""
    start_time_ns: int
    duration_ns: int
    is_open: bool
    chats: int
    tools: int
    failures: int
    tokens: int
    cost_usd: float | None
    bars: tuple[Bar, ...]
    summary: str
    """Changes when anything in it does."""
    chunks: tuple[Chunk, ...] = ()
    """The same rows in pieces; see `windowed`."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A piece of a lane of the overview, percent of its width."""

    lane: str
    """chat, tool, failure, agent."""
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole session in one strip."""

    strokes: tuple[Stroke, ...]
    cuts: tuple[tuple[float, int], ...]
    """(where, how long nothing ran, nanoseconds)."""
    turns: tuple[tuple[float, float, str, int], ...]
    """(start, width, section's key, turn index)."""
    active_ns: int


@dataclass(slots=True)
class _Scale:
    start_ns: int
    end_ns: int

    def at(self, time_ns: int) -> float:
        return round(100 * (time_ns - self.start_ns) / max(1, self.end_ns - self.start_ns), 3)


@dataclass(slots=True)
class _Count:
    chats: int = 0
    tools: int = 0
    failures: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    bars: list[Bar] = field(default_factory=list)


def sections(turns: Iterable[TurnNode]) -> list[Section]:
    """One section a turn in order of time; side calls together in the last one."""
    found = list(turns)
    out = [_section([turn]) for turn in found if turn.row["end"] != "none"]
    beside = [turn for turn in found if turn.row["end"] == "none"]
    return [*out, _section(beside)] if beside else out


def windowed(
    found: Iterable[Section], span_id: str = "", *, is_live: bool = False, is_whole: bool = False
) -> list[Section]:
    """The sections in chunks. Drawn are the first ones, that with the span, and of a live session the last; all of them
    if the whole is wanted."""
    out, drawn = list[Section](), 0
    for section in found:
        chunks = []
        for first in range(0, len(section.bars), CHUNK_ROWS):
            bars = section.bars[first : first + CHUNK_ROWS]
            is_drawn = is_whole or drawn < SHOWN_ROWS or (span_id != "" and any(bar.span_id == span_id for bar in bars))
            drawn += len(bars) if is_drawn else 0
            chunks.append(Chunk(section.key, first, bars, is_drawn, _summary(section.duration_ns, bars)))
        out.append(replace(section, chunks=tuple(chunks)))
    newest = next((section for section in reversed(out) if section.key != SIDE), None)
    if is_live and newest is not None and newest.chunks:
        last = replace(newest.chunks[-1], is_drawn=True)
        out[out.index(newest)] = replace(newest, chunks=(*newest.chunks[:-1], last))
    return out


def with_heads(chunk: Chunk, heads: Mapping[str, str]) -> Chunk:
    """The chunk with what its rows say; `heads` by span."""
    return replace(chunk, bars=tuple(_said(bar, heads.get(bar.span_id, "")) for bar in chunk.bars))


def _said(bar: Bar, head: str) -> Bar:
    if not head or bar.kind == "turn" or (bar.kind == "tool" and bar.detail):
        return bar
    return replace(bar, detail=one_line(head, 160) or bar.detail)


def _summary(scale: object, bars: Iterable[Bar]) -> str:
    state = f"{scale} {[(bar.span_id, bar.outcome, bar.duration_ns) for bar in bars]}"
    return hashlib.blake2b(state.encode(), digest_size=6).hexdigest()


def overview(turns: Iterable[TurnNode]) -> Overview:
    """The strip: what ran when, with the waiting cut out."""
    roots = [turn for turn in turns if turn.row["end"] != "none"]
    rows = sorted(((lane, *_span_of(row)) for turn in roots for lane, row in _rows(turn, 0)), key=lambda item: item[1])
    pieces, busy_until = list[tuple[int, int]](), 0
    for _, start, end in rows:
        if pieces and start <= busy_until + IDLE_NS:
            pieces[-1] = (pieces[-1][0], max(busy_until, end))
        else:
            pieces.append((start, end))
        busy_until = max(busy_until, end)
    active_ns = sum(end - start for start, end in pieces)
    cut_ns = active_ns * CUT_SHARE
    axis = _Axis(pieces, cut_ns)
    return Overview(
        strokes=_strokes(rows, axis),
        cuts=tuple(
            (axis.at(pieces[n][1]) + 50 * cut_ns / axis.total, pieces[n + 1][0] - pieces[n][1])
            for n in range(len(pieces) - 1)
        ),
        turns=tuple(_turn_mark(turn, axis) for turn in roots),
        active_ns=active_ns,
    )


class _Axis:
    def __init__(self, pieces: list[tuple[int, int]], cut_ns: float) -> None:
        self._pieces, self._offsets, at = pieces, list[float](), 0.0
        self._starts = [start for start, _ in pieces]
        for start, end in pieces:
            self._offsets.append(at)
            at += end - start + cut_ns
        self.total = max(1.0, at - cut_ns)

    def at(self, time_ns: int) -> float:
        """Percent of the width."""
        n = bisect_right(self._starts, time_ns) - 1
        if n < 0:
            return 0.0
        start, end = self._pieces[n]
        return round(100 * (self._offsets[n] + min(time_ns, end) - start) / self.total, 3)


def _strokes(rows: Iterable[tuple[str, int, int]], axis: _Axis) -> tuple[Stroke, ...]:
    """What would be drawn into the same thousandth of a lane is drawn once. A failure stands above the calls around it,
    and is never too thin to be seen: among thousands of calls it is what is looked for."""
    out, last = list[Stroke](), dict[str, float]()
    for lane, start, end in rows:
        left, right = axis.at(start), axis.at(end)
        if right > last.get(lane, -1.0):
            left, least = max(left, last.get(lane, 0.0)), 0.3 if lane == "failure" else 0.12
            out.append(Stroke(lane, left, round(max(right - left, least), 3)))
            last[lane] = max(right, left + least)
    return tuple(sorted(out, key=lambda stroke: stroke.lane == "failure"))


def _turn_mark(turn: TurnNode, axis: _Axis) -> tuple[float, float, str, int]:
    spans = [_span_of(row) for _, row in _rows(turn, 0)] or [_span_of(turn.row)]
    start, end = axis.at(min(start for start, _ in spans)), axis.at(max(end for _, end in spans))
    return start, round(end - start, 3), _key(turn), int(turn.row["turn_index"])


def _rows(turn: TurnNode, depth: int) -> Iterator[tuple[str, Row]]:
    for chat in turn.chats:
        yield ("agent" if depth else "chat"), chat.row
        for tool in chat.tools:
            yield from _tool_rows(tool, depth)
    for tool in turn.tools:
        yield from _tool_rows(tool, depth)


def _tool_rows(tool: ToolNode, depth: int) -> Iterator[tuple[str, Row]]:
    yield ("failure" if tool.row["outcome"] == "failure" else "tool"), tool.row
    for turn in tool.turns:
        yield from _rows(turn, depth + 1)


def _span_of(row: Row) -> tuple[int, int]:
    return int(row["start_time_ns"]), int(row["end_time_ns"])


def _key(turn: TurnNode) -> str:
    return turn.row["span_id"] or "side"


def _section(turns: list[TurnNode]) -> Section:
    spans = [_span_of(row) for turn in turns for _, row in _rows(turn, 0)] + [_span_of(turn.row) for turn in turns]
    scale = _Scale(min(start for start, _ in spans), max(end for _, end in spans))
    count = _Count()
    for turn in turns:
        _fill(turn, 0, scale, count)
    row = turns[0].row
    is_side = row["end"] == "none"
    return Section(
        key="side" if is_side else _key(turns[0]),
        title="Beside the turns" if is_side else f"Turn {int(row['turn_index']) + 1}",
        turn_index=int(row["turn_index"]),
        prompt=row["prompt"],
        end=row["end"],
        start_time_ns=scale.start_ns,
        duration_ns=scale.end_ns - scale.start_ns,
        is_open=row["end"] == "open",
        chats=count.chats,
        tools=count.tools,
        failures=count.failures,
        tokens=count.tokens,
        cost_usd=count.cost_usd,
        bars=tuple(count.bars),
        summary=_summary((row["end"], scale.end_ns), count.bars),
    )


def _fill(turn: TurnNode, depth: int, scale: _Scale, count: _Count) -> None:
    for chat in turn.chats:
        count.bars.append(_chat_bar(chat, depth, scale))
        count.chats += 1
        count.tokens += int(chat.row["input_tokens"] or 0) + int(chat.row["output_tokens"] or 0)
        if chat.row["cost_usd"] is not None:
            count.cost_usd = (count.cost_usd or 0.0) + float(chat.row["cost_usd"])
        for tool in chat.tools:
            _add_tool(tool, depth + 1, scale, count)
    for tool in turn.tools:
        _add_tool(tool, depth, scale, count)


def _add_tool(tool: ToolNode, depth: int, scale: _Scale, count: _Count) -> None:
    row = tool.row
    start, end = scale.at(int(row["start_time_ns"])), scale.at(int(row["end_time_ns"]))
    reason = "" if row["outcome"] == "success" else f"exit {row['exit_code']}" if row["exit_code"] else ""
    count.tools += 1
    count.failures += row["outcome"] == "failure"
    count.bars.append(
        Bar(
            row["span_id"],
            "tool",
            depth,
            row["tool_name"],
            one_line(row["command"], 160),
            row["outcome"],
            start,
            round(end - start, 3),
            0.0,
            int(row["duration_ns"]),
            notes=((reason, row["outcome"]),) if reason else (),
        )
    )
    for turn in tool.turns:
        _add_agent(turn, depth + 1, scale, count)


def _add_agent(turn: TurnNode, depth: int, scale: _Scale, count: _Count) -> None:
    spans = [_span_of(row) for _, row in _rows(turn, 0)] + [_span_of(turn.row)]
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    start = scale.at(first)
    count.bars.append(
        Bar(
            turn.row["span_id"],
            "turn",
            depth,
            "sub-agent",
            one_line(turn.row["prompt"], 160),
            "unknown",
            start,
            round(scale.at(last) - start, 3),
            0.0,
            last - first,
        )
    )
    _fill(turn, depth + 1, scale, count)


def _chat_bar(chat: ChatNode, depth: int, scale: _Scale) -> Bar:
    row = chat.row
    start, end = _span_of(row)
    left = scale.at(start)
    ttft = int(row["ttft_ns"] or 0)
    return Bar(
        row["span_id"],
        "chat" if row["call_class"] in ("main", "subagent", "unknown", "") else SIDE,
        depth,
        row["request_model"] or "model call",
        "" if row["call_class"] in ("main", "subagent") else str(row["call_class"]).replace("_", " "),
        "failure" if row["error_type"] else "success",
        left,
        round(scale.at(end) - left, 3),
        round(scale.at(start + ttft) - left, 3) if ttft else 0.0,
        int(row["duration_ns"]),
        row["input_tokens"],
        row["output_tokens"],
        row["cost_usd"],
        tuple(_chat_notes(row)),
    )


def _chat_notes(row: Row) -> Iterator[tuple[str, str]]:
    shown = [item for item in placements(row) if item.is_first and item.state == "shown" and item.memory_ids]
    if shown:
        count = sum(len(item.memory_ids) for item in shown)
        yield f"+{count} memor{'y' if count == 1 else 'ies'}", "memory"
    if int(row["attempt"]) > 1:
        yield f"attempt {row['attempt']}", "warn"
    if row["error_type"]:
        yield str(row["error_type"]), "failure"
    if row["compacted"]:
        yield "after compaction", "warn"
    if not row["is_complete"] and not row["error_type"]:
        yield "cut off", "warn"

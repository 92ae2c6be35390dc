"""One session, one of its spans, and the memories that had to do with it, as the store has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanlore_collector.store.session_tree import Placement, TurnNode, build_tree, placements
from spanlore_collector.store.views import Row, RowSource, SessionSource, one_session

HEAD_CHARS: Final = 6_000
"""Of each piece of content that is shown with a span; the whole is one click away."""
LINE_CHARS: Final = 300
RUNNING_NS: Final = 120 * 10**9
"""A session with a span this new is shown as running."""


@dataclass(frozen=True, slots=True)
class OneSession:
    """A session with its tree."""

    row: Row
    turns: list[TurnNode]
    models: list[str]


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of content of a span."""

    direction: str
    role: str
    type: str
    name: str
    tool_call_id: str
    hash: str
    size_bytes: int
    text: str
    """Its head, `HEAD_CHARS` long."""

    @property
    def is_cut(self) -> bool:
        """Whether there is more than `text`."""
        return len(self.text) >= HEAD_CHARS

    @property
    def media(self) -> str:
        """Of a picture or another file: what it was. Only its name, size and hash are kept. Empty for anything else."""
        if self.type not in ("blob", "uri"):
            return ""
        try:
            told = orjson.loads(self.text)
        except orjson.JSONDecodeError:
            return ""
        modality = told.get("modality") or "file"
        if self.type == "uri":
            return f"{modality}, by its address"
        return f"{modality} ({told.get('mime_type') or 'type not told'}, {told.get('size_bytes', 0) / 1000:,.1f} KB)"


@dataclass(frozen=True, slots=True)
class SpanDetail:
    """All that is known of one span."""

    kind: str
    """turn, chat or tool."""
    row: Row
    parts: list[Part]
    placed: tuple[Placement, ...]


def read_session(source: SessionSource, session_id: str) -> OneSession | None:
    """The whole tree, without content."""
    found = one_session(source, session_id)
    if found is None:
        return None
    row, spans = found
    counts: dict[str, int] = {}
    for inference in spans.inferences:
        if inference["request_model"]:
            counts[inference["request_model"]] = counts.get(inference["request_model"], 0) + 1
    models = sorted(counts, key=lambda name: -counts[name])
    return OneSession(row, build_tree(spans), models)


def read_heads(source: RowSource, session_id: str, span_ids: Iterable[str]) -> dict[str, str]:
    """Span id → the beginning of what a model said, or of what a tool was given."""
    wanted = sorted(set(span_ids))
    if not wanted:
        return {}
    rows = source.rows(
        "SELECT span_id, direction, head FROM (SELECT span_id, direction, content_hash, message_index, part_index "
        f"FROM message_parts WHERE {_THESE} AND "
        "(direction = 'arguments' OR (direction = 'output' AND type = 'text')) "
        "ORDER BY span_id, message_index, part_index LIMIT 1 BY span_id) AS p LEFT ANY JOIN "
        "(SELECT hash, substringUTF8(body, 1, {head:UInt32}) AS head FROM content WHERE hash IN "
        f"(SELECT content_hash FROM message_parts WHERE {_THESE} "
        "AND direction IN ('arguments', 'output'))) AS c ON c.hash = p.content_hash",
        {"session": session_id, "spans": wanted, "head": LINE_CHARS},
    )
    return {
        row["span_id"]: given_in_short(row["head"]) if row["direction"] == "arguments" else row["head"] for row in rows
    }


def given_in_short(arguments: str) -> str:
    """A tool's arguments in one line: the values without their names, as far as they came."""
    try:
        given = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return " · ".join(str(value) for value in given.values()) if isinstance(given, dict) else arguments


def is_running(row: Mapping[str, Any], now_ns: int) -> bool:
    """Whether the session's newest span is from just now."""
    return now_ns - int(row["end_time_ns"]) < RUNNING_NS


_KINDS: Final = (("inferences", "chat"), ("tool_calls", "tool"), ("turns", "turn"))


def read_span(source: RowSource, session_id: str, span_id: str) -> SpanDetail | None:
    """One span of a session with its content."""
    for table, kind in _KINDS:
        rows = source.rows(
            "SELECT * EXCEPT (start_time, end_time, ingested_at), toUnixTimestamp64Nano(start_time) AS start_time_ns, "
            f"toUnixTimestamp64Nano(end_time) AS end_time_ns FROM {table} "
            "WHERE session_id = {session:String} AND span_id = {span:String} ORDER BY ingested_at LIMIT 1",
            {"session": session_id, "span": span_id},
        )
        if rows:
            row = {
                key: float(value) if key.startswith("cost_") and value is not None else value
                for key, value in rows[0].items()
            }
            return SpanDetail(
                kind,
                row,
                read_parts(source, session_id, [span_id]).get(span_id, []),
                placements(row) if kind == "chat" else (),
            )
    return None


_THESE: Final = "session_id = {session:String} AND span_id IN {spans:Array(String)}"


def read_parts(
    source: RowSource, session_id: str, span_ids: Iterable[str], head_chars: int = HEAD_CHARS
) -> dict[str, list[Part]]:
    """The content of spans, by span id, in order."""
    rows = source.rows(
        "SELECT span_id, direction, role, type, name, tool_call_id, content_hash, content_bytes, head "
        f"FROM (SELECT * FROM message_parts WHERE {_THESE}) AS p "
        "LEFT ANY JOIN (SELECT hash, substringUTF8(body, 1, {head:UInt32}) AS head FROM content WHERE hash IN "
        f"(SELECT content_hash FROM message_parts WHERE {_THESE})) AS c ON c.hash = p.content_hash "
        "ORDER BY time, span_id, direction, message_index, part_index "
        "LIMIT 1 BY span_id, direction, message_index, part_index LIMIT 20000",
        {"session": session_id, "spans": sorted(set(span_ids)), "head": head_chars},
    )
    out: dict[str, list[Part]] = {}
    for row in rows:
        out.setdefault(row["span_id"], []).append(
            Part(
                row["direction"],
                row["role"],
                row["type"],
                row["name"],
                row["tool_call_id"],
                row["content_hash"],
                int(row["content_bytes"]),
                row["head"],
            )
        )
    return out


def read_content(source: RowSource, session_id: str, content_hash: str) -> str | None:
    """The whole of a piece of content that stands in that session."""
    rows = source.rows(
        "SELECT body FROM content WHERE hash = {hash:String} AND hash IN "
        "(SELECT content_hash FROM message_parts WHERE session_id = {session:String}) LIMIT 1",
        {"hash": content_hash, "session": session_id},
    )
    return str(rows[0]["body"]) if rows else None

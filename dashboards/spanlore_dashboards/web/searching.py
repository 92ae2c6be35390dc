"""Search over everything that was said in sessions: what the user typed, what models answered, what tools were given
and gave back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanlore_collector.store.views import RowSource

AROUND_CHARS: Final = 140
MAX_CONTENTS: Final = 2_000
"""Pieces of content that are looked at further, newest first; one text may stand in many sessions."""
type Where = Literal["", "user", "model", "tool_input", "tool_output"]
_WHERE: Final[dict[str, str]] = {
    "": "direction NOT IN ('system', 'tools')",
    "user": "direction = 'input' AND role = 'user'",
    "model": "direction = 'output'",
    "tool_input": "direction = 'arguments'",
    "tool_output": "direction = 'result'",
}


class SearchFilter(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    q: str = Field("", max_length=200, description="The text, in any case; at least two characters")
    where: Where = Field("", description="Who said it")
    limit: int = Field(50, ge=1, le=200)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the text stands."""

    session_id: str
    span_id: str
    time_ns: int
    where: str
    """user, model, tool_input or tool_output."""
    tool: str
    before: str
    match: str
    after: str


def search(source: RowSource, wanted: SearchFilter) -> list[Hit]:
    """The newest places, one for each text: what a session repeats is found where it was said first."""
    if len(wanted.q.strip()) < 2:
        return []
    rows = source.rows(
        "SELECT p.session_id AS session_id, p.span_id AS span_id, toUnixTimestamp64Nano(p.time) AS time_ns, "
        "p.direction AS direction, p.role AS role, p.name AS name, c.snippet AS snippet, c.skipped AS skipped "
        "FROM (SELECT hash, positionCaseInsensitiveUTF8(body, {q:String}) AS at, "
        "greatest(toInt64(at) - {around:Int64}, 1) AS skipped, "
        "substringUTF8(body, skipped, 2 * {around:Int64} + lengthUTF8({q:String})) AS snippet FROM content "
        "WHERE at > 0 ORDER BY first_seen DESC LIMIT 1 BY hash LIMIT {contents:UInt32}) AS c "
        "INNER JOIN (SELECT * FROM message_parts "
        f"WHERE type NOT IN ('tool_call', 'tool_call_response') AND {_WHERE[wanted.where]}) AS p "
        "ON p.content_hash = c.hash ORDER BY p.time, p.direction "
        "LIMIT 1 BY p.session_id, p.content_hash",
        {"q": wanted.q, "around": AROUND_CHARS, "contents": MAX_CONTENTS},
    )
    newest = sorted(rows, key=lambda row: -int(row["time_ns"]))[: wanted.limit]
    return [_hit(row, wanted.q) for row in newest]


def _hit(row: dict[str, object], text: str) -> Hit:
    snippet = str(row["snippet"])
    at = snippet.casefold().find(text.casefold())
    at = max(at, 0)
    direction = str(row["direction"])
    return Hit(
        session_id=str(row["session_id"]),
        span_id=str(row["span_id"]),
        time_ns=int(str(row["time_ns"])),
        where={"output": "model", "arguments": "tool_input", "result": "tool_output"}.get(direction, "user"),
        tool=str(row["name"]),
        before=("…" if int(str(row["skipped"])) > 1 else "") + snippet[:at],
        match=snippet[at : at + len(text)],
        after=snippet[at + len(text) :],
    )

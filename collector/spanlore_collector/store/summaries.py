"""Summaries of sessions: written by the one writer, read by SQL. They outlive the sessions' own rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from clickhouse_connect.driver.client import Client
from pydantic import BaseModel, ConfigDict, Field

from spanlore_collector.store.views import Row, RowSource

MAX_ROWS: Final = 1000
MAX_SESSIONS: Final = 5_000
"""Of a repository, newest first."""
MAX_HITS: Final = 200
_MAX_NS: Final = 2**63
_MAX_STEPS: Final = 2**21 - 1


class SummaryRow(BaseModel):
    """One session's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_id: str = Field(min_length=1, max_length=400)
    harness: str = Field(default="", max_length=200)
    repository: str = Field(default="", max_length=1000)
    branch: str = Field(default="", max_length=1000)
    start_time_ns: int = Field(ge=0, lt=_MAX_NS)
    end_time_ns: int = Field(ge=0, lt=_MAX_NS)
    steps: int = Field(ge=0, lt=2**32)
    goal: str = Field(default="", max_length=4_000)
    text: str = Field(max_length=200_000)
    json_text: str = Field(alias="json", max_length=200_000)


class ChapterRow(BaseModel):
    """A past month in a model's words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str = Field(max_length=1000)
    period: str = Field(pattern=r"^\d{4}-\d{2}$")
    source: str = Field(pattern=r"^[0-9a-f]{32}$")
    text: str = Field(max_length=200_000)
    model: str = Field(default="", max_length=200)


class Summaries(BaseModel):
    """What the API takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    summaries: list[SummaryRow] = Field(default=[], max_length=MAX_ROWS)
    chapters: list[ChapterRow] = Field(default=[], max_length=MAX_ROWS)


def insert_summaries(client: Client, given: Summaries) -> int:
    """Keeps them, with the time of now; returns how many."""
    now_ms = time.time_ns() // 1_000_000
    sessions = [
        {**row.model_dump(by_alias=True), "version": (min(row.steps, _MAX_STEPS) << 42) + now_ms}
        for row in given.summaries
    ]
    chapters = [row.model_dump() for row in given.chapters]
    for table, rows in (("session_summaries", sessions), ("summary_chapters", chapters)):
        if rows:
            names = [name.removesuffix("_ns") for name in rows[0]]
            client.insert(table, [[*row.values(), now_ms] for row in rows], column_names=[*names, "ingested_at"])
    return len(given.summaries) + len(given.chapters)


_COLUMNS: Final = (
    "session_id, harness, repository, branch, toUnixTimestamp64Nano(start_time) AS start_time_ns, "
    "toUnixTimestamp64Nano(end_time) AS end_time_ns, steps, goal, text, json"
)
_EACH: Final = "ORDER BY version DESC LIMIT 1 BY session_id"


def summaries_named(source: RowSource, start: str, limit: int = 6) -> list[Row]:
    """The summary of the session of that id, else of those whose id begins so."""
    for condition in ("session_id = {start:String}", "startsWith(session_id, {start:String})"):
        sql = f"SELECT {_COLUMNS} FROM session_summaries WHERE {condition} {_EACH} LIMIT {limit}"
        if found := source.rows(sql, {"start": start}):
            return sorted(found, key=lambda row: str(row["session_id"]))
    return []


def what_is_left(source: RowSource, session_id: str) -> Row | None:
    """The summary of exactly that session, if nothing that was said in it is in the store any more."""
    sql = f"""
SELECT {_COLUMNS} FROM session_summaries
WHERE session_id = {{session:String}}
  AND session_id NOT IN (SELECT session_id FROM message_parts WHERE session_id = {{session:String}} LIMIT 1) {_EACH}"""
    return next(iter(source.rows(sql, {"session": session_id})), None)


def as_session(kept: Row) -> Row:
    """A kept summary in the columns of `sessions`, for where the session itself is past its days: what was counted in
    it is not known any more, and told as nothing."""
    return {
        **{name: kept[name] for name in ("session_id", "harness", "repository", "branch")},
        **{name: int(kept[name]) for name in ("start_time_ns", "end_time_ns")},
        "title": kept["goal"],
        **dict.fromkeys(("inferences", "tool_calls", "failures", "turns"), 0),
        **dict.fromkeys(("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")),
        "is_past": True,
    }


def past_sessions(
    source: RowSource, *, limit: int, repository: str = "", agent: str = "", since_ns: int = 0
) -> list[Row]:
    """Sessions of which only the summary is left, as `as_session` gives them, newest first; filtered as
    `views.list_sessions` is."""
    sql = f"""
SELECT * FROM
(
    SELECT {_COLUMNS} FROM session_summaries
    WHERE session_id NOT IN (SELECT session_id FROM session_facts)
      AND ({{repository:String}} = '' OR position(repository, {{repository:String}}) > 0)
      AND ({{agent:String}} = '' OR harness = {{agent:String}})
      AND end_time >= fromUnixTimestamp64Nano({{since:Int64}}) {_EACH}
)
ORDER BY start_time_ns DESC, session_id LIMIT {{limit:UInt32}}"""
    asked = {"repository": repository, "agent": agent, "since": since_ns, "limit": limit}
    return [as_session(row) for row in source.rows(sql, asked)]


def summaries_of(source: RowSource, repository: str, branch: str = "", limit: int = MAX_SESSIONS) -> list[Row]:
    """The newest summaries of a repository, and of a branch where one is named; oldest first."""
    sql = f"""
SELECT * FROM
(
    SELECT {_COLUMNS} FROM session_summaries
    WHERE repository = {{repository:String}} AND ({{branch:String}} = '' OR branch = {{branch:String}}) {_EACH}
)
ORDER BY end_time_ns DESC, session_id LIMIT {{limit:UInt32}}"""
    return source.rows(sql, {"repository": repository, "branch": branch, "limit": limit})[::-1]


def chapters_of(source: RowSource, repository: str) -> dict[str, Row]:
    """The months of a repository that a model told, by period: {period, source, text, model}."""
    sql = """
SELECT period, source, text, model FROM summary_chapters WHERE repository = {repository:String}
ORDER BY ingested_at DESC LIMIT 1 BY period"""
    return {str(row["period"]): row for row in source.rows(sql, {"repository": repository})}


def unsummarised(source: RowSource, before_ns: int, limit: int) -> list[tuple[str, int]]:
    """(session, nanoseconds of its end) of those that ended before then and have no summary, the newest first."""
    sql = """
SELECT session_id, max(toUnixTimestamp64Nano(end_time)) AS end_ns FROM session_facts
WHERE session_id != '' AND session_id NOT IN (SELECT session_id FROM session_summaries)
GROUP BY session_id HAVING end_ns < {before:Int64} ORDER BY end_ns DESC, session_id LIMIT {limit:UInt32}"""
    rows = source.rows(sql, {"before": before_ns, "limit": limit})
    return [(str(row["session_id"]), int(row["end_ns"])) for row in rows]


def search_summaries(source: RowSource, words: Sequence[str], values: dict[str, Any], around: int) -> list[Row]:
    """Where all words stand in a summary, as `transcripts.search` gives its rows; newest first. `values`: repository,
    agent, since, limit."""
    sql = f"""
SELECT session_id, '' AS span_id, '' AS trace_id, end_time_ns AS time_ns, 'summary' AS direction, 'summary' AS role,
       '' AS name, substringUTF8(text, greatest(toInt64(at) - {around}, 1), {2 * around}) AS snippet,
       harness, repository, branch
FROM
(
    SELECT {_COLUMNS}, positionCaseInsensitiveUTF8(text, {{first:String}}) AS at FROM session_summaries
    WHERE arrayAll(word -> positionCaseInsensitiveUTF8(text, word) > 0, {{words:Array(String)}})
      AND ({{repository:String}} = '' OR position(repository, {{repository:String}}) > 0)
      AND ({{agent:String}} = '' OR harness = {{agent:String}})
      AND end_time >= fromUnixTimestamp64Nano({{since:Int64}}) {_EACH}
)
ORDER BY time_ns DESC, session_id LIMIT least({{limit:UInt32}}, {MAX_HITS})"""
    return source.rows(sql, {**values, "words": list(words), "first": words[0]})

"""What was said in sessions: a search over all of it, and one session's messages with their texts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, Final

from spanlore_collector.store.summaries import search_summaries
from spanlore_collector.store.views import Row, RowSource

AROUND_CHARS: Final = 70
MAX_CONTENTS: Final = 2_000
"""Texts that are looked at further, newest first."""
MAX_PARTS: Final = 50_000
SPEAKERS: Final = {
    "": "direction NOT IN ('system', 'tools')",
    "user": "direction = 'input' AND role = 'user'",
    "model": "direction = 'output'",
    "tool": "direction IN ('arguments', 'result')",
    "system": "direction = 'system'",
    "summary": "false",
}
"""Who said it, as the search filters for it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for. Empty means any."""

    words: tuple[str, ...]
    """All of them, in any case, in one text."""
    speaker: str = ""
    repository: str = ""
    """Any part of the scope key."""
    agent: str = ""
    since_ns: int = 0
    limit: int = 20


def words_of(query: str) -> tuple[str, ...]:
    """The words of a query; what stands in quotes is one."""
    try:
        words = shlex.split(query)
    except ValueError:  # a quote that is not closed
        words = query.split()
    return tuple(word for word in words if word)


def search(source: RowSource, wanted: Wanted) -> list[Row]:
    """Newest first, each text where it was first said in its session.

    Rows: session_id, span_id, trace_id, time_ns, direction, role, name, snippet, harness, repository, branch.
    """
    if not wanted.words:
        return []
    patterns = [_pattern(word) for word in wanted.words if word.isascii()]
    values: dict[str, Any] = {
        "words": list(wanted.words),
        "first": wanted.words[0],
        "since": wanted.since_ns,
        "repository": wanted.repository,
        "agent": wanted.agent,
        "limit": wanted.limit,
        **{f"like{number}": pattern for number, pattern in enumerate(patterns)},
    }
    found = source.rows(_search_sql(wanted.speaker, len(patterns)), values) if wanted.speaker != "summary" else []
    if wanted.speaker not in ("", "summary"):
        return found
    # What is left of sessions whose texts are gone. Where the texts are, they are the better hit.
    said = {row["session_id"] for row in found}
    told = search_summaries(source, wanted.words, values, AROUND_CHARS)
    found += [row for row in told if row["session_id"] not in said]
    return sorted(found, key=lambda row: -int(row["time_ns"]))[: wanted.limit]


def _search_sql(speaker: str, patterns: int) -> str:
    return f"""
SELECT p.session_id AS session_id, p.span_id AS span_id, p.trace_id AS trace_id, p.time_ns AS time_ns,
       p.direction AS direction, p.role AS role, p.name AS name, c.snippet AS snippet, s.harness AS harness,
       s.repository AS repository, s.branch AS branch
FROM ({_texts_sql(patterns)}) AS c
INNER JOIN ({_places_sql(speaker)}) AS p ON p.content_hash = c.hash
INNER JOIN ({_SESSIONS_SQL}) AS s ON s.session_id = p.session_id
ORDER BY time_ns DESC, span_id, direction LIMIT {{limit:UInt32}}"""


def _texts_sql(patterns: int) -> str:
    """The texts that hold all words: hash, snippet.

    The index of word pieces answers LIKE over lower(), which knows only ASCII; the position decides. Texts lie in the
    order in which they came: the newest are read first, and no more than are wanted.
    """
    likes = "".join(f"lower(body) LIKE {{like{number}:String}} AND " for number in range(patterns))
    return f"""
    SELECT hash, positionCaseInsensitiveUTF8(body, {{first:String}}) AS at,
           substringUTF8(body, greatest(toInt64(at) - {AROUND_CHARS}, 1), {2 * AROUND_CHARS}) AS snippet
    FROM content
    WHERE {likes}arrayAll(word -> positionCaseInsensitiveUTF8(body, word) > 0, {{words:Array(String)}})
    ORDER BY first_seen DESC LIMIT 1 BY hash LIMIT {MAX_CONTENTS}"""


def _places_sql(speaker: str) -> str:
    """Where each text was first said in each session."""
    return f"""
    SELECT session_id, content_hash, min(toUnixTimestamp64Nano(time)) AS time_ns, argMin(span_id, time) AS span_id,
           argMin(trace_id, time) AS trace_id, argMin(direction, time) AS direction, argMin(role, time) AS role,
           argMin(name, time) AS name
    FROM
    (
        SELECT * FROM message_parts
        WHERE {SPEAKERS[speaker]} AND type NOT IN ('tool_call', 'tool_call_response')
          AND time >= fromUnixTimestamp64Nano({{since:Int64}})
    )
    GROUP BY session_id, content_hash"""


_SESSIONS_SQL: Final = """
    SELECT session_id, any(harness) AS harness, any(repository) AS repository, any(branch) AS branch
    FROM
    (
        SELECT session_id, harness, repository, branch FROM inferences
        WHERE ({repository:String} = '' OR position(repository, {repository:String}) > 0)
          AND ({agent:String} = '' OR harness = {agent:String})
    )
    GROUP BY session_id"""


def _pattern(word: str) -> str:
    """For LIKE: the word anywhere in a text in lower case."""
    escaped = word.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def messages(source: RowSource, session_id: str, *, with_turns: bool = False) -> list[Row]:
    """Every part of a session once, in order: span_id, time_ns, direction, role, type, name, tool_call_id, body.

    What a tool was given and gave back stands in the conversation and at the tool's own span. A turn's span repeats
    what was asked and answered in it: those parts are left out, unless `with_turns`.
    """
    return source.rows(
        f"""
SELECT p.span_id AS span_id, p.trace_id AS trace_id, toUnixTimestamp64Nano(p.time) AS time_ns,
       p.direction AS direction, p.message_index AS message_index, p.part_index AS part_index, p.role AS role,
       p.type AS type, p.name AS name, p.tool_call_id AS tool_call_id, p.finish_reason AS finish_reason, c.body AS body
FROM
(
    SELECT * FROM message_parts WHERE session_id = {{session:String}} AND direction NOT IN ('tools')
      AND ({{turns:Bool}} OR span_id NOT IN (SELECT span_id FROM turns WHERE session_id = {{session:String}}))
    ORDER BY time, span_id, direction, message_index, part_index, ingested_at
    LIMIT 1 BY span_id, direction, message_index, part_index
) AS p
LEFT JOIN
(
    SELECT hash, any(body) AS body FROM content
    WHERE hash IN (SELECT content_hash FROM message_parts WHERE session_id = {{session:String}})
    GROUP BY hash
) AS c ON c.hash = p.content_hash
ORDER BY p.time, p.span_id, p.direction, p.message_index, p.part_index LIMIT {MAX_PARTS}""",
        {"session": session_id, "turns": with_turns},
    )


def spans(source: RowSource, session_id: str) -> list[Row]:
    """The session's rows of otel_traces, in order of time; Timestamp as nanoseconds."""
    return source.rows(
        """
SELECT toUnixTimestamp64Nano(Timestamp) AS start_ns, TraceId, SpanId, ParentSpanId, TraceState, SpanName, SpanKind,
       ResourceAttributes, ScopeName, ScopeVersion, SpanAttributes, Duration, StatusCode, StatusMessage
FROM otel_traces
WHERE TraceId IN
(
    SELECT trace_id FROM inferences WHERE session_id = {session:String}
    UNION DISTINCT SELECT trace_id FROM tool_calls WHERE session_id = {session:String}
    UNION DISTINCT SELECT trace_id FROM turns WHERE session_id = {session:String}
)
ORDER BY Timestamp, SpanId LIMIT 1 BY SpanId""",
        {"session": session_id},
    )

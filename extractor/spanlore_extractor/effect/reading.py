"""Units and opportunities out of the store. Only reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from spanlore.memory.memory import EvidenceRole, Memory
from spanlore_extractor.effect.estimate import Unit


class Rows(Protocol):
    """What `spanlore_collector.store.reader.Reader` offers."""

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        ...


_UNITS: Final = """
WITH
    units AS
    (
        SELECT memory_id, session_id, argMin(state, time) AS arm, min(time) AS since
        FROM opportunities
        WHERE state IN ('shown', 'withheld') AND (empty({ids:Array(String)}) OR memory_id IN {ids:Array(String)})
        GROUP BY memory_id, session_id
    ),
    known AS
    (
        SELECT
            id, extractAll(text, '`([^`]+)`') AS code, if(empty(code), value, code[-1]) AS form,
            JSONExtract(json, 'trigger', 'signatures', 'Array(String)') AS signatures,
            JSONExtractString(json, 'trigger', 'program') AS wanted_program,
            JSONExtractString(json, 'trigger', 'error_class') AS wanted_class
        FROM memories FINAL
        WHERE id IN (SELECT memory_id FROM units)
    ),
    calls AS
    (
        SELECT session_id, start_time, outcome, program, command, signature, error_class
        FROM tool_calls
        WHERE session_id IN (SELECT session_id FROM units)
    )
SELECT
    u.memory_id AS memory_id, u.session_id AS session_id, any(u.arm) AS arm,
    toUnixTimestamp64Nano(any(u.since)) AS since_ns,
    max(
        c.start_time > u.since AND c.outcome = 'failure' AND
        (
            has(k.signatures, c.signature) OR
            (
                empty(k.signatures) AND k.wanted_class != ''
                AND c.error_class = k.wanted_class AND c.program = k.wanted_program
            )
        )
    ) AS recurred,
    max(c.start_time > u.since AND k.form != '' AND position(c.command, k.form) > 0) AS used
FROM units AS u
INNER JOIN known AS k ON k.id = u.memory_id
LEFT JOIN calls AS c ON c.session_id = u.session_id
GROUP BY u.memory_id, u.session_id
ORDER BY u.memory_id, u.session_id
"""
_COUNTS: Final = """
SELECT memory_id, kind, state, reason, uniqExact(span_id) AS requests, max(tokens) AS line_tokens,
       toUnixTimestamp64Nano(max(time)) AS last_ns
FROM (SELECT * FROM opportunities
      WHERE empty({ids:Array(String)}) OR memory_id IN {ids:Array(String)}
      ORDER BY ingested_at LIMIT 1 BY span_id, ordinal)
GROUP BY memory_id, kind, state, reason
ORDER BY memory_id, kind, state, reason
"""
_EXPOSED: Final = """
SELECT memory_id, count() AS requests
FROM (SELECT span_id, injected_memory_ids FROM inferences WHERE notEmpty(injected_memory_ids) LIMIT 1 BY span_id)
ARRAY JOIN injected_memory_ids AS memory_id
WHERE empty({ids:Array(String)}) OR memory_id IN {ids:Array(String)}
GROUP BY memory_id
"""
_CONTRADICTED: Final = """
SELECT memory_id, any(repository) AS repository, count() AS opportunities, uniqExact(session_id) AS sessions,
       toUnixTimestamp64Nano(max(time)) AS last_ns
FROM opportunities
WHERE state = 'skipped' AND reason = 'contradicted'
GROUP BY memory_id
ORDER BY last_ns DESC, memory_id
"""


def read_units(reader: Rows, known: Iterable[Memory], ids: Sequence[str] = ()) -> list[Unit]:
    """A unit for each memory and session with an opportunity, of the memories with these ids; none given: of all.

    A correction came back when the session holds a later statement that mining cites for it.
    """
    statements = {
        memory.id: [(item.session_id, item.time_ns) for item in memory.evidence if item.role is EvidenceRole.STATEMENT]
        for memory in known
    }
    return [
        Unit(
            memory_id=row["memory_id"],
            session_id=row["session_id"],
            is_shown=row["arm"] == "shown",
            has_recurred=bool(row["recurred"])
            or any(
                session == row["session_id"] and time_ns > int(row["since_ns"])
                for session, time_ns in statements.get(row["memory_id"], ())
            ),
            is_used=bool(row["used"]),
        )
        for row in reader.rows(_UNITS, {"ids": list(ids)})
    ]


def read_counts(reader: Rows, ids: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Opportunities by memory, kind, state and reason: {memory_id, kind, state, reason, requests, line_tokens,
    last_ns}."""
    return reader.rows(_COUNTS, {"ids": list(ids)})


def read_exposure(reader: Rows, ids: Sequence[str] = ()) -> dict[str, int]:
    """Memory id → requests it stood in, replays included."""
    return {row["memory_id"]: int(row["requests"]) for row in reader.rows(_EXPOSED, {"ids": list(ids)})}


def contradicted(reader: Rows) -> list[dict[str, Any]]:
    """Memories that were withheld because the user's own files or words say otherwise, for review, the newest first:
    {memory_id, repository, opportunities, sessions, last_ns}."""
    return reader.rows(_CONTRADICTED)

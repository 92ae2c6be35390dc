"""Sessions out of the store, as mining wants them. Only reads; a batch costs seven queries, whatever its size.

A span may stand in a table twice until parts merge, so rows are told apart by span id here and no query uses FINAL.
Times come as integer nanoseconds (`toUnixTimestamp64Nano`); a datetime would lose the last three digits. Ids are
random, so the sessions of a batch lie all over a table: what keeps a batch from reading all of it is the time of its
sessions, by which the engine leaves out the other months.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Evidence, EvidenceRole
from spanlore.signature.terminal import plain
from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.lessons import QUOTE_CHARS
from spanlore_extractor.mining.session import (
    OUTPUT_HEAD_CHARS,
    AgentStep,
    Conversation,
    HumanStep,
    MinedSession,
    Step,
    ToolStep,
    time_of,
)

MAX_RECURRENCES: Final = 5
"""Other sessions that are cited for a failure that came back."""
_TAIL_CHARS: Final = 600
_MARGIN_NS: Final = 86_400 * 10**9
"""Around the times that a session's spans have: a tool call may be told by a later request."""
_LAST_NS: Final = 2**63 - 1


class Rows(Protocol):
    """What `spanlore_collector.store.reader.Reader` offers."""

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        ...


@dataclass(frozen=True, slots=True)
class SessionState:
    """How far a session has come in the store."""

    session_id: str
    end_time_ns: int
    """Of its newest span."""
    ingested_ms: int
    """When its newest row was written, milliseconds since the epoch."""
    spans: int


_CHANGED: Final = """
SELECT session_id, max(toUnixTimestamp64Nano(end_time)) AS end_ns,
max(toUnixTimestamp64Milli(ingested_at)) AS ingested_ms,
       count() AS spans
FROM
(
    SELECT session_id, end_time, ingested_at FROM inferences WHERE ingested_at > fromUnixTimestamp64Milli({since:Int64})
    UNION ALL
    SELECT session_id, end_time, ingested_at FROM tool_calls WHERE ingested_at > fromUnixTimestamp64Milli({since:Int64})
    UNION ALL
    SELECT session_id, time, ingested_at FROM human_messages WHERE ingested_at > fromUnixTimestamp64Milli({since:Int64})
)
GROUP BY session_id ORDER BY ingested_ms, session_id
"""
_STATES: Final = """
SELECT session_id, max(toUnixTimestamp64Nano(end_time)) AS end_ns,
max(toUnixTimestamp64Milli(ingested_at)) AS ingested_ms,
       count() AS spans
FROM
(
    SELECT session_id, end_time, ingested_at FROM inferences WHERE session_id IN {ids:Array(String)}
    UNION ALL
    SELECT session_id, end_time, ingested_at FROM tool_calls WHERE session_id IN {ids:Array(String)}
    UNION ALL
    SELECT session_id, time, ingested_at FROM human_messages WHERE session_id IN {ids:Array(String)}
)
GROUP BY session_id ORDER BY ingested_ms, session_id
"""
_SPANS: Final = """
SELECT toUnixTimestamp64Nano(min(start_time)) AS since, toUnixTimestamp64Nano(max(end_time)) AS until,
       count() AS sessions
FROM (SELECT session_id, min(start_time) AS start_time, max(end_time) AS end_time FROM session_facts
      WHERE session_id IN {ids:Array(String)} GROUP BY session_id)
"""
_TOOLS: Final = """
SELECT session_id, conversation, trace_id, span_id, tool_call_id, tool_name,
toUnixTimestamp64Nano(start_time) AS start_ns,
       toUnixTimestamp64Nano(end_time) AS end_ns, outcome, outcome_reason, exit_code, program, command, signature,
       error_class, error_line, arguments_hash, result_hash, harness, repository, sub_path, branch, call_class,
       turn_index, step_index
FROM tool_calls
WHERE session_id IN {ids:Array(String)}
  AND start_time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
"""
_HUMAN: Final = """
SELECT session_id, conversation, trace_id, span_id, toUnixTimestamp64Nano(time) AS time_ns, channel, text, ordinal,
       turn_index, step_index, harness, repository, sub_path, branch, call_class
FROM human_messages
WHERE session_id IN {ids:Array(String)}
  AND time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
"""
_SAID: Final = """
SELECT session_id, conversation, trace_id, span_id, toUnixTimestamp64Nano(time) AS time_ns, message_index, part_index,
       content_hash
FROM message_parts
WHERE session_id IN {ids:Array(String)} AND direction = 'output' AND type = 'text'
  AND time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
"""
_INFERENCES: Final = """
SELECT session_id, conversation, span_id, parent_conversation, call_class, harness, repository, sub_path, branch, cwd,
       turn_index, step_index
FROM inferences
WHERE session_id IN {ids:Array(String)}
  AND start_time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
ORDER BY start_time, span_id
"""
_ENDS: Final = """
SELECT session_id, conversation, turn_index, end FROM turns
WHERE session_id IN {ids:Array(String)} AND end = 'interrupted'
  AND start_time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
"""
_CONTENT: Final = """
SELECT hash, any(substringUTF8(body, 1, {head:UInt32})) AS head, any(substringUTF8(body, -{tail:UInt32})) AS tail
FROM content
WHERE hash IN
(
    SELECT arrayJoin([arguments_hash, result_hash]) FROM tool_calls
    WHERE session_id IN {ids:Array(String)}
      AND start_time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
    UNION ALL
    SELECT content_hash FROM message_parts
    WHERE session_id IN {ids:Array(String)} AND direction = 'output' AND type = 'text'
      AND time BETWEEN fromUnixTimestamp64Nano({since:Int64}) AND fromUnixTimestamp64Nano({until:Int64})
)
GROUP BY hash
"""
_RECURRENCES: Final = """
SELECT repository, signature, session_id,
       argMin(trace_id, start_time) AS trace_id, argMin(span_id, start_time) AS span_id,
       toUnixTimestamp64Nano(min(end_time)) AS time_ns,
       argMin(substringUTF8(concat(command, '\\n', error_line), 1, {quote:UInt32}), start_time) AS quote
FROM tool_calls
WHERE outcome = 'failure' AND WHICH
GROUP BY repository, signature, session_id
ORDER BY repository, signature, time_ns, session_id
LIMIT {limit:UInt32} BY repository, signature
"""
_WANTED: Final = _RECURRENCES.replace(
    "WHICH", "signature IN {signatures:Array(String)} AND repository IN {repositories:Array(String)}"
)
_RECURRING: Final = _RECURRENCES.replace(
    "WHICH",
    """(repository, signature) IN
(
    SELECT repository, signature FROM tool_calls
    WHERE outcome = 'failure' AND repository != '' AND signature != ''
    GROUP BY repository, signature HAVING min(session_id) != max(session_id)
)""",
)
_HARNESSES: Final = """
SELECT session_id, any(harness) AS harness FROM inferences
WHERE session_id IN {ids:Array(String)} AND inferences.harness NOT IN ('', 'unknown') GROUP BY session_id
"""

_OPENED: Final = """
SELECT t.span_id AS span_id, t.trace_id AS trace_id, t.tool_name AS tool_name, t.command AS command,
t.outcome AS outcome,
       t.exit_code AS exit_code, toUnixTimestamp64Nano(t.end_time) AS end_ns, c.body AS output
FROM tool_calls AS t
LEFT JOIN (SELECT hash, any(substringUTF8(body, 1, 2000)) AS body FROM content
           WHERE hash IN (SELECT result_hash FROM tool_calls WHERE span_id IN {spans:Array(String)}
                          AND session_id IN {ids:Array(String)})
           GROUP BY hash) AS c ON c.hash = t.result_hash
WHERE t.session_id IN {ids:Array(String)} AND t.span_id IN {spans:Array(String)}
LIMIT 1 BY t.span_id
"""
_PRESENT: Final = """
SELECT span_id FROM tool_calls WHERE session_id IN {ids:Array(String)} AND span_id IN {spans:Array(String)}
UNION DISTINCT
SELECT span_id FROM human_messages WHERE session_id IN {ids:Array(String)} AND span_id IN {spans:Array(String)}
"""


def changed_sessions(reader: Rows, since_ms: int) -> list[SessionState]:
    """Sessions with rows written after `since_ms`. Their `end_time_ns` is that of the new rows."""
    return [_state(row) for row in reader.rows(_CHANGED, {"since": since_ms})]


def session_states(reader: Rows, session_ids: Sequence[str]) -> list[SessionState]:
    """The states of known sessions, as far as they are in the store."""
    return [_state(row) for row in reader.rows(_STATES, {"ids": list(session_ids)})] if session_ids else []


def read_sessions(reader: Rows, session_ids: Sequence[str]) -> list[MinedSession]:
    """The sessions with all their steps, by session id."""
    parameters: dict[str, Any] = {"ids": sorted(session_ids)}
    parameters |= _times_of(reader, parameters)
    content = {
        row["hash"]: (row["head"], row["tail"])
        for row in reader.rows(_CONTENT, {**parameters, "head": OUTPUT_HEAD_CHARS, "tail": _TAIL_CHARS})
    }
    gathered = _Gathered(content)
    gathered.inferences(reader.rows(_INFERENCES, parameters))
    gathered.ends(reader.rows(_ENDS, parameters))
    gathered.tools(reader.rows(_TOOLS, parameters))
    gathered.said(reader.rows(_SAID, parameters))
    gathered.human(reader.rows(_HUMAN, parameters))
    return gathered.sessions()


class Recurrences:
    """The first failures of a signature in each session of a repository, looked up once in a run.

    A run of one batch asks for the failures at hand, which the index of signatures finds. Each such query goes through
    the failures of the whole store; so a run that comes with further ones reads all that came back anywhere, once.
    """

    def __init__(self, reader: Rows) -> None:
        self._reader = reader
        self._found: dict[tuple[str, str], list[Evidence]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._is_whole = False

    def of(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[Evidence]]:
        """For each (repository, failure signature) the first failure in each session there, oldest first, at most
        `MAX_RECURRENCES`; those that are nowhere are left out. Of a later call those of one session may be, too."""
        keys = {(repository, signature) for repository, signature in wanted if repository and signature}
        fresh = keys - self._asked
        if fresh and not self._is_whole:
            self._is_whole = bool(self._asked)
            self._read(fresh)
        self._asked |= keys
        return {key: self._found[key] for key in sorted(keys) if key in self._found}

    def _read(self, fresh: set[tuple[str, str]]) -> None:
        parameters = {
            "signatures": sorted({signature for _, signature in fresh}),
            "repositories": sorted({repository for repository, _ in fresh}),
        }
        bounds = {"limit": MAX_RECURRENCES, "quote": QUOTE_CHARS}
        query = _RECURRING if self._is_whole else _WANTED
        found: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
        for row in self._reader.rows(query, bounds if self._is_whole else bounds | parameters):
            key = row["repository"], row["signature"]
            if self._is_whole or key in fresh:
                found[key].append(
                    Evidence(
                        row["trace_id"],
                        row["span_id"],
                        row["session_id"],
                        EvidenceRole.FAILURE,
                        int(row["time_ns"]),
                        row["quote"],
                    )
                )
        self._found |= found


def harnesses(reader: Rows, session_ids: Iterable[str]) -> dict[str, str]:
    """The harness of each session that has one, by session id."""
    ids = sorted(set(session_ids))
    return {row["session_id"]: row["harness"] for row in reader.rows(_HARNESSES, {"ids": ids})} if ids else {}


def open_evidence(reader: Rows, evidence: Sequence[Evidence]) -> dict[str, dict[str, Any]]:
    """The tool calls behind evidence, by span id: tool_name, command, outcome, exit_code, end_ns, output (its head)."""
    if not evidence:
        return {}
    parameters = {"spans": [item.span_id for item in evidence], "ids": sorted({item.session_id for item in evidence})}
    return {row["span_id"]: row for row in reader.rows(_OPENED, parameters)}


def present_spans(reader: Rows, evidence: Sequence[Evidence]) -> frozenset[str]:
    """Ids of the cited spans that are still in the store."""
    if not evidence:
        return frozenset()
    spans, sessions = sorted({item.span_id for item in evidence}), sorted({item.session_id for item in evidence})
    return frozenset(str(row["span_id"]) for row in reader.rows(_PRESENT, {"spans": spans, "ids": sessions}))


def _times_of(reader: Rows, parameters: dict[str, Any]) -> dict[str, int]:
    """Between which times the sessions' rows lie, in nanoseconds; all times where one of them is not summed up."""
    [row] = reader.rows(_SPANS, parameters)
    if int(row["sessions"]) < len(parameters["ids"]):
        return {"since": 0, "until": _LAST_NS}
    return {"since": max(int(row["since"]) - _MARGIN_NS, 0), "until": min(int(row["until"]) + _MARGIN_NS, _LAST_NS)}


class _Gathered:
    """Rows on their way to becoming sessions."""

    def __init__(self, content: Mapping[str, tuple[str, str]]) -> None:
        self._content = content
        self._about: dict[str, dict[str, str]] = defaultdict(dict)
        self._conversations: dict[tuple[str, str], tuple[str, str]] = {}
        self._steps: dict[tuple[str, str], dict[tuple[str, int, int], Step]] = defaultdict(dict)
        self._place: dict[str, tuple[int, int]] = {}
        self._interrupted: set[tuple[str, str, int]] = set()

    def inferences(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._note(row)
            key = (row["session_id"], row["conversation"])
            self._conversations[key] = (row["call_class"], row["parent_conversation"])
            self._place[row["span_id"]] = (int(row["turn_index"]), int(row["step_index"]))

    def ends(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._interrupted.add((row["session_id"], row["conversation"], int(row["turn_index"])))

    def tools(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._note(row)
            key = (row["session_id"], row["conversation"])
            self._conversations.setdefault(key, (row["call_class"], ""))
            self._steps[key][(row["span_id"], 0, 0)] = ToolStep(
                trace_id=row["trace_id"],
                span_id=row["span_id"],
                tool_call_id=row["tool_call_id"],
                tool_name=row["tool_name"],
                start_time_ns=int(row["start_ns"]),
                end_time_ns=int(row["end_ns"]),
                outcome=Outcome(row["outcome"]) if row["outcome"] in Outcome else Outcome.UNKNOWN,
                outcome_reason=row["outcome_reason"],
                exit_code=row["exit_code"],
                program=row["program"],
                command=row["command"],
                signature=row["signature"],
                error_class=row["error_class"],
                error_line=row["error_line"],
                arguments=self._content.get(row["arguments_hash"], ("", ""))[0],
                output=plain(self._content.get(row["result_hash"], ("", ""))[0]),
                turn_index=int(row["turn_index"]),
                step_index=int(row["step_index"]),
            )

    def said(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            text = self._content.get(row["content_hash"], ("", ""))[1]
            if text:
                turn, step = self._place.get(row["span_id"], (0, 0))
                key = (row["session_id"], row["conversation"])
                self._steps[key][(row["span_id"], 1 + int(row["message_index"]), int(row["part_index"]))] = AgentStep(
                    row["trace_id"], row["span_id"], int(row["time_ns"]), text, turn, step
                )

    def human(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._note(row)
            key = (row["session_id"], row["conversation"])
            self._conversations.setdefault(key, (row["call_class"], ""))
            turn, ordinal = int(row["turn_index"]), int(row["ordinal"])
            channel = Channel(row["channel"]) if row["channel"] in Channel else Channel.USER_MESSAGE
            # Only the message that opens a turn can have broken off the one before.
            breaks_off = channel is Channel.USER_MESSAGE and (*key, turn - 1) in self._interrupted
            self._steps[key][(row["span_id"], -1, ordinal)] = HumanStep(
                trace_id=row["trace_id"],
                span_id=row["span_id"],
                time_ns=int(row["time_ns"]),
                channel=channel,
                text=row["text"],
                ordinal=ordinal,
                turn_index=turn,
                step_index=int(row["step_index"]),
                is_interruption=breaks_off,
            )

    def sessions(self) -> list[MinedSession]:
        by_session: dict[str, list[Conversation]] = defaultdict(list)
        for (session_id, key), steps in self._steps.items():
            call_class, parent = self._conversations.get((session_id, key), ("", ""))
            by_session[session_id].append(
                Conversation(
                    key=key,
                    steps=tuple(sorted(steps.values(), key=_order)),
                    call_class=CallClass(call_class) if call_class in CallClass else CallClass.UNKNOWN,
                    parent=parent,
                )
            )
        return [
            MinedSession(
                session_id=session_id,
                conversations=tuple(sorted(conversations, key=lambda item: item.key)),
                harness=self._about[session_id].get("harness", "unknown"),
                repository=self._about[session_id].get("repository", ""),
                sub_path=self._about[session_id].get("sub_path", ""),
                branch=self._about[session_id].get("branch", ""),
                cwd=self._about[session_id].get("cwd", ""),
            )
            for session_id, conversations in sorted(by_session.items())
        ]

    def _note(self, row: Mapping[str, Any]) -> None:
        """The first known value of each; cwd and sub-path belong together and come from the same row."""
        about = self._about[row["session_id"]]
        for name in ("harness", "repository", "branch"):
            if row[name] and row[name] != "unknown":
                about.setdefault(name, row[name])
        if row.get("cwd") and "cwd" not in about:
            about["cwd"], about["sub_path"] = row["cwd"], row["sub_path"]


def _order(step: Step) -> tuple[int, int, int, str, int]:
    """Order on the wire: a request's human text before what the model then said, that before the tools it asked for."""
    rank = 0 if isinstance(step, HumanStep) else 1 if isinstance(step, AgentStep) else 2
    start_ns = step.start_time_ns if isinstance(step, ToolStep) else time_of(step)
    ordinal = step.ordinal if isinstance(step, HumanStep) else 0
    return start_ns, rank, step.step_index, step.span_id, ordinal


def _state(row: Mapping[str, Any]) -> SessionState:
    return SessionState(row["session_id"], int(row["end_ns"]), int(row["ingested_ms"]), int(row["spans"]))

"""Who tells of a model call, when several do: what was seen on the wire stands, an agent's own telemetry gives way.

Claude Code, Codex and Gemini CLI report the very calls the proxy sees. Both may come in either order, so:

- an agent's report (`lore.AGENT_TELEMETRY`) of a call that is known already is not typed: the same provider request id,
  or, where the agent gives none, the same harness, token counts and moment. Tool calls and turns give way by session;
- when the wire comes later, the agent's rows are deleted before the wire's are inserted, so that no sum ever holds
  both; the wire's sender repeats its batch if we die in between.

Reports themselves stay in `otel_logs` and `otel_traces`. Runs on the writer's thread; costs nothing while no agent
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clickhouse_connect.driver.client import Client

from spanlore.semconv import lore
from spanlore_collector.store.retention import delete_rows
from spanlore_collector.store.rows import SpanRows
from spanlore_collector.store.tables import InferenceRow

SAME_MOMENT_NS = 15_000_000_000
"""How far apart two reports of one call's end may be. Agents stamp an event when they write it."""
_MAX_KNOWN = 50_000
_TABLES = ("tool_calls", "turns", "human_messages")

type Fingerprint = tuple[str, int, int]
"""(harness, input tokens, output tokens)."""


class Claims:
    """Knows the agents' own rows of the store."""

    def __init__(self, client: Client, cluster: str = "") -> None:
        self._client = client
        self._cluster = cluster
        self._requests: dict[str, str] = {}
        """Request id → span id, of agents' rows."""
        self._moments: dict[Fingerprint, dict[str, int]] = {}
        """What rows without a request id look like → span id → end."""
        self._sessions: set[str] = set()
        self._load()

    def settle(self, group: Sequence[SpanRows]) -> list[SpanRows]:
        """What of a group is to be inserted; deletes rows that give way. May raise clickhouse-connect's errors."""
        reports = [rows for rows in group if rows.is_report]
        if not reports and not self._sessions and not self._requests and not self._moments:
            return list(group)
        seen = [rows for rows in group if not rows.is_report]
        self._make_way([rows.inference for rows in seen if rows.inference and rows.inference.source != "otlp"])
        kept = [*seen]
        if reports:
            kept += self._unclaimed(reports, [rows.inference for rows in seen if rows.inference])
        return kept

    def stored(self, group: Iterable[SpanRows]) -> None:
        """These rows are in the store now."""
        for rows in group:
            if rows.is_report:
                self._note(rows)

    def _make_way(self, wire: Sequence[InferenceRow]) -> None:
        """Deletes what agents said of calls that the wire tells now."""
        spans, sessions = set(), set()
        for row in wire:
            if row.session_id in self._sessions:
                sessions.add(row.session_id)
            if row.provider_request_id in self._requests:
                spans.add(self._requests[row.provider_request_id])
            spans.update(self._at_that_moment(row))
        if spans:
            self._delete_calls(spans)
        self._delete_sessions(sessions)

    def _delete_calls(self, spans: set[str]) -> None:
        for table in ("inferences", "session_facts", "message_parts"):
            self._delete(table, f"span_id IN ({_quoted(spans)})")
        for request in [request for request, span in self._requests.items() if span in spans]:
            del self._requests[request]
        for known in self._moments.values():
            for span in spans & known.keys():
                del known[span]

    def _delete_sessions(self, sessions: set[str]) -> None:
        for session in sessions:
            for table in _TABLES:
                self._delete(table, f"{_REPORTED} AND session_id = {_text(session)}")
            self._delete("session_facts", f"{_REPORTED} AND inferences = 0 AND session_id = {_text(session)}")
            self._sessions.discard(session)

    def _at_that_moment(self, row: InferenceRow) -> list[str]:
        known = self._moments.get(_fingerprint(row), {})
        return [span for span, end in known.items() if abs(end - row.end_time) <= SAME_MOMENT_NS]

    def _delete(self, table: str, where: str) -> None:
        delete_rows(self._client, table, where, self._cluster)

    def _unclaimed(self, reports: Sequence[SpanRows], beside: Sequence[InferenceRow]) -> list[SpanRows]:
        requests = {row.provider_request_id for row in beside if row.provider_request_id}
        moments = [(_fingerprint(row), row.end_time) for row in beside]
        sessions = {row.session_id for row in beside}
        self._ask(reports, requests, moments, sessions)
        out = []
        for rows in reports:
            row = rows.inference
            is_claimed = rows.session_id in sessions if row is None else _is_told(row, requests, moments)
            if row is not None and row.provider_request_id:
                requests.add(row.provider_request_id)
            if not is_claimed:
                out.append(rows)
            elif not rows.is_from_log:
                out.append(rows.without_types())
        return out

    def _ask(
        self,
        reports: Sequence[SpanRows],
        requests: set[str],
        moments: list[tuple[Fingerprint, int]],
        sessions: set[str],
    ) -> None:
        """Adds what the store knows of the calls and sessions that are reported."""
        calls = [rows.inference for rows in reports if rows.inference]
        named = {row.provider_request_id for row in calls if row.provider_request_id}
        if named:
            sql = f"SELECT provider_request_id FROM inferences WHERE provider_request_id IN ({_quoted(named)})"
            requests.update(row[0] for row in self._client.query(sql).result_rows)
        nameless = [row for row in calls if not row.provider_request_id]
        if nameless:
            first, last = min(row.end_time for row in nameless), max(row.end_time for row in nameless)
            sql = (
                "SELECT harness, ifNull(input_tokens, 0), ifNull(output_tokens, 0), toUnixTimestamp64Nano(end_time) "
                f"FROM inferences WHERE source != '{lore.AGENT_TELEMETRY}' AND start_time <= "
                f"fromUnixTimestamp64Nano({last + SAME_MOMENT_NS}) AND end_time >= "
                f"fromUnixTimestamp64Nano({first - SAME_MOMENT_NS})"
            )
            moments += [((row[0], row[1], row[2]), row[3]) for row in self._client.query(sql).result_rows]
        asked = {rows.session_id for rows in reports if not rows.inference} - sessions
        if asked:
            sql = (
                f"SELECT DISTINCT session_id FROM inferences WHERE source != '{lore.AGENT_TELEMETRY}' "
                f"AND session_id IN ({', '.join(map(_text, asked))})"
            )
            sessions.update(row[0] for row in self._client.query(sql).result_rows)

    def _load(self) -> None:
        sql = (
            "SELECT provider_request_id, span_id, harness, ifNull(input_tokens, 0), ifNull(output_tokens, 0), "
            f"toUnixTimestamp64Nano(end_time) FROM inferences WHERE {_REPORTED} "
            f"ORDER BY ingested_at DESC LIMIT {_MAX_KNOWN}"
        )
        for request, span, harness, into, out, end in self._client.query(sql).result_rows:
            self._remember(request, span, (harness, into, out), end)
        for table in ("tool_calls", "turns"):
            sql = f"SELECT DISTINCT session_id FROM {table} WHERE {_REPORTED} LIMIT {_MAX_KNOWN}"
            self._sessions.update(row[0] for row in self._client.query(sql).result_rows)

    def _note(self, rows: SpanRows) -> None:
        row = rows.inference
        if row is not None:
            self._remember(row.provider_request_id, row.span_id, _fingerprint(row), row.end_time)
        elif rows.tool_call or rows.turn:
            self._sessions.add(rows.session_id)

    def _remember(self, request: str, span: str, fingerprint: Fingerprint, end: int) -> None:
        if request:
            self._requests[request] = span
            if len(self._requests) > _MAX_KNOWN:
                del self._requests[next(iter(self._requests))]
        else:
            self._moments.setdefault(fingerprint, {})[span] = end
            if len(self._moments) > _MAX_KNOWN:
                del self._moments[next(iter(self._moments))]


_REPORTED = f"source = '{lore.AGENT_TELEMETRY}'"


def _fingerprint(row: InferenceRow) -> Fingerprint:
    return row.harness, row.input_tokens or 0, row.output_tokens or 0


def _is_told(row: InferenceRow, requests: set[str], moments: list[tuple[Fingerprint, int]]) -> bool:
    """Whether the call is another teller's: by the provider's request id, else by what it counted and when it ended."""
    if row.provider_request_id:
        return row.provider_request_id in requests
    return any(known == _fingerprint(row) and abs(end - row.end_time) <= SAME_MOMENT_NS for known, end in moments)


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(map(_text, words))


def _text(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"

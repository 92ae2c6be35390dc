"""The collector, seen by an importer: what it knows of a session already, and how it takes more. Loopback only."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanlore.otlp.codec import encode_request
from spanlore.spans.record import SpanRecord
from spanlore_proxy.importers.captured import Prompt

BATCH_SPANS: Final = 500
ATTEMPTS: Final = 6
TIMEOUT_S: Final = 60.0
_KNOWN: Final = """
SELECT DISTINCT span_id, captured, call_id FROM
(
    SELECT span_id, if(source = 'wire', trace_id, '') AS captured, '' AS call_id
    FROM inferences WHERE session_id = {session:String}
    UNION ALL SELECT span_id, '', tool_call_id FROM tool_calls WHERE session_id = {session:String}
    UNION ALL SELECT span_id, '', '' FROM turns WHERE session_id = {session:String}
)
FORMAT JSONCompactEachRow
"""
_ANSWERS: Final = """
SELECT DISTINCT session_id, response_id, source FROM inferences WHERE response_id IN {ids:Array(String)}
ORDER BY session_id, response_id FORMAT JSONCompactEachRow
"""
_PROMPTS: Final = """
SELECT session_id, text, toString(toUnixTimestamp64Nano(time)) FROM human_messages
WHERE harness = {harness:String} AND source = 'wire'
  AND time BETWEEN fromUnixTimestamp64Nano({low:Int64}) AND fromUnixTimestamp64Nano({high:Int64})
ORDER BY time LIMIT 10000 FORMAT JSONCompactEachRow
"""
ASKED_AT_ONCE: Final = 60
"""Answers' ids in one question: they stand in the request's line."""
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Never through the proxy that the environment may name."""


class CollectorError(RuntimeError):
    """The collector did not take the spans, or did not answer; the text says why."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store has of a session."""

    spans: frozenset[str] = frozenset()
    """Ids, hex."""
    captured_traces: frozenset[str] = frozenset()
    """Turns whose answers the wire saw, hex."""
    calls: frozenset[str] = frozenset()
    """Ids of tool calls, as the provider gave them."""

    def __or__(self, other: Known) -> Known:
        return Known(self.spans | other.spans, self.captured_traces | other.captured_traces, self.calls | other.calls)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer of a model that is in the store."""

    session_id: str
    response_id: str
    is_captured: bool
    """By the wire; else an earlier import told of it."""


@dataclass(frozen=True, slots=True)
class CollectorLink:
    """The running collector's ports and the token for both."""

    collector_port: int
    clickhouse_port: int
    token: str

    def known(self, session_id: str) -> Known:
        """What is stored of a session."""
        rows = self._rows(_KNOWN, session=session_id)
        return Known(
            frozenset(row[0] for row in rows),
            frozenset(row[1] for row in rows if row[1]),
            frozenset(row[2] for row in rows if row[2]),
        )

    def answers(self, response_ids: Sequence[str]) -> list[StoredAnswer]:
        """Those of these answers that are stored, in whatever session."""
        rows: list[list[str]] = []
        for some in batched(response_ids, ASKED_AT_ONCE):
            asked = ",".join("'" + id_.replace("\\", "\\\\").replace("'", "\\'") + "'" for id_ in some)
            rows += self._rows(_ANSWERS, ids=f"[{asked}]")
        return [StoredAnswer(session, response, source == "wire") for session, response, source in rows]

    def prompts(self, harness: str, low_ns: int, high_ns: int) -> list[Prompt]:
        """What the wire saw people type to an agent in that time."""
        rows = self._rows(_PROMPTS, harness=harness, low=str(low_ns), high=str(high_ns))
        return [Prompt(text, int(time_ns), session) for session, text, time_ns in rows]

    def _rows(self, sql: str, **parameters: str) -> list[list[str]]:
        basic = base64.b64encode(f"spanlore:{self.token}".encode()).decode()
        query = urllib.parse.urlencode({f"param_{name}": value for name, value in parameters.items()})
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.clickhouse_port}/?{query}",
            data=sql.encode(),
            headers={"Authorization": f"Basic {basic}"},
        )
        return [json.loads(line) for line in self._send(request).splitlines() if line.strip()]

    def export(self, records: Sequence[SpanRecord]) -> int:
        """Delivers spans; how many were stored. They are committed when this returns."""
        stored = 0
        for low in range(0, len(records), BATCH_SPANS):
            batch = records[low : low + BATCH_SPANS]
            request = urllib.request.Request(
                f"http://127.0.0.1:{self.collector_port}/v1/traces",
                data=encode_request(batch),
                headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/x-protobuf"},
            )
            answer = ExportTraceServiceResponse.FromString(self._send(request))
            stored += len(batch) - int(answer.partial_success.rejected_spans)
        return stored

    def _send(self, request: urllib.request.Request) -> bytes:
        for attempt in range(ATTEMPTS):
            try:
                with _DIRECT.open(request, timeout=TIMEOUT_S) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in (429, 502, 503, 504) or attempt == ATTEMPTS - 1:
                        raise CollectorError(f"the collector answered {error.code}: {error.read(300)!r}") from None
                    pause = error.headers.get("Retry-After", "")
                time.sleep(min(float(pause) if pause.isdecimal() else 0.5 * 2**attempt, 10.0))
            except (urllib.error.URLError, OSError) as error:
                if attempt == ATTEMPTS - 1:
                    raise CollectorError(f"the collector does not answer: {error}") from None
                time.sleep(0.2 * 2**attempt)
        raise CollectorError("the collector does not answer")

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
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanlore.otlp.codec import encode_request
from spanlore.spans.record import SpanRecord

BATCH_SPANS: Final = 500
ATTEMPTS: Final = 6
TIMEOUT_S: Final = 60.0
_KNOWN: Final = """
SELECT DISTINCT span_id, captured FROM
(
    SELECT span_id, if(source = 'wire', trace_id, '') AS captured FROM inferences WHERE session_id = {session:String}
    UNION ALL SELECT span_id, '' FROM tool_calls WHERE session_id = {session:String}
    UNION ALL SELECT span_id, '' FROM turns WHERE session_id = {session:String}
)
FORMAT JSONCompactEachRow
"""
_SESSION: Final = """
SELECT session_id FROM inferences WHERE response_id IN {ids:Array(String)} AND source = 'wire'
ORDER BY start_time LIMIT 1 FORMAT JSONCompactEachRow
"""
MAX_ASKED: Final = 20
"""Answers of a session that are looked for; the wire saw all of them or none."""
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


@dataclass(frozen=True, slots=True)
class CollectorLink:
    """The running collector's ports and the token for both."""

    collector_port: int
    clickhouse_port: int
    token: str

    def known(self, session_id: str) -> Known:
        """What is stored of a session."""
        rows = self._rows(_KNOWN, session=session_id)
        return Known(frozenset(row[0] for row in rows), frozenset(row[1] for row in rows if row[1]))

    def session_of(self, response_ids: Sequence[str]) -> str:
        """The session that the wire saw these answers in, '' when it saw none of them."""
        asked = ",".join("'" + id_.replace("\\", "\\\\").replace("'", "\\'") + "'" for id_ in response_ids[:MAX_ASKED])
        rows = self._rows(_SESSION, ids=f"[{asked}]") if asked else []
        return str(rows[0][0]) if rows else ""

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

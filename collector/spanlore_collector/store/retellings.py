"""One model call that two instrumentations of a program tell: it is typed once, so that no cost counts twice.

A provider's SDK may make GenAI spans by itself (Anthropic's Python SDK does), and whoever instruments that SDK
(Traceloop, OpenInference) wraps the same call in a span of their own: same trace, same `gen_ai.response.id`. The fuller
one of a group stands, else the one that came first. The other stays in `otel_traces`, as it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from clickhouse_connect.driver.client import Client

from spanlore_collector.store.rows import SpanRows

MAX_KNOWN = 10_000
"""Answers that are remembered; the spans of one call are sent within seconds."""
_OTLP = "otlp"


class Retellings:
    """Knows which span told of an answer: since the start, and in the hour before, not in all that is stored.

    The hour is counted from now, not from the newest row: one that a clock set forward has stamped hides no other.
    """

    def __init__(self, client: Client) -> None:
        sql = (
            f"SELECT trace_id, response_id, span_id FROM inferences WHERE source = '{_OTLP}' AND response_id != '' "
            "AND ingested_at >= now64(3) - INTERVAL 1 HOUR "
            f"ORDER BY ingested_at DESC LIMIT {MAX_KNOWN}"
        )
        rows = reversed(client.query(sql).result_rows)
        self._tellers: dict[tuple[str, str], str] = {(trace, answer): span for trace, answer, span in rows}
        """(trace id, response id) → span id."""

    def settle(self, group: Sequence[SpanRows]) -> list[SpanRows]:
        """The group, without the types of spans that tell what another told. The same group again gives the same."""
        told = [(key, rows) for rows in group if (key := _answer(rows))]
        if not told:
            return list(group)
        for key, rows in sorted(told, key=lambda one: -len(one[1].parts)):
            self._tellers.setdefault(key, rows.span_id)
        while len(self._tellers) > MAX_KNOWN:
            del self._tellers[next(iter(self._tellers))]
        return [rows.without_types() if self._is_told(rows) else rows for rows in group]

    def _is_told(self, rows: SpanRows) -> bool:
        key = _answer(rows)
        return key is not None and self._tellers.get(key, rows.span_id) != rows.span_id


def _answer(rows: SpanRows) -> tuple[str, str] | None:
    row = rows.inference
    return (row.trace_id, row.response_id) if row and row.source == _OTLP and row.response_id else None

"""A store filled fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.collector_process import CollectorProcess

DAY_SPANS, DAYS = 60, 3


def test_copies_are_like_other_days(tmp_path: Path) -> None:
    """Every table grows by whole days: other ids, another day, the same content; ids still name each other."""
    collector = CollectorProcess(tmp_path)
    sizes = [str(DAY_SPANS * DAYS), str(DAY_SPANS)]
    command = [sys.executable, "-m", "spanlore_collector.bench.filling", str(collector.paths.store_dir), *sizes]
    made = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)
    with collector:
        unique = [
            collector.rows(f"SELECT uniqExact({column}) FROM {table}")
            for table, column in (("otel_traces", "SpanId"), ("inferences", "span_id"), ("tool_calls", "span_id"))
        ]
        days = collector.rows("SELECT uniqExact(toDate(start_time)) FROM inferences")
        joined = collector.rows(
            "SELECT count() FROM otel_traces AS t JOIN inferences AS i ON t.SpanId = i.span_id "
            "AND t.TraceId = i.trace_id AND t.SpanAttributes['spanlore.session.id'] = i.session_id "
            "AND t.Timestamp = i.start_time"
        )
        added = collector.rows("SELECT sum(inferences), sum(tool_calls), sum(turns) FROM sessions")
        told = collector.rows("SELECT count() FROM message_parts WHERE content_hash NOT IN (SELECT hash FROM content)")

    assert made["otel_traces"] == DAY_SPANS * DAYS
    assert unique == [[made["otel_traces"]], [made["inferences"]], [made["tool_calls"]]]
    assert days == [DAYS]
    assert joined == [made["inferences"]]
    assert [int(number) for number in added[0]] == [made[table] for table in ("inferences", "tool_calls", "turns")]
    assert told == [0]

"""Secrets in what others send."""

from __future__ import annotations

import json

from spanlore.redaction.redact import Redactor
from spanlore.semconv import lore
from spanlore.spans.record import SpanEvent, SpanKind, SpanRecord
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.ingest.receiver import prepare_logs
from spanlore_collector.ingest.redacting import redacted_log, redacted_span

KEY = "AKIA" + "Q3EGRIKQXB5ZLJ4N"
REDACTOR = Redactor()


def test_a_foreign_span_is_redacted_and_counts() -> None:
    """Attributes, lists, events and the status; a span without secrets is the same object."""
    span = SpanRecord(
        b"t" * 16,
        b"s" * 8,
        None,
        "x",
        SpanKind.CLIENT,
        1,
        2,
        {"a": f"key {KEY}", "list": ("ok", KEY), "n": 1},
        events=(SpanEvent(1, "e", {"b": KEY}),),
        status_message=f"failed with {KEY}",
    )
    found = redacted_span(span, REDACTOR)
    clean = SpanRecord(b"t" * 16, b"s" * 8, None, "x", SpanKind.CLIENT, 1, 2, {"a": "plain"})

    assert KEY not in repr(found)
    assert (found.attributes[lore.REDACTIONS], found.attributes["n"]) == (4, 1)
    assert redacted_span(clean, REDACTOR) is clean


def test_a_log_is_redacted() -> None:
    """Body and attributes."""
    record = LogRecord(1, "e", f"body {KEY}", {"prompt": KEY}, {})

    assert KEY not in repr(redacted_log(record, REDACTOR))


def test_an_agents_prompt_is_redacted_wherever_it_goes() -> None:
    """In the log's own row, in the span made of it and in its content."""
    attributes = [
        {"key": "session.id", "value": {"stringValue": "s"}},
        {"key": "prompt", "value": {"stringValue": f"use {KEY}"}},
    ]
    record = {
        "timeUnixNano": "5",
        "body": {"stringValue": "claude_code.user_prompt"},
        "attributes": attributes,
    }
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    prepared = prepare_logs(body, "", True, 1, REDACTOR)

    assert prepared.rows
    assert KEY not in repr(prepared)

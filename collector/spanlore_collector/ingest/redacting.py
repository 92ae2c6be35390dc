"""Secrets out of what others send. The proxy's own spans have been redacted before they left it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spanlore.redaction.redact import Redactor
from spanlore.semconv import lore
from spanlore.spans.record import AttributeValue, SpanRecord
from spanlore_collector.ingest.logs import LogRecord

type Attributes = Mapping[str, AttributeValue]


def redacted_span(record: SpanRecord, redactor: Redactor) -> SpanRecord:
    """The span with placeholders for secrets in its attributes and events, counted in `lore.REDACTIONS`."""
    attributes, count = _attributes(record.attributes, redactor)
    events = []
    for event in record.events:
        told, more = _attributes(event.attributes, redactor)
        events.append(replace(event, attributes=told))
        count += more
    message = redactor.redact(record.status_message)
    count += message.count
    if not count:
        return record
    counted = {**attributes, lore.REDACTIONS: count}
    return replace(record, attributes=counted, events=tuple(events), status_message=message.text)


def redacted_log(record: LogRecord, redactor: Redactor) -> LogRecord:
    """The record with placeholders for secrets in its body and attributes."""
    attributes, count = _attributes(record.attributes, redactor)
    body = redactor.redact(record.body)
    return replace(record, attributes=attributes, body=body.text) if count or body.count else record


def _attributes(attributes: Attributes, redactor: Redactor) -> tuple[dict[str, AttributeValue], int]:
    out: dict[str, AttributeValue] = {}
    count = 0
    for key, value in attributes.items():
        if isinstance(value, str):
            found = redactor.redact(value)
            out[key], count = found.text, count + found.count
        elif isinstance(value, tuple):
            words = [redactor.redact(word) for word in value]
            out[key], count = tuple(word.text for word in words), count + sum(word.count for word in words)
        else:
            out[key] = value
    return out, count

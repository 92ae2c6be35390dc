"""GenAI log events → the content of the span they belong to. Pure.

Two generations tell content beside the span, in log records that carry its trace and span id: one record a message
(`gen_ai.user.message`, `gen_ai.choice` and the like, conventions 1.28-1.36, the message being the record's body), and
one record an inference (`gen_ai.client.inference.operation.details`, with the attributes that a span may have). What
they say is put on the span as if it had carried it itself, and from there on all spans are alike.

Sources: semantic-conventions 1.36 `docs/gen-ai/gen-ai-events.md`; semantic-conventions-genai `gen-ai-events.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanEvent, SpanRecord
from spanlore_collector.ingest.foreign import understood
from spanlore_collector.ingest.generations import renewed
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.store.late_content import EVENT_NAMES, SpanKey, ToldEvent

DETAILS = "gen_ai.client.inference.operation.details"
_CHOICE = "gen_ai.choice"
_CONTENT = (gen_ai.SYSTEM_INSTRUCTIONS, gen_ai.INPUT_MESSAGES, gen_ai.OUTPUT_MESSAGES, gen_ai.TOOL_DEFINITIONS)


def told_spans(records: Iterable[LogRecord]) -> list[SpanKey]:
    """The spans of which these records tell content, each once."""
    keys = (
        (record.trace_id.hex(), record.span_id.hex())
        for record in records
        if record.event_name in EVENT_NAMES and len(record.trace_id) == 16 and len(record.span_id) == 8
    )
    return list(dict.fromkeys(keys))


def completed(span: SpanRecord, events: Sequence[ToldEvent]) -> SpanRecord:
    """The span with the content that the events tell, in their order; the same event twice counts once."""
    told: dict[str, AttributeValue] = {}
    messages: list[ToldEvent] = []
    for event in dict.fromkeys(events):
        if event.name == DETAILS:
            told.update(_details(event))
        else:
            messages.append(event)
    if not told and messages:
        messages.sort(key=_place)
        span = replace(span, events=tuple(_span_event(event) for event in messages))
    return understood(renewed(replace(span, attributes={**span.attributes, **told})))


def _details(event: ToldEvent) -> dict[str, AttributeValue]:
    """Its content, from attributes or, as some write it, from a body of the same keys; lists are JSON."""
    body, attributes = _object(event.body), dict(event.attributes)
    return {
        key: value if isinstance(value, str) else orjson.dumps(value).decode()
        for key in _CONTENT
        if (value := attributes.get(key) or body.get(key))
    }


def _span_event(event: ToldEvent) -> SpanEvent:
    """As the span event of that name has it: the message as JSON, or its fields as attributes."""
    attributes: dict[str, AttributeValue] = dict(event.attributes)
    if _object(event.body):
        attributes["gen_ai.event.content"] = event.body
    elif event.body and "content" not in attributes:
        attributes["content"] = event.body
    return SpanEvent(event.time_ns, event.name, attributes)


def _place(event: ToldEvent) -> tuple[int, int]:
    """Records of one moment have no order of their own; a choice comes at its index, whatever was written first."""
    if event.name == _CHOICE:
        return 2, _index(event)
    return int(event.name != "gen_ai.system.message"), event.time_ns


def _index(event: ToldEvent) -> int:
    found = _object(event.body).get("index", dict(event.attributes).get("index", 0))
    try:
        return max(int(found), 0)
    except (TypeError, ValueError):
        return 0


def _object(text: str) -> Mapping[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}

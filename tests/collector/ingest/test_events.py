"""Log events of two generations put on the span they belong to."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.ingest.events import DETAILS, completed, told_spans
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.store.late_content import ToldEvent

SPAN = SpanRecord(
    b"t" * 16, b"s" * 8, None, "chat", SpanKind.CLIENT, 1, 2, {gen_ai.OPERATION_NAME: "chat", "session.id": "s"}
)
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
OLD = (
    ToldEvent(1, "gen_ai.system.message", '{"content": "Be brief."}', ()),
    ToldEvent(2, "gen_ai.user.message", '{"content": "List."}', (("gen_ai.system", "openai"),)),
    ToldEvent(3, "gen_ai.assistant.message", json.dumps({"tool_calls": [CALL]}), ()),
    ToldEvent(4, "gen_ai.tool.message", '{"id": "c1", "content": "a b"}', ()),
    ToldEvent(5, "gen_ai.choice", '{"index": 1, "finish_reason": "stop", "message": {"content": "second"}}', ()),
    ToldEvent(5, "gen_ai.choice", '{"index": 0, "finish_reason": "stop", "message": {"content": "first"}}', ()),
)


def messages(record: SpanRecord, key: str) -> list[dict[str, Any]]:
    """A content attribute, parsed."""
    found: list[dict[str, Any]] = json.loads(str(record.attributes[key]))
    return found


def texts(record: SpanRecord, key: str) -> list[str]:
    """Roles and what they say."""
    return [
        f"{message['role']}: {part.get('content', part.get('response', part.get('name')))}"
        for message in messages(record, key)
        for part in message["parts"]
    ]


def test_a_record_for_each_message() -> None:
    """Order of time; choices by their index; a repeated record counts once."""
    told = completed(SPAN, (*OLD, OLD[1]))

    assert texts(told, gen_ai.INPUT_MESSAGES) == ["system: Be brief.", "user: List.", "assistant: bash", "tool: a b"]
    assert texts(told, gen_ai.OUTPUT_MESSAGES) == ["assistant: first", "assistant: second"]


def test_records_in_any_order() -> None:
    """What was written in another order is the same conversation."""
    told = completed(SPAN, OLD)

    assert all(completed(SPAN, order).attributes == told.attributes for order in permutations(OLD))


def test_one_record_for_all() -> None:
    """Today's event, with its content as attributes or as a body."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": "No, use uv."}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}], "finish_reason": "stop"}]
    content = {gen_ai.INPUT_MESSAGES: asked, gen_ai.OUTPUT_MESSAGES: said}
    attributes = tuple((key, json.dumps(value)) for key, value in content.items())
    told = completed(SPAN, [ToldEvent(1, DETAILS, "", attributes)])

    assert (texts(told, gen_ai.INPUT_MESSAGES), texts(told, gen_ai.OUTPUT_MESSAGES)) == (
        ["user: No, use uv."],
        ["assistant: Yes."],
    )
    assert json.loads(str(told.attributes[lore.HUMAN_TEXT]))[0]["text"] == "No, use uv."
    by_body = completed(SPAN, [ToldEvent(1, DETAILS, json.dumps(content), ())])
    assert messages(by_body, gen_ai.INPUT_MESSAGES) == messages(told, gen_ai.INPUT_MESSAGES)


def test_a_message_as_attributes_or_as_plain_text() -> None:
    """Some SDKs write the fields as attributes, some the text alone."""
    events = (
        ToldEvent(1, "gen_ai.user.message", "Hi", ()),
        ToldEvent(2, "gen_ai.choice", "", (("message", '{"content": "Hello"}'), ("finish_reason", "stop"))),
    )
    told = completed(SPAN, events)

    assert texts(told, gen_ai.INPUT_MESSAGES) == ["user: Hi"]
    assert texts(told, gen_ai.OUTPUT_MESSAGES) == ["assistant: Hello"]


def test_which_spans_are_told_of() -> None:
    """Records of these names with both ids; each span once."""

    def record(name: str, trace: bytes = b"t" * 16, span: bytes = b"s" * 8) -> LogRecord:
        none: dict[str, AttributeValue] = {}
        return LogRecord(1, name, "", none, none, trace, span)

    assert told_spans([record("gen_ai.choice"), record(DETAILS), record("other"), record(DETAILS, b"", b"")]) == [
        (SPAN.trace_id.hex(), SPAN.span_id.hex())
    ]


def test_bodies_that_are_no_message() -> None:
    """Whatever stands there, the span stays."""
    for body in ("{", "[1]", "7", '{"message": 5, "index": "x", "tool_calls": [3]}', '{"content": {"a": 1}}'):
        for name in ("gen_ai.choice", "gen_ai.user.message", DETAILS):
            assert completed(SPAN, [ToldEvent(1, name, body, ())]).span_id == SPAN.span_id

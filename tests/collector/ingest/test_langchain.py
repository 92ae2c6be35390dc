"""Tools of LangChain, as its instrumentations write them down."""

from __future__ import annotations

import json

import pytest

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.ingest.foreign import understood
from spanlore_collector.ingest.langchain import arguments_of, result_of, unwrapped
from spanlore_collector.store.rows import rows_of

MESSAGE = {"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": {"content": "3 passed", "tool_call_id": "c1"}}


def span(attributes: dict[str, AttributeValue]) -> SpanRecord:
    """A span of Traceloop's."""
    return SpanRecord(b"t" * 16, b"s" * 8, None, "x", SpanKind.INTERNAL, 1, 2, attributes, scope_name="traceloop")


def test_traceloops_tool_is_told_as_any_other() -> None:
    """What it was given and gave, without what the callback says beside them; its call and its session."""
    told = {
        gen_ai.OPERATION_NAME: "execute_tool",
        gen_ai.TOOL_NAME: "Bash",
        gen_ai.TOOL_CALL_ARGUMENTS: json.dumps({"input_str": "{'command': 'pytest -q'}", "tags": ["seq:step:1"]}),
        gen_ai.TOOL_CALL_RESULT: json.dumps({"output": MESSAGE, "kwargs": {}}),
        "traceloop.association.properties.thread_id": "t1",
    }
    rows = rows_of(understood(unwrapped(span({**told}))), 1)

    assert rows.tool_call is not None
    assert (rows.session_id, rows.tool_call.tool_call_id) == ("t1", "c1")
    assert (rows.tool_call.program, rows.tool_call.command) == ("pytest", "pytest -q")
    assert [content.body for content in rows.contents] == ['{"command":"pytest -q"}', "3 passed"]


def test_a_session_that_is_named_stands() -> None:
    """By the conventions' name, or by the one of all traces."""
    property_: dict[str, AttributeValue] = {"traceloop.association.properties.session_id": "a"}
    for name in (gen_ai.CONVERSATION_ID, "session.id"):
        record = span({**property_, name: "b"})
        assert unwrapped(record) is record


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (MESSAGE, ("3 passed", "c1")),
        ('{"content": "ok", "tool_call_id": null}', ("ok", "")),
        ('{"type": "tool", "data": {"content": "ok", "tool_call_id": "c2"}}', ("ok", "c2")),
        ("plain", ("plain", "")),
        ({"rows": 3}, ('{"rows":3}', "")),
        ('{"content": ["a"]}', ('{"content": ["a"]}', "")),
    ],
)
def test_results(value: object, told: tuple[str, str]) -> None:
    """A message's text and call; anything else whole."""
    assert result_of(value) == told


@pytest.mark.parametrize("text", ["{" * 70_000, "{'a': " * 3_000, "{'a': open}", "{", "{'a': b'x'}", '{"a":1}', "ls"])
def test_other_arguments_are_kept_as_they_came(text: str) -> None:
    """Nothing a sender writes fails its span."""
    assert arguments_of(text) == text

"""SpanRecord → rows."""

from __future__ import annotations

import pytest

from spanlore.genai.messages import content_hash
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanEvent, SpanKind, SpanLink, SpanRecord, StatusCode
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.attributes import Attributes
from spanlore_collector.store.rows import SpanRows, rows_of
from spanlore_collector.store.tables import TRACE_COLUMNS

NOW_MS = 1_800_000_000_000


def span(attributes: Attributes, **fields: object) -> SpanRows:
    """The rows of a foreign span."""
    values: dict[str, object] = {
        "trace_id": bytes(range(16)),
        "span_id": bytes(range(8)),
        "parent_span_id": None,
        "name": "chat x",
        "kind": SpanKind.CLIENT,
        "start_time_ns": 1_000,
        "end_time_ns": 4_000,
        "attributes": attributes,
        "resource": {"service.name": "someone"},
    }
    return rows_of(SpanRecord(**{**values, **fields}), NOW_MS)  # type: ignore[arg-type]


def test_our_own_spans_fill_the_typed_rows() -> None:
    """A chat with what a person typed, a tool call and a turn, each with its place and content."""
    rows = [rows_of(record, NOW_MS) for record in sample_spans(40, seed=3)]
    chat = next(row for row in rows if row.human)
    tool = next(row for row in rows if row.tool_call)
    turn = next(row for row in rows if row.turn)

    assert chat.inference is not None and chat.inference.session_id == "session-3-0"
    assert chat.inference.input_tokens == 30_000
    assert chat.inference.cost_usd == pytest.approx(0.012345678)
    assert chat.inference.ttft_ns == 700_000_000
    assert chat.inference.harness_version == "2.1.197"
    assert chat.human[0].channel == "user_message"
    assert {part.direction for part in chat.parts} == {"output"}
    assert tool.tool_call is not None and tool.tool_call.outcome in ("success", "failure")
    assert tool.tool_call.result_hash == next(part.content_hash for part in tool.parts if part.direction == "result")
    assert turn.turn is not None and turn.turn.prompt == chat.human[0].text
    assert all(row.inference or row.tool_call or row.turn for row in rows)


def test_one_content_row_for_a_result_and_its_attribute() -> None:
    """A tool result in a request and on its execute_tool span have one address."""
    rows = [rows_of(record, NOW_MS) for record in sample_spans(20, seed=4)]
    results = {part.content_hash for row in rows for part in row.parts if part.direction == "result"}
    inputs = {part.content_hash for row in rows for part in row.parts if part.type == "tool_call_response"}

    assert len(results & inputs) >= len(results) - 1 > 0  # the last one's request may be beyond the twentieth span


def test_the_exporters_row_is_complete() -> None:
    """Every column of otel_traces, events and links included, enumerations as the exporter spells them."""
    rows = span(
        {"n": 1, "b": True, "l": ("x",)},
        parent_span_id=b"p" * 8,
        status_code=StatusCode.ERROR,
        status_message="broken",
        events=(SpanEvent(2_000, "e", {"k": 2}),),
        links=(SpanLink(b"t" * 16, b"s" * 8, {"k": "v"}, "a=b"),),
        trace_state="c=d",
    )
    row = dict(zip(TRACE_COLUMNS, rows.trace, strict=True))

    assert row == {
        "Timestamp": 1_000,
        "TraceId": "000102030405060708090a0b0c0d0e0f",
        "SpanId": "0001020304050607",
        "ParentSpanId": "7070707070707070",
        "TraceState": "c=d",
        "SpanName": "chat x",
        "SpanKind": "Client",
        "ServiceName": "someone",
        "ResourceAttributes": {"service.name": "someone"},
        "ScopeName": "spanlore",
        "ScopeVersion": "",
        "SpanAttributes": {"n": "1", "b": "true", "l": '["x"]'},
        "Duration": 3_000,
        "StatusCode": "Error",
        "StatusMessage": "broken",
        "Events.Timestamp": [2_000],
        "Events.Name": ["e"],
        "Events.Attributes": [{"k": "2"}],
        "Links.TraceId": ["74" * 16],
        "Links.SpanId": ["73" * 8],
        "Links.TraceState": ["a=b"],
        "Links.Attributes": [{"k": "v"}],
    }
    assert (rows.inference, rows.tool_call, rows.turn) == (None, None, None)


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.system": "openai", gen_ai.REQUEST_MODEL: "gpt-5", "gen_ai.usage.prompt_tokens": 10},
        {gen_ai.PROVIDER_NAME: "openai", gen_ai.OPERATION_NAME: "chat", gen_ai.USAGE_INPUT_TOKENS: "10"},
    ],
)
def test_foreign_inferences_of_any_generation(attributes: Attributes) -> None:
    """Without our attributes an inference still gets its row: provider, tokens, and a session of its own trace."""
    row = span(attributes).inference

    assert row is not None
    assert (row.provider, row.input_tokens, row.operation) == ("openai", 10, "chat")
    assert (row.session_id, row.session_inferred) == ("trace-000102030405060708090a0b0c0d0e0f", True)
    assert (row.harness, row.source, row.call_class) == ("someone", "otlp", "unknown")
    assert row.cost_usd is None


def test_a_foreign_conversation_is_a_session() -> None:
    """gen_ai.conversation.id names the session when we don't."""
    row = span({gen_ai.OPERATION_NAME: "chat", gen_ai.CONVERSATION_ID: "c1"}).inference

    assert row is not None and (row.session_id, row.session_inferred, row.conversation) == ("c1", False, "c1")


def test_a_foreign_failed_tool_is_a_failure() -> None:
    """An execute_tool span with an error status failed; without one nothing is known."""
    tool = {gen_ai.OPERATION_NAME: "execute_tool", gen_ai.TOOL_NAME: "ls", gen_ai.ERROR_TYPE: "timeout"}
    failed, unknown = span(tool, status_code=StatusCode.ERROR).tool_call, span(tool).tool_call

    assert failed is not None and (failed.outcome, failed.error_class) == ("failure", "timeout")
    assert unknown is not None and unknown.outcome == "unknown"


def test_times_and_numbers_out_of_range_do_not_stop_a_batch() -> None:
    """A time after 2262 and an end before the start are stored at their bounds."""
    late = span(
        {gen_ai.OPERATION_NAME: "chat", lore.TURN: -1, lore.ATTEMPT: 9_999}, start_time_ns=2**64 - 1, end_time_ns=5
    )

    assert late.trace[0] == 2**63 - 1
    assert late.inference is not None
    assert (late.inference.duration_ns, late.inference.turn_index, late.inference.attempt) == (0, 0, 255)


def test_content_that_is_no_json_is_kept_raw() -> None:
    """Content attributes that do not parse are one part of type raw, and nothing of them stays on the span."""
    rows = span({gen_ai.OPERATION_NAME: "chat", gen_ai.INPUT_MESSAGES: "not json", lore.HUMAN_TEXT: "also not"})

    assert [(part.type, part.content_hash) for part in rows.parts] == [("raw", content_hash("not json"))]
    assert [(said.channel, said.text) for said in rows.human] == [("unknown", "also not")]

"""Inference and Observation → spans."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import orjson

from spanlore.genai.inference import CallClass, Dialect, Inference, InferenceError, RequestParameters, Usage
from spanlore.genai.messages import Message, Role, Text, ToolCall, ToolDefinition, ToolResult, message_from_json
from spanlore.otlp.codec import decode_request, encode_request
from spanlore.semconv import gen_ai, lore
from spanlore.spans.encode import encode, encode_observation, encode_resource
from spanlore.spans.ids import inference_span_id, tool_span_id
from spanlore.spans.place import (
    Channel,
    HumanMessage,
    Injected,
    Observation,
    Outcome,
    Place,
    ToolExecution,
    Turn,
    Workplace,
)
from spanlore.spans.price import Price
from spanlore.spans.record import SpanKind, SpanRecord, StatusCode

PLACE = Place("s1", False, "c" * 16, b"t" * 16, b"u" * 8, 1, 4, parent_tool_span_id=b"p" * 8)
WORKPLACE = Workplace("run-1", "claude-code", "2.1", "github.com/a/b", "sub", "main", "/src/b/sub")
INFERENCE = Inference(
    Dialect.ANTHROPIC_MESSAGES,
    "anthropic",
    "chat",
    "claude-x",
    1_000,
    9_000,
    is_streaming=True,
    first_chunk_time_ns=3_000,
    response_id="msg_1",
    system=(Text("be kind"),),
    tools=(ToolDefinition("Bash", "runs"),),
    message_count=3,
    new_from=2,
    new_messages=(Message(Role.USER, (Text("hé"),)),),
    output=(Message(Role.ASSISTANT, (ToolCall("toolu_1", "Bash", {"command": "ls"}),), "tool_call"),),
    finish_reasons=("tool_call",),
    usage=Usage(10, 2, 8, 1, 1),
    parameters=RequestParameters(max_tokens=5, stop_sequences=("x",)),
    server_address="api.anthropic.com",
)
TOOL = ToolExecution(
    ToolCall("toolu_0", "Bash", {"command": "make"}),
    ToolResult("toolu_0", "boom", True),
    100,
    900,
    Outcome.FAILURE,
    "exit_code",
    2,
    "make",
    "make",
    "00ff00ff00ff00ff",
    "Error",
    "boom",
    3,
    1,
)
TURN = Turn(b"t" * 16, b"u" * 8, 1, 50, 9_000, (HumanMessage(Channel.USER_MESSAGE, "do it"),), 2, 1, 1)
OBSERVATION = Observation(
    PLACE,
    WORKPLACE,
    (HumanMessage(Channel.USER_MESSAGE, "do it"),),
    (TOOL,),
    (TURN,),
    Injected(("m-1",), 40, "[]", "", 7),
)


def spans(
    inference: Inference = INFERENCE, observation: Observation = OBSERVATION, price: Price | None = None
) -> list[SpanRecord]:
    """All spans of the exchange."""
    return encode(inference, observation, request_seed="msg_1", price=price, redactions=3)


def test_one_exchange_gives_turn_tools_and_chat() -> None:
    """Parents before children, in one trace, with the names and kinds of the conventions."""
    turn, tool, chat = spans()

    assert [span.name for span in (turn, tool, chat)] == [
        "invoke_agent claude-code",
        "execute_tool Bash",
        "chat claude-x",
    ]
    assert [span.kind for span in (turn, tool, chat)] == [SpanKind.INTERNAL, SpanKind.INTERNAL, SpanKind.CLIENT]
    assert {span.trace_id for span in (turn, tool, chat)} == {b"t" * 16}
    assert (turn.parent_span_id, tool.parent_span_id, chat.parent_span_id) == (b"p" * 8, b"u" * 8, b"u" * 8)
    assert tool.span_id == tool_span_id("c" * 16, "toolu_0")
    assert chat.span_id == inference_span_id("c" * 16, "msg_1", 1)


def test_turns_and_tools_without_a_chat() -> None:
    """The same spans, where no exchange told them."""
    assert encode_observation(OBSERVATION) == spans()[:-1]


def test_the_chat_span_says_what_was_new() -> None:
    """Request, response, usage, place and injection; content as JSON of the GenAI shapes."""
    a = spans(price=Price(Decimal("0.0123456789"), Decimal("0.01"), Decimal("0.0023456789")))[2].attributes

    assert a[gen_ai.CONVERSATION_ID] == a[lore.SESSION_ID] == "s1"
    assert a[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK] == 2e-6
    assert (a[gen_ai.USAGE_INPUT_TOKENS], a[gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS], a[lore.CACHE_WRITE_1H]) == (
        10,
        1,
        1,
    )
    assert a[lore.COST_USD] == 0.012345679
    assert (a[lore.REDACTIONS], a[lore.TURN], a[lore.STEP], a[lore.REPOSITORY]) == (3, 1, 4, "github.com/a/b")
    assert (a[lore.INJECTED_MEMORY_IDS], a[lore.INJECTED_TOKENS], a[lore.OVERHEAD_NS]) == (("m-1",), 10, 7)
    assert message_from_json(orjson.loads(str(a[gen_ai.INPUT_MESSAGES]))[0]) == INFERENCE.new_messages[0]
    assert message_from_json(orjson.loads(str(a[gen_ai.OUTPUT_MESSAGES]))[0]) == INFERENCE.output[0]
    assert orjson.loads(str(a[lore.HUMAN_TEXT])) == [{"channel": "user_message", "text": "do it"}]


def test_what_is_not_known_is_absent() -> None:
    """No price, no error, no compaction: no attribute, rather than an empty one."""
    bare = Inference(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", None, 5, 1)
    inferred = Observation(replace(PLACE, session_inferred=True), Workplace())
    (chat,) = spans(bare, inferred)

    absent = (
        lore.COST_USD,
        gen_ai.ERROR_TYPE,
        gen_ai.CONVERSATION_COMPACTED,
        gen_ai.REQUEST_MODEL,
        gen_ai.REQUEST_STREAM,
    )
    assert not set(absent) & set(chat.attributes)
    assert gen_ai.CONVERSATION_ID not in chat.attributes and chat.attributes[lore.SESSION_INFERRED] is True
    assert (chat.name, chat.end_time_ns) == ("chat", 5)


def test_failures_are_marked() -> None:
    """A failed tool call and a failed inference have the error status, its type, and the reason."""
    failed = replace(INFERENCE, error=InferenceError("overloaded_error", "busy " * 200))
    _, tool, chat = spans(failed)

    assert (tool.status_code, tool.status_message, tool.attributes[gen_ai.ERROR_TYPE]) == (
        StatusCode.ERROR,
        "boom",
        "Error",
    )
    assert (tool.attributes[lore.OUTCOME], tool.attributes[lore.EXIT_CODE]) == ("failure", 2)
    assert (chat.status_code, chat.attributes[gen_ai.ERROR_TYPE]) == (StatusCode.ERROR, "overloaded_error")
    assert len(chat.status_message) == 500


def test_retries_and_side_calls_are_told_apart() -> None:
    """The attempt makes another span id; the class of the call is an attribute."""
    retry = Observation(replace(PLACE, attempt=2, call_class=CallClass.TITLE, is_compacted=True), WORKPLACE)
    (chat,) = spans(INFERENCE, retry)

    assert chat.span_id == inference_span_id("c" * 16, "msg_1", 2)
    assert (chat.attributes[lore.ATTEMPT], chat.attributes[lore.CALL_CLASS]) == (2, "title")
    assert chat.attributes[gen_ai.CONVERSATION_COMPACTED] is True


def test_the_service_is_the_agent() -> None:
    """So that per-service views tell agents apart."""
    assert encode_resource(WORKPLACE)["service.name"] == "claude-code"
    assert encode_resource(Workplace(harness=""))["service.name"] == "unknown"


def test_spans_survive_the_wire() -> None:
    """All that encode makes, OTLP can carry."""
    made = spans()

    assert decode_request(encode_request(made)) == made

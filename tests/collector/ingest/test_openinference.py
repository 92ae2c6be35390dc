"""OpenInference's spans, as its instrumentations of OpenAI, Anthropic and LangChain send them."""

from __future__ import annotations

import json

import pytest

from spanlore.otlp.codec import encode_request
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord, StatusCode
from spanlore_collector.ingest.foreign import understood
from spanlore_collector.ingest.openinference import KIND, conventional
from spanlore_collector.ingest.receiver import prepare
from spanlore_collector.store.rows import SpanRows, rows_of

MODEL: dict[str, AttributeValue] = {
    KIND: "LLM",
    "session.id": "s1",
    "llm.system": "openai",
    "llm.model_name": "gpt-4o-mini",
    "llm.finish_reason": "tool_calls",
    "llm.token_count.prompt": 120,
    "llm.token_count.completion": 9,
    "llm.token_count.total": 129,
    "llm.token_count.prompt_details.cache_read": 100,
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Run the tests.",
    "llm.input_messages.10.message.role": "tool",
    "llm.input_messages.10.message.tool_call_id": "c0",
    "llm.input_messages.10.message.content": "3 passed",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "Bash",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"command": "pytest -q"}',
    "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "Bash", "description": "run"}}',
    "input.value": '{"messages": []}',
    "output.value": "{}",
}


def span(attributes: dict[str, AttributeValue], name: str = "x", status: StatusCode = StatusCode.OK) -> SpanRecord:
    """A span of OpenInference."""
    return SpanRecord(
        b"t" * 16, b"s" * 8, None, name, SpanKind.INTERNAL, 1, 2, attributes, scope_name="oi", status_code=status
    )


def rows(record: SpanRecord) -> SpanRows:
    """As the receiver makes them."""
    return rows_of(understood(conventional(record)), 1)


def test_a_model_call_is_an_inference() -> None:
    """Its session, model, tokens, price, what was said and by whom, in order, and the tools it had."""
    told = rows(span(MODEL))
    row = told.inference

    assert row is not None and row.cost_usd is not None
    assert (row.session_id, row.provider, row.request_model) == ("s1", "openai", "gpt-4o-mini")
    assert (row.input_tokens, row.output_tokens, row.cache_read_tokens) == (120, 9, 100)
    assert row.finish_reason == "tool_calls"
    parts = [(part.direction, part.role, part.type, part.tool_call_id, part.name) for part in told.parts]
    assert parts == [
        ("input", "system", "text", "", ""),
        ("input", "user", "text", "", ""),
        ("input", "tool", "tool_call_response", "c0", ""),
        ("output", "assistant", "tool_call", "c1", "Bash"),
        ("tools", "", "tool_definition", "", "Bash"),
    ]
    bodies = [content.body for content in told.contents]
    assert bodies[:3] == ["Be brief.", "Run the tests.", "3 passed"] and "pytest -q" in bodies[3]


def test_the_receiver_reads_them() -> None:
    """From a request's bytes on."""
    (told,) = prepare(encode_request([span(MODEL)]), "", False, 1).rows

    assert told.inference is not None and told.session_id == "s1"


def test_content_is_kept_once() -> None:
    """Messages, tools and the whole request and answer don't stay among the span's attributes."""
    left = rows(span(MODEL)).trace[11]
    moved = ("llm.input_m", "llm.output_m", "llm.tools", "input.", "output.")

    assert not [key for key in left if key.startswith(moved)]
    assert left["llm.token_count.total"] == "129"


def test_content_that_is_told_whole_only_is_kept() -> None:
    """A request without messages of its own is not lost."""
    told = conventional(span({KIND: "LLM", "llm.model_name": "m", "input.value": "Say hi.", "output.value": "hi"}))

    assert (told.attributes["input.value"], told.attributes["output.value"]) == ("Say hi.", "hi")


@pytest.mark.parametrize("given", ['{"command": "pytest -q"}', "{'command': 'pytest -q'}"])
def test_a_tool_call_has_its_outcome(given: str) -> None:
    """Arguments as JSON, or as LangChain writes them; the result may be a message."""
    message = json.dumps({"type": "tool", "content": "1 failed\nexit code 1", "tool_call_id": "c1"})
    tool: dict[str, AttributeValue] = {KIND: "TOOL", "tool.name": "Bash", "input.value": given, "output.value": message}
    told = rows(span(tool, status=StatusCode.ERROR))
    row = told.tool_call

    assert row is not None
    assert (row.tool_name, row.tool_call_id, row.program) == ("Bash", "c1", "pytest")
    assert (row.outcome, row.command) == ("failure", "pytest -q")
    assert [content.body for content in told.contents if "exit" in content.body] == ["1 failed\nexit code 1"]


def test_an_agents_run_is_a_turn() -> None:
    """What was asked and what came of it."""
    agent: dict[str, AttributeValue] = {KIND: "AGENT", "input.value": "Run the tests.", "output.value": "Green."}
    row = rows(span({**agent, "agent.name": "tester"})).turn

    assert row is not None
    assert (row.prompt, row.harness) == ("Run the tests.", "tester")


@pytest.mark.parametrize("kind", ["CHAIN", "RETRIEVER", "EMBEDDING", ""])
def test_other_kinds_stay_as_they_are(kind: str) -> None:
    """A chain is a step of a program, no turn of an agent's."""
    record = span({KIND: kind, "input.value": "x"})

    assert conventional(record) is record


def test_what_a_span_tells_by_the_conventions_stands() -> None:
    """Some senders write both."""
    both = conventional(span({**MODEL, gen_ai.REQUEST_MODEL: "gpt-5", lore.COST_USD: 0.5}))

    assert both.attributes[gen_ai.REQUEST_MODEL] == "gpt-5"


@pytest.mark.parametrize("text", ["{" * 70_000, "{'a': " * 3_000, "{'a': open}", "{", "{'a': b'x'}", "{1: {2}}"])
def test_odd_arguments_are_kept_as_they_came(text: str) -> None:
    """Nothing a sender writes fails its span."""
    told = conventional(span({KIND: "TOOL", "input.value": text}))

    assert told.attributes[gen_ai.TOOL_CALL_ARGUMENTS] == text

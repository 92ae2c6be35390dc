"""Foreign spans, understood as the proxy's own are."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord, StatusCode
from spanlore_collector.ingest.foreign import understood


def span(attributes: dict[str, AttributeValue], **resource: AttributeValue) -> SpanRecord:
    """A span as a foreign SDK sends it."""
    return SpanRecord(b"t" * 16, b"s" * 8, None, "x", SpanKind.INTERNAL, 1, 2, attributes, resource=resource)


def chat(*said: tuple[str, str], session: str = "c1") -> SpanRecord:
    """A model call with these messages before it."""
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]
    named = {gen_ai.CONVERSATION_ID: session} if session else {}
    return span({gen_ai.OPERATION_NAME: "chat", gen_ai.INPUT_MESSAGES: json.dumps(messages), **named})


def tool(command: str, result: str, status: StatusCode = StatusCode.UNSET) -> SpanRecord:
    """A shell command's span."""
    given = json.dumps({"command": command})
    names: dict[str, AttributeValue] = {gen_ai.OPERATION_NAME: "execute_tool", gen_ai.TOOL_NAME: "bash"}
    called = span({**names, gen_ai.TOOL_CALL_ARGUMENTS: given, gen_ai.TOOL_CALL_RESULT: result})
    return replace(called, status_code=status)


def test_what_a_person_typed_is_what_is_new() -> None:
    """After the model's last answer; what was said before it stood in an earlier request."""
    first = understood(chat(("system", "Be brief."), ("user", "List the files.")))
    later = understood(chat(("user", "List the files."), ("assistant", "a, b"), ("user", "No, use rg --files.")))
    waiting = understood(chat(("user", "List the files."), ("assistant", "a, b")))

    assert json.loads(str(first.attributes[lore.HUMAN_TEXT])) == [
        {"channel": "user_message", "text": "List the files."}
    ]
    assert [said["text"] for said in json.loads(str(later.attributes[lore.HUMAN_TEXT]))] == ["No, use rg --files."]
    assert lore.HUMAN_TEXT not in waiting.attributes
    assert first.attributes[lore.CALL_CLASS] == "main"


def test_calls_of_no_session_are_not_a_persons() -> None:
    """Any program may call a model: without a conversation's id nobody is taken at his word."""
    told = understood(chat(("user", "Always answer in JSON."), session=""))

    assert lore.HUMAN_TEXT not in told.attributes and lore.CALL_CLASS not in told.attributes


def test_a_tools_failure_has_its_signature() -> None:
    """By the span's status or by the exit code that the result tells, never by words in it."""
    failed = understood(tool("pytest -q", "ModuleNotFoundError: No module named 'x'", StatusCode.ERROR)).attributes
    printed = understood(tool("grep -c error log", "0 errors")).attributes
    fine = understood(tool("ls", "a", StatusCode.OK)).attributes

    assert (failed[lore.OUTCOME], failed[lore.PROGRAM], failed[lore.COMMAND]) == ("failure", "pytest", "pytest -q")
    assert failed[lore.ERROR_CLASS] == "module_not_found" and len(str(failed[lore.SIGNATURE])) == 16
    assert (printed[lore.OUTCOME], fine[lore.OUTCOME]) == ("unknown", "success")


def test_the_repository_is_that_of_the_conventions() -> None:
    """`vcs.repository.url.full` in whatever form, of the span or its resource."""
    called = replace(tool("ls", "a"), resource={"vcs.repository.url.full": "git@github.com:acme/widgets.git"})

    assert understood(called).attributes[lore.REPOSITORY] == "github.com/acme/widgets"


@pytest.mark.parametrize(
    "record",
    [
        span({"http.request.method": "GET"}),
        span({gen_ai.OPERATION_NAME: "embeddings"}),
        span({gen_ai.OPERATION_NAME: "chat", lore.SOURCE: "agent", gen_ai.CONVERSATION_ID: "c"}),
    ],
)
def test_other_spans_are_left_alone(record: SpanRecord) -> None:
    """No GenAI call of an agent, or one that tells its source itself."""
    assert understood(record) is record


@pytest.mark.parametrize("text", ["[", "3", '[{"role": 5, "parts": 7}, 8]', '[{"parts": [null, 4]}]'])
def test_messages_that_are_none(text: str) -> None:
    """Never raises: whatever stands there, the span is stored."""
    record = span({gen_ai.OPERATION_NAME: "chat", gen_ai.CONVERSATION_ID: "c", gen_ai.INPUT_MESSAGES: text})

    assert lore.HUMAN_TEXT not in understood(record).attributes

"""Content attributes → message parts and content."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from spanlore.genai.messages import Message, Role, Text, ToolCall, content_hash, message_to_json, part_body
from spanlore.semconv import gen_ai, lore
from spanlore_collector.store.parts import content_of, first_text


class Seat(NamedTuple):
    """Where a span stands."""

    session_id: str = "s"
    conversation: str = "c"
    trace_id: str = "t"
    span_id: str = "p"
    start: int = 1
    ingested_at: int = 2


def test_every_part_has_its_place_and_its_content() -> None:
    """Message index from where the new messages begin, part index within, body addressed by its hash."""
    call = ToolCall("id1", "Bash", {"b": 1, "a": 2})
    messages = [Message(Role.USER, (Text("hé"),)), Message(Role.ASSISTANT, (Text("x"), call), "tool_call")]
    text = orjson.dumps([message_to_json(message) for message in messages]).decode()
    contents = content_of({gen_ai.INPUT_MESSAGES: text, lore.INPUT_NEW_FROM: 7}, Seat())

    assert [(p.direction, p.message_index, p.part_index, p.role, p.type, p.name) for p in contents.parts] == [
        ("input", 7, 0, "user", "text", ""),
        ("input", 8, 0, "assistant", "text", ""),
        ("input", 8, 1, "assistant", "tool_call", "Bash"),
    ]
    assert [row.body for row in contents.rows] == ["hé", "x", '{"a":2,"b":1}']
    assert contents.rows[0].bytes == 3
    assert contents.parts[2].content_hash == content_hash(part_body(call))
    assert contents.parts[2].finish_reason == "tool_call"
    assert contents.parts[2].tool_call_id == "id1"


def test_system_tools_arguments_and_results() -> None:
    """The other content attributes have directions of their own."""
    contents = content_of(
        {
            gen_ai.SYSTEM_INSTRUCTIONS: '[{"type":"text","content":"be kind"}]',
            gen_ai.TOOL_DEFINITIONS: '[{"type":"function","name":"Bash"}]',
            gen_ai.TOOL_CALL_ARGUMENTS: '{"a":1}',
            gen_ai.TOOL_CALL_RESULT: "",
            gen_ai.TOOL_NAME: "Bash",
            gen_ai.TOOL_CALL_ID: "id1",
        },
        Seat(),
    )

    assert [(part.direction, part.type, part.name) for part in contents.parts] == [
        ("arguments", "arguments", "Bash"),
        ("result", "result", "Bash"),
        ("system", "text", ""),
        ("tools", "tool_definition", "Bash"),
    ]
    assert contents.hash_of("arguments") == content_hash('{"a":1}')
    assert contents.bytes_of("result") == 0
    assert contents.hash_of("output") == ""


def test_messages_without_parts_are_parts_themselves() -> None:
    """Older senders write {role, content}; nothing of it is lost."""
    contents = content_of(
        {gen_ai.OUTPUT_MESSAGES: '[{"role":"user","content":"hi"}, {"role":"user","parts":[3]}]'}, Seat()
    )

    assert len(contents.parts) == 1
    assert '"content":"hi"' in contents.rows[0].body


def test_first_text_is_what_was_typed() -> None:
    """All text parts, and nothing for what is no list of messages."""
    assert (
        first_text('[{"role":"user","parts":[{"type":"text","content":"a"},{"type":"text","content":"b"}]}]') == "a\nb"
    )
    assert first_text("{") == first_text("[1]") == ""

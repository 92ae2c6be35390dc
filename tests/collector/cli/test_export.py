"""A session as Markdown and as OTLP."""

import json
from pathlib import Path

import pytest

from spanlore.otlp.codec import decode_json_request
from spanlore.semconv import gen_ai
from spanlore_collector.cli.export import markdown, otlp
from support.session_rows import session_row, tool_row
from support.snapshots import in_utc, same

SECOND = 10**9


def part(direction: str, body: str, **changes: object) -> dict[str, object]:
    """One message part."""
    row: dict[str, object] = {
        "span_id": "bb00000000000000",
        "trace_id": "f" * 32,
        "time_ns": SECOND,
        "direction": direction,
        "message_index": 0,
        "part_index": 0,
        "role": {"input": "user", "output": "assistant", "system": "system"}.get(direction, "tool"),
        "type": "text",
        "name": "",
        "tool_call_id": "",
        "finish_reason": "",
        "body": body,
    }
    return row | changes


PARTS = [
    part("system", "You are an agent."),
    part("input", "Run the tests."),
    part("output", "I look.", type="reasoning"),
    part("output", "I run them.", message_index=1),
    part(
        "output", '{"command":"make"}', message_index=1, part_index=1, type="tool_call", tool_call_id="t1", name="Bash"
    ),
    part("arguments", '{"command":"make"}', span_id="cc00000000000000", name="Bash"),
    part("result", "```\nfailed\n```", span_id="cc00000000000000", name="Bash"),
]
SPAN = {
    "start_ns": SECOND,
    "TraceId": "f" * 32,
    "SpanId": "bb00000000000000",
    "ParentSpanId": "",
    "TraceState": "",
    "SpanName": "chat claude-sonnet-4-5",
    "SpanKind": "Client",
    "ResourceAttributes": {"service.name": "claude-code"},
    "ScopeName": "spanlore",
    "ScopeVersion": "0.1.0",
    "SpanAttributes": {
        "gen_ai.usage.input_tokens": "12",
        "gen_ai.response.finish_reasons": '["tool_call"]',
        "gen_ai.request.stream": "true",
        "gen_ai.response.id": "123",
    },
    "Duration": SECOND,
    "StatusCode": "Error",
    "StatusMessage": "boom",
}


def test_markdown_reads_as_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts, who said what, each tool's input and output once, fences that hold what they hold."""
    with in_utc(monkeypatch):
        text = markdown(session_row(), PARTS, {"cc00000000000000": tool_row()})

    same(text, Path(__file__).with_name("snapshots") / "session.md")
    assert text.count('{"command":"make"}') == 1
    assert "````\n```\nfailed" in text


def test_otlp_is_read_back() -> None:
    """Ids, times, kinds and typed attributes as they were, content put together again."""
    document = otlp([SPAN, SPAN | {"SpanId": "cc00000000000000", "ParentSpanId": "bb00000000000000"}], PARTS)
    chat, tool = decode_json_request(json.dumps(document).encode())

    assert (chat.span_id.hex(), chat.parent_span_id, chat.name) == ("bb00000000000000", None, "chat claude-sonnet-4-5")
    assert tool.parent_span_id == chat.span_id
    assert (chat.start_time_ns, chat.end_time_ns, chat.kind.value) == (SECOND, 2 * SECOND, "Client")
    assert (chat.status_code.value, chat.status_message) == (2, "boom")
    assert chat.attributes["gen_ai.usage.input_tokens"] == 12
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert chat.attributes["gen_ai.request.stream"] is True
    assert chat.attributes["gen_ai.response.id"] == "123"
    messages = json.loads(str(chat.attributes[gen_ai.OUTPUT_MESSAGES]))
    call = {"type": "tool_call", "id": "t1", "name": "Bash", "arguments": {"command": "make"}}
    assert messages[1]["parts"] == [{"type": "text", "content": "I run them."}, call]
    assert tool.attributes[gen_ai.TOOL_CALL_RESULT] == "```\nfailed\n```"

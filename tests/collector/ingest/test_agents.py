"""Agents' own telemetry as spans."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.ingest.agents import named_anew, spans_of_logs
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.store.rows import rows_of

type Attributes = dict[str, AttributeValue]

NOW_NS = 1_790_000_010_000_000_000


def event(name: str, attributes: Mapping[str, AttributeValue], service: str, body: str = "") -> LogRecord:
    """One event as an agent writes it."""
    return LogRecord(NOW_NS, name, body, attributes, {"service.name": service, "service.version": "9"})


CLAUDE: Attributes = {
    "session.id": "s1",
    "prompt.id": "p1",
    "event.sequence": 4,
    "request_id": "req_1",
    "model": "claude-sonnet-4-5",
    "cost_usd": "0.0123",
    "duration_ms": "2000",
    "input_tokens": "10",
    "output_tokens": "20",
    "cache_read_tokens": "300",
    "cache_creation_tokens": "40",
    "query_source": "main",
}
CODEX: Attributes = {
    "conversation.id": "s2",
    "event.kind": "response.completed",
    "model": "gpt-5-codex",
    "input_token_count": 350,
    "output_token_count": 20,
    "cached_token_count": 300,
    "reasoning_token_count": 5,
}
GEMINI: Attributes = {
    "session.id": "s3",
    "prompt_id": "p",
    "model": "gemini-2.5-pro",
    "duration_ms": 2000,
    "input_token_count": 350,
    "output_token_count": 15,
    "thoughts_token_count": 5,
    "cached_content_token_count": 300,
}


@pytest.mark.parametrize(
    ("record", "session", "provider"),
    [
        (event("api_request", CLAUDE, "claude-code", "claude_code.api_request"), "s1", "anthropic"),
        (event("codex.sse_event", CODEX, "codex_cli_rs"), "s2", "openai"),
        (event("gemini_cli.api_response", GEMINI, "gemini-cli"), "s3", "gcp.gemini"),
    ],
)
def test_a_request_event_is_an_inference(record: LogRecord, session: str, provider: str) -> None:
    """Input counts the cache in, output the reasoning, whoever says it; the same event twice is the same span."""
    (span,) = spans_of_logs([record])
    row = rows_of(span, 1).inference

    assert row is not None
    assert (row.session_id, row.provider, row.source) == (session, provider, lore.AGENT_TELEMETRY)
    assert (row.input_tokens, row.output_tokens, row.cache_read_tokens) == (350, 20, 300)
    assert row.cost_usd is not None and row.end_time == NOW_NS
    assert spans_of_logs([record])[0].span_id == span.span_id


def test_claude_codes_own_cost_stands() -> None:
    """What the agent says it cost is kept, and named as its word; its request id joins it with the wire."""
    row = rows_of(spans_of_logs([event("api_request", CLAUDE, "claude-code")])[0], 1).inference

    assert row is not None
    assert (row.cost_usd, row.price_version, row.provider_request_id) == (0.0123, "claude-code", "req_1")
    assert (row.duration_ns, row.call_class, row.harness) == (2_000_000_000, "main", "claude-code")


@pytest.mark.parametrize(
    ("name", "service", "attributes"),
    [
        (
            "claude_code.tool_result",
            "claude-code",
            {"tool_name": "Bash", "tool_parameters": '{"full_command": "pytest -q"}', "tool_use_id": "c", "error": "E"},
        ),
        (
            "codex.tool_result",
            "codex_cli_rs",
            {"tool_name": "shell", "arguments": '{"command": ["pytest", "-q"]}', "call_id": "c", "output": "E"},
        ),
        (
            "gemini_cli.tool_call",
            "gemini-cli",
            {"function_name": "run_shell_command", "function_args": '{"command": "pytest -q"}', "error": "E"},
        ),
    ],
)
def test_a_failed_tool_event_has_a_signature(name: str, service: str, attributes: Attributes) -> None:
    """Program, outcome and signature, so that it can be mined like any other tool call."""
    (span,) = spans_of_logs([event(name, {"session.id": "s", "success": "false", **attributes}, service)])
    row = rows_of(span, 1).tool_call

    assert row is not None
    assert (row.outcome, row.program) == ("failure", "pytest")
    assert len(row.signature) == 16


def test_a_prompt_event_is_a_turn_with_what_was_typed() -> None:
    """A prompt that the agent keeps to itself gives nothing."""
    told = {"session.id": "s", "prompt.id": "p", "prompt": "use uv"}
    spans = spans_of_logs(
        [
            event("user_prompt", told, "claude-code", "claude_code.user_prompt"),
            event("codex.user_prompt", {"conversation.id": "s", "prompt": "[REDACTED]"}, "codex_cli_rs"),
        ]
    )
    rows = rows_of(spans[0], 1)

    assert len(spans) == 1
    assert rows.turn is not None and rows.turn.prompt == "use uv"
    assert [said.text for said in rows.human] == ["use uv"]


def test_other_logs_give_no_spans() -> None:
    """Events that stand for no call, and logs of anybody else."""
    records = [
        event("codex.sse_event", {"event.kind": "response.created"}, "codex_cli_rs"),
        event("claude_code.tool_decision", {"decision": "accept"}, "claude-code"),
        event("", {}, "nginx", "GET / 200"),
    ]

    assert spans_of_logs(records) == []


def test_claude_codes_own_spans_get_the_conventions_names() -> None:
    """`llm_request`, `tool` and `interaction` are an inference, a tool call and a turn; other spans stay."""
    tool: Attributes = {"tool_name": "Read", "success": True}
    names: dict[str, Attributes] = {
        "claude_code.llm_request": CLAUDE,
        "claude_code.tool": tool,
        "claude_code.interaction": {"user_prompt": "hi"},
        "GET /": {},
    }
    spans = {
        name: named_anew(
            SpanRecord(b"t" * 16, b"s" * 8, None, name, SpanKind.INTERNAL, 1, 2, {"session.id": "s", **attributes})
        )
        for name, attributes in names.items()
    }
    kinds = {name: span.attributes.get(gen_ai.OPERATION_NAME) for name, span in spans.items()}

    assert list(kinds.values()) == ["chat", "execute_tool", "invoke_agent", None]
    assert spans["claude_code.llm_request"].attributes[gen_ai.USAGE_INPUT_TOKENS] == 350
    assert not rows_of(spans["claude_code.llm_request"], 1).is_from_log
    assert json.loads(str(spans["claude_code.interaction"].attributes[lore.HUMAN_TEXT]))[0]["text"] == "hi"

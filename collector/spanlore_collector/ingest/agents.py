"""What Claude Code, Codex and Gemini CLI say of themselves → spans like those of the wire. Pure.

An agent that can't be proxied can still be seen through its own telemetry: its events (`claude_code.api_request`,
`codex.sse_event`, `gemini_cli.api_response` and their tool and prompt events) become `chat`, `execute_tool` and
`invoke_agent` spans with ids made of the ids in them, so that a repeated delivery is the same span; its own spans
(`claude_code.llm_request`, `.tool`, `.interaction`) are given the conventions' names beside their own. All carry
`lore.AGENT_TELEMETRY` as source and so give way where the wire tells of the same call (`store.claims`).

Sources: code.claude.com "Monitoring", codex-rs/otel, gemini-cli docs/telemetry.md (observability research, 4.6). Claude
Code's input tokens leave the cache out; Codex's and Gemini's have it in. Gemini's output leaves thoughts out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import ToolCall
from spanlore.semconv import gen_ai, lore
from spanlore.signature.failure import signature_of, tool_program
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord, StatusCode
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.store.attributes import number

CLAUDE_CODE, CODEX, GEMINI_CLI = "claude-code", "codex", "gemini-cli"
_CALL_CLASSES = {"main": "main", "subagent": "subagent", "auxiliary": "side"}

type Attributes = dict[str, AttributeValue]


def spans_of_logs(records: Iterable[LogRecord]) -> list[SpanRecord]:
    """The spans that agents' events stand for; other log records give none."""
    spans = []
    for record in records:
        make = _EVENTS.get(_event_name(record))
        if make is not None and record.time_ns:
            span = make(record)
            if span is not None:
                spans.append(span)
    return spans


def named_anew(record: SpanRecord) -> SpanRecord:
    """An agent's own span with the conventions' attributes beside its own; any other span as it is."""
    name = record.name
    if not name.startswith("claude_code."):
        return record
    a = record.attributes
    common: Attributes = {lore.HARNESS: CLAUDE_CODE, lore.SOURCE: lore.AGENT_TELEMETRY}
    session = a.get("session.id") or record.resource.get("session.id")
    if session:
        common[lore.SESSION_ID] = common[gen_ai.CONVERSATION_ID] = str(session)
    if name == "claude_code.llm_request":
        added = _claude_request(a)
        waited = number(a.get("ttft_ms"))
        if waited is not None:
            added[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK] = waited / 1e3
    elif name == "claude_code.tool":
        added = _tool(str(a.get("tool_name", "")), _call_id(a), a.get("tool_input", a.get("tool_parameters")), a, "")
    elif name == "claude_code.interaction":
        added = {gen_ai.OPERATION_NAME: gen_ai.OP_INVOKE_AGENT, gen_ai.AGENT_NAME: CLAUDE_CODE}
        added.update(_said(a.get("user_prompt", a.get("prompt"))))
    else:
        return record
    return replace(record, attributes={**a, **common, **added})


def _event_name(record: LogRecord) -> str:
    """Claude Code writes `api_request` as the event's name and `claude_code.api_request` as its body."""
    name = record.event_name
    if record.body.startswith("claude_code.") and record.body.count(" ") == 0:
        return record.body
    if "." not in name and str(record.resource.get("service.name", "")).startswith("claude-code"):
        return f"claude_code.{name}"
    return name or record.body


def _claude_request(a: Mapping[str, AttributeValue]) -> Attributes:
    read, write = number(a.get("cache_read_tokens")) or 0, number(a.get("cache_creation_tokens")) or 0
    fresh = number(a.get("input_tokens"))
    out: Attributes = {gen_ai.OPERATION_NAME: gen_ai.OP_CHAT, gen_ai.PROVIDER_NAME: "anthropic"}
    _put(
        out,
        {
            gen_ai.REQUEST_MODEL: a.get("model"),
            gen_ai.USAGE_INPUT_TOKENS: None if fresh is None else fresh + read + write,
            gen_ai.USAGE_OUTPUT_TOKENS: number(a.get("output_tokens")),
            gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: read or None,
            gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS: write or None,
            lore.PROVIDER_REQUEST_ID: a.get("request_id"),
            lore.CLIENT_REQUEST_ID: a.get("client_request_id"),
            lore.ATTEMPT: number(a.get("attempt")),
            lore.HTTP_STATUS: number(a.get("status_code")),
        },
    )
    out[lore.CALL_CLASS] = _CALL_CLASSES.get(str(a.get("query_source", "")), "unknown")
    cost = a.get("cost_usd")
    if isinstance(cost, (str, int, float)) and not isinstance(cost, bool):
        try:
            out[lore.COST_USD] = float(cost)
            out[lore.PRICE_VERSION] = CLAUDE_CODE
        except ValueError:
            pass  # no number: the collector's own price stands
    return out


def _claude_api_request(record: LogRecord) -> SpanRecord:
    a = record.attributes
    return _span(record, CLAUDE_CODE, _claude_request(a), _names(a, "request_id"))


def _claude_api_error(record: LogRecord) -> SpanRecord:
    a = record.attributes
    attributes = _claude_request(a)
    attributes[gen_ai.ERROR_TYPE] = str(a.get("status_code") or a.get("error") or "error")[:100]
    attributes[lore.COMPLETE] = False
    return _span(record, CLAUDE_CODE, attributes, _names(a, "request_id"), error=str(a.get("error", "error")))


def _codex_sse(record: LogRecord) -> SpanRecord | None:
    a = record.attributes
    if a.get("event.kind") != "response.completed":
        return None
    out: Attributes = {gen_ai.OPERATION_NAME: gen_ai.OP_CHAT, gen_ai.PROVIDER_NAME: "openai"}
    _put(
        out,
        {
            gen_ai.REQUEST_MODEL: a.get("model"),
            gen_ai.USAGE_INPUT_TOKENS: number(a.get("input_token_count")),
            gen_ai.USAGE_OUTPUT_TOKENS: number(a.get("output_token_count")),
            gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: number(a.get("cached_token_count")),
            gen_ai.USAGE_REASONING_OUTPUT_TOKENS: number(a.get("reasoning_token_count")),
            gen_ai.RESPONSE_ID: a.get("response_id"),
            lore.PROVIDER_REQUEST_ID: a.get("request_id"),
        },
    )
    return _span(record, CODEX, out, _names(a, "request_id"))


def _gemini_response(record: LogRecord) -> SpanRecord:
    a = record.attributes
    thoughts = number(a.get("thoughts_token_count")) or 0
    said = number(a.get("output_token_count"))
    out: Attributes = {gen_ai.OPERATION_NAME: gen_ai.OP_GENERATE_CONTENT, gen_ai.PROVIDER_NAME: "gcp.gemini"}
    _put(
        out,
        {
            gen_ai.REQUEST_MODEL: a.get("model"),
            gen_ai.USAGE_INPUT_TOKENS: number(a.get("input_token_count")),
            gen_ai.USAGE_OUTPUT_TOKENS: None if said is None else said + thoughts,
            gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: number(a.get("cached_content_token_count")),
            gen_ai.USAGE_REASONING_OUTPUT_TOKENS: thoughts or None,
            gen_ai.RESPONSE_ID: a.get("response_id"),
            lore.HTTP_STATUS: number(a.get("status_code")),
        },
    )
    error = str(a.get("error") or a.get("error.message") or "")
    if error or record.event_name == "gemini_cli.api_error":
        out[gen_ai.ERROR_TYPE] = str(a.get("error_type") or a.get("error.type") or "error")[:100]
        out[lore.COMPLETE] = False
    return _span(record, GEMINI_CLI, out, _names(a, "request_id"), error=error)


def _tool_event(harness: str, name_key: str, input_key: str, output_key: str) -> Callable[[LogRecord], SpanRecord]:
    def make(record: LogRecord) -> SpanRecord:
        a = record.attributes
        call = _call_id(a)
        output = str(a.get(output_key) or a.get("error") or a.get("error_message") or "")
        attributes = _tool(str(a.get(name_key, "")), call, a.get(input_key), a, output)
        failed = attributes[lore.OUTCOME] == "failure"
        return _span(record, harness, attributes, call or _names(a, ""), error=output[:500] if failed else "")

    return make


def _tool(name: str, call_id: str, given: Any, a: Mapping[str, AttributeValue], output: str) -> Attributes:
    arguments = parsed(given)
    out: Attributes = {
        gen_ai.OPERATION_NAME: gen_ai.OP_EXECUTE_TOOL,
        gen_ai.TOOL_NAME: name,
        gen_ai.TOOL_CALL_ID: call_id,
        lore.OUTCOME: _outcome(a),
    }
    call = ToolCall(call_id, name, _with_command(arguments))
    program, command = tool_program(call)
    exit_code = number(a.get("exit_code"))
    _put(out, {lore.PROGRAM: program or None, lore.COMMAND: command or None, lore.EXIT_CODE: exit_code})
    if given:
        out[gen_ai.TOOL_CALL_ARGUMENTS] = given if isinstance(given, str) else orjson.dumps(given).decode()
    if output:
        out[gen_ai.TOOL_CALL_RESULT] = output
    if out[lore.OUTCOME] == "failure":
        found = signature_of(call, output, exit_code)
        out[lore.SIGNATURE], out[lore.ERROR_CLASS], out[lore.ERROR_LINE] = (
            found.hash,
            found.error_class,
            found.error_line,
        )
    return out


def _outcome(a: Mapping[str, AttributeValue]) -> str:
    if str(a.get("decision", a.get("decision_type", ""))).lower() in ("reject", "denied", "abort"):
        return "rejected"
    told = str(a.get("success", "")).lower()
    return {"true": "success", "false": "failure"}.get(told, "unknown")


def _prompt_event(harness: str) -> Callable[[LogRecord], SpanRecord | None]:
    def make(record: LogRecord) -> SpanRecord | None:
        said = _said(record.attributes.get("prompt"))
        if not said:
            return None
        attributes: Attributes = {
            gen_ai.OPERATION_NAME: gen_ai.OP_INVOKE_AGENT,
            gen_ai.AGENT_NAME: harness,
            lore.CALL_CLASS: "main",
            **said,
        }
        return _span(record, harness, attributes, f"prompt-{_names(record.attributes, '')}")

    return make


def _said(prompt: AttributeValue | None) -> Attributes:
    """What a person typed, where the agent tells it (`[REDACTED]`, `<REDACTED>` where not)."""
    if not isinstance(prompt, str) or not prompt or "REDACTED" in prompt[:12]:
        return {}
    message = [{"role": "user", "parts": [{"type": "text", "content": prompt}]}]
    typed = [{"channel": "user_message", "text": prompt}]
    return {gen_ai.INPUT_MESSAGES: orjson.dumps(message).decode(), lore.HUMAN_TEXT: orjson.dumps(typed).decode()}


def _span(record: LogRecord, harness: str, attributes: Attributes, identity: str, error: str = "") -> SpanRecord:
    """A span that ends when the event was written and began `duration_ms` before."""
    a = record.attributes
    session = str(
        a.get("session.id") or a.get("conversation.id") or record.resource.get("session.id") or "unknown session"
    )
    lasted_ns = max(number(a.get("duration_ms")) or 0, 0) * 1_000_000
    operation = str(attributes[gen_ai.OPERATION_NAME])
    turn = str(a.get("prompt.id") or a.get("prompt_id") or "")
    what = str(attributes.get(gen_ai.REQUEST_MODEL) or attributes.get(gen_ai.TOOL_NAME) or harness)
    return SpanRecord(
        trace_id=_id(16, harness, session, turn),
        span_id=_id(8, harness, session, operation, identity or str(record.time_ns)),
        parent_span_id=None,
        name=f"{operation} {what}",
        kind=SpanKind.CLIENT if operation in (gen_ai.OP_CHAT, gen_ai.OP_GENERATE_CONTENT) else SpanKind.INTERNAL,
        start_time_ns=max(record.time_ns - lasted_ns, 0),
        end_time_ns=record.time_ns,
        attributes={
            lore.SESSION_ID: session,
            gen_ai.CONVERSATION_ID: session,
            lore.HARNESS: harness,
            lore.SOURCE: lore.AGENT_TELEMETRY,
            lore.DERIVED: True,
            **attributes,
        },
        resource=record.resource,
        scope_name=record.scope_name,
        scope_version=record.scope_version,
        status_code=StatusCode.ERROR if error else StatusCode.UNSET,
        status_message=error[:500],
        schema_url=record.scope_schema_url,
    )


def _names(a: Mapping[str, AttributeValue], key: str) -> str:
    """What names an event within its session: its request id, else its number or its time."""
    return str(a.get(key) or a.get("event.sequence") or a.get("event.timestamp") or "")


def _call_id(a: Mapping[str, AttributeValue]) -> str:
    return str(a.get("tool_use_id") or a.get("call_id") or a.get("gen_ai.tool.call.id") or "")


def _with_command(arguments: Any) -> Any:
    """Claude Code tells a shell command as `bash_command` or `full_command`."""
    if isinstance(arguments, dict):
        command = arguments.get("full_command") or arguments.get("bash_command")
        if command and "command" not in arguments:
            return {**arguments, "command": command}
    return arguments


def _put(out: Attributes, values: Mapping[str, AttributeValue | None]) -> None:
    out.update({key: value for key, value in values.items() if value is not None and value != ""})


def _id(size: int, *words: str) -> bytes:
    digest = hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=size, person=b"agent-telemetry")
    return digest.digest()


_EVENTS: dict[str, Callable[[LogRecord], SpanRecord | None]] = {
    "claude_code.api_request": _claude_api_request,
    "claude_code.api_error": _claude_api_error,
    "claude_code.tool_result": _tool_event(CLAUDE_CODE, "tool_name", "tool_parameters", "tool_output"),
    "claude_code.user_prompt": _prompt_event(CLAUDE_CODE),
    "codex.sse_event": _codex_sse,
    "codex.tool_result": _tool_event(CODEX, "tool_name", "arguments", "output"),
    "codex.user_prompt": _prompt_event(CODEX),
    "gemini_cli.api_response": _gemini_response,
    "gemini_cli.api_error": _gemini_response,
    "gemini_cli.tool_call": _tool_event(GEMINI_CLI, "function_name", "function_args", "content"),
    "gemini_cli.user_prompt": _prompt_event(GEMINI_CLI),
}

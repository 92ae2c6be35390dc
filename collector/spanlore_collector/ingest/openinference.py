"""Spans of OpenInference under the names of OpenTelemetry's GenAI conventions. Pure.

OpenInference (Arize Phoenix's instrumentations, and what is built on them) has names of its own for the same facts:
`openinference.span.kind` LLM, TOOL and AGENT are a model call, a tool call and a turn, messages are attributes with
indexes (`llm.input_messages.0.message.content`). The conventions' attributes are put beside the sender's numbers and
names, and in place of its content. What a span has under the conventions' names already stands.

Source: OpenInference, `spec/semantic_conventions.md`; openinference-instrumentation-openai 0.1.66, -anthropic 3.1.0 and
-langchain 0.1.80, as they send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from spanlore.genai.jsontext import parsed
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanRecord
from spanlore_collector.ingest.langchain import arguments_of, result_of

KIND = "openinference.span.kind"
_OPERATIONS = {"LLM": gen_ai.OP_CHAT, "TOOL": gen_ai.OP_EXECUTE_TOOL, "AGENT": gen_ai.OP_INVOKE_AGENT}
_NAMES = {
    "llm.model_name": gen_ai.REQUEST_MODEL,
    "llm.finish_reason": gen_ai.RESPONSE_FINISH_REASONS,
    "llm.token_count.prompt": gen_ai.USAGE_INPUT_TOKENS,
    "llm.token_count.completion": gen_ai.USAGE_OUTPUT_TOKENS,
    "llm.token_count.prompt_details.cache_read": gen_ai.USAGE_CACHE_READ_INPUT_TOKENS,
    "llm.token_count.prompt_details.cache_write": gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS,
    "llm.token_count.completion_details.reasoning": gen_ai.USAGE_REASONING_OUTPUT_TOKENS,
    "llm.cost.total": lore.COST_USD,
    "tool.name": gen_ai.TOOL_NAME,
    "tool.id": gen_ai.TOOL_CALL_ID,
    "agent.name": gen_ai.AGENT_NAME,
}
_MESSAGE = re.compile(r"llm\.(input|output)_messages\.(\d{1,6})\.message\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d{1,6})\.tool_call\.(id|function\.name|function\.arguments)")
_TEXT = re.compile(r"contents\.(\d{1,6})\.message_content\.text")
_TOOL = re.compile(r"llm\.tools\.(\d{1,6})\.tool\.json_schema")
_ANSWERS = "tool_call_id"
_WHOLE = {
    "input.value": (gen_ai.INPUT_MESSAGES, gen_ai.TOOL_CALL_ARGUMENTS),
    "output.value": (gen_ai.OUTPUT_MESSAGES, gen_ai.TOOL_CALL_RESULT),
}

type Attributes = dict[str, AttributeValue]


def conventional(record: SpanRecord) -> SpanRecord:
    """The span with the conventions' attributes; one that is not OpenInference's, or of another kind, as it is."""
    sent = record.attributes
    operation = _OPERATIONS.get(str(sent.get(KIND, "")))
    if operation is None:
        return record
    added: Attributes = {gen_ai.OPERATION_NAME: operation}
    added.update({new: sent[old] for old, new in _NAMES.items() if old in sent})
    provider = sent.get("llm.provider") or sent.get("llm.system")
    if provider:
        added[gen_ai.PROVIDER_NAME] = provider
    if operation == gen_ai.OP_CHAT:
        added.update(_of_model(sent))
    elif operation == gen_ai.OP_EXECUTE_TOOL:
        added.update(_of_tool(record))
    else:
        added.update(_of_agent(sent))
    # Where it is told in parts, the whole request and answer stand in `input.value` and `output.value` once more.
    whole = {key for key, told in _WHOLE.items() if any(name in added for name in told)}
    kept = {key: value for key, value in sent.items() if key not in whole and not _is_part(key)}
    return replace(record, attributes={**added, **kept})


def _is_part(key: str) -> bool:
    return bool(_MESSAGE.fullmatch(key) or _TOOL.fullmatch(key))


def _of_model(sent: Mapping[str, AttributeValue]) -> Attributes:
    sides: dict[str, dict[int, Attributes]] = {"input": {}, "output": {}}
    tools: dict[int, Any] = {}
    for key, value in sent.items():
        if found := _MESSAGE.fullmatch(key):
            sides[found[1]].setdefault(int(found[2]), {})[found[3]] = value
        elif found := _TOOL.fullmatch(key):
            tools[int(found[1])] = _definition(value)
    out: Attributes = {}
    for side, name in (("input", gen_ai.INPUT_MESSAGES), ("output", gen_ai.OUTPUT_MESSAGES)):
        messages = [_message(fields) for _, fields in sorted(sides[side].items())]
        if messages:
            out[name] = orjson.dumps(messages).decode()
    if tools:
        out[gen_ai.TOOL_DEFINITIONS] = orjson.dumps([tool for _, tool in sorted(tools.items())]).decode()
    return out


def _message(fields: Mapping[str, AttributeValue]) -> dict[str, Any]:
    texts = {int(found[1]): str(value) for key, value in fields.items() if (found := _TEXT.fullmatch(key))}
    said = [text for _, text in sorted(texts.items())] or [str(fields[key]) for key in ("content",) if key in fields]
    answers = str(fields.get(_ANSWERS, ""))
    if answers:
        parts: list[dict[str, Any]] = [{"type": "tool_call_response", "id": answers, "response": "\n".join(said)}]
    else:
        parts = [{"type": "text", "content": text} for text in said if text]
    calls: dict[int, dict[str, AttributeValue]] = {}
    for key, value in fields.items():
        if found := _CALL.fullmatch(key):
            calls.setdefault(int(found[1]), {})[found[2].removeprefix("function.")] = value
    for _, call in sorted(calls.items()):
        arguments = call.get("arguments", "")
        parts.append(
            {
                "type": "tool_call",
                "id": str(call.get("id", "")),
                "name": str(call.get("name", "")),
                "arguments": parsed(arguments),
            }
        )
    return {"role": str(fields.get("role", "user")), "parts": parts}


def _of_tool(record: SpanRecord) -> Attributes:
    sent = record.attributes
    out: Attributes = {} if "tool.name" in sent else {gen_ai.TOOL_NAME: record.name}
    given, result = sent.get("input.value"), sent.get("output.value")
    if isinstance(given, str):
        out[gen_ai.TOOL_CALL_ARGUMENTS] = arguments_of(given)
    if isinstance(result, str):
        out[gen_ai.TOOL_CALL_RESULT], call = result_of(result)
        if call:
            out[gen_ai.TOOL_CALL_ID] = call
    return out


def _of_agent(sent: Mapping[str, AttributeValue]) -> Attributes:
    out: Attributes = {}
    sides = (("input.value", gen_ai.INPUT_MESSAGES, "user"), ("output.value", gen_ai.OUTPUT_MESSAGES, "assistant"))
    for key, name, role in sides:
        value = sent.get(key)
        if isinstance(value, str) and value:
            message = {"role": role, "parts": [{"type": "text", "content": value}]}
            out[name] = orjson.dumps([message]).decode()
    return out


def _definition(value: AttributeValue) -> Any:
    """A tool as the conventions tell it: OpenAI wraps it once more."""
    tool = parsed(value)
    if not isinstance(tool, dict):
        return {"name": "", "description": str(value)}
    return tool["function"] if isinstance(tool.get("function"), dict) else tool

"""How LangChain's callbacks write tools down: what their instrumentations pass on as it is. Pure.

Arguments come as Python's text (`{'command': 'ls'}`), results as a serialized message. Traceloop's instrumentation has
both inside of objects of its own, and the session in the metadata that a caller gave.

Source: what opentelemetry-instrumentation-langchain 0.62 and openinference-instrumentation-langchain 0.1.80 send, with
langchain-core 1.8.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import orjson

from spanlore.genai.jsontext import parsed
from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanRecord

_MOST_LITERAL = 65_536
_PROPERTIES = "traceloop.association.properties."
_SESSIONS = tuple(_PROPERTIES + name for name in ("session_id", "thread_id", "conversation_id"))


def unwrapped(record: SpanRecord) -> SpanRecord:
    """A span of Traceloop's with its session under the conventions' name, and of a tool what it was given and gave."""
    sent = record.attributes
    added: dict[str, AttributeValue] = {}
    session = next((str(sent[name]) for name in _SESSIONS if sent.get(name)), "")
    if session and not (sent.get(gen_ai.CONVERSATION_ID) or sent.get("session.id")):
        added[gen_ai.CONVERSATION_ID] = session
    given = parsed(sent.get(gen_ai.TOOL_CALL_ARGUMENTS))
    if isinstance(given, dict) and isinstance(given.get("input_str"), str):
        added[gen_ai.TOOL_CALL_ARGUMENTS] = arguments_of(given["input_str"])
    result = parsed(sent.get(gen_ai.TOOL_CALL_RESULT))
    if isinstance(result, dict) and isinstance(result.get("output"), (dict, str)):
        text, call = result_of(result["output"])
        added[gen_ai.TOOL_CALL_RESULT] = text
        if call and gen_ai.TOOL_CALL_ID not in sent:
            added[gen_ai.TOOL_CALL_ID] = call
    return replace(record, attributes={**sent, **added}) if added else record


def arguments_of(text: str) -> str:
    """Arguments that stand there as Python writes them, as JSON; anything else as it came."""
    if not text.startswith("{") or len(text) > _MOST_LITERAL or isinstance(parsed(text), dict):
        return text
    try:
        return orjson.dumps(ast.literal_eval(text)).decode()
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def result_of(value: Any) -> tuple[str, str]:
    """(text, id of the call) of a tool's result: a message, serialized or not, or whatever else it is."""
    message = parsed(value)
    if isinstance(message, dict):
        message = next((message[key] for key in ("kwargs", "data") if isinstance(message.get(key), dict)), message)
    if isinstance(message, dict) and isinstance(message.get("content"), str):
        return message["content"], str(message.get("tool_call_id") or "")
    return value if isinstance(value, str) else orjson.dumps(value).decode(), ""

"""Content of older GenAI spans, under the names of today. Pure.

Three generations are on the wire at once (observability research, 1.1-1.2): indexed attributes
(`gen_ai.prompt.0.content`, OpenLLMetry up to 0.4x), one span event a message (`gen_ai.user.message`, `gen_ai.choice`,
conventions 1.28-1.36; before them `gen_ai.content.prompt` and `gen_ai.content.completion`), and one JSON attribute
(`gen_ai.input.messages`). The first two are given the third's attributes beside their own. Numbers and provider names
need nothing here: `store.rows` knows their older names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanEvent, SpanRecord

_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(.+)")
_CALL = re.compile(r"tool_calls\.(\d{1,6})\.(id|name|arguments)")
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENTS = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}

type Attributes = dict[str, AttributeValue]
type Message = dict[str, Any]


def renewed(record: SpanRecord) -> SpanRecord:
    """The span with `gen_ai.input.messages` and `gen_ai.output.messages` where it has content under older names."""
    attributes = record.attributes
    if gen_ai.INPUT_MESSAGES in attributes or gen_ai.OUTPUT_MESSAGES in attributes:
        return record
    indexed = [key for key in attributes if key.startswith(("gen_ai.prompt.", "gen_ai.completion."))]
    if indexed:
        put = {gen_ai.INPUT_MESSAGES: _indexed(attributes, "prompt")}
        put[gen_ai.OUTPUT_MESSAGES] = _indexed(attributes, "completion")
    elif any(
        event.name in _ROLES or event.name == "gen_ai.choice" or event.name in _CONTENTS for event in record.events
    ):
        put = _told(record.events)
    else:
        return record
    kept = {key: value for key, value in attributes.items() if not _INDEXED.fullmatch(key)}
    events = tuple(
        event
        for event in record.events
        if event.name not in _ROLES and event.name not in _CONTENTS and event.name != "gen_ai.choice"
    )
    added = {key: orjson.dumps(messages).decode() for key, messages in put.items() if messages}
    return replace(record, attributes={**kept, **added}, events=events)


def _indexed(attributes: Mapping[str, AttributeValue], side: str) -> list[Message]:
    fields: dict[int, dict[str, AttributeValue]] = {}
    for key, value in attributes.items():
        found = _INDEXED.fullmatch(key)
        if found and found[1] == side:
            fields.setdefault(int(found[2]), {})[found[3]] = value
    messages = []
    for _, named in sorted(fields.items()):
        calls: dict[int, dict[str, AttributeValue]] = {}
        for key, value in named.items():
            if found := _CALL.fullmatch(key):
                calls.setdefault(int(found[1]), {})[found[2]] = value
        role = str(named.get("role", "user" if side == "prompt" else "assistant"))
        messages.append(
            _message(
                role,
                named.get("content"),
                [call for _, call in sorted(calls.items())],
                str(named.get("tool_call_id", "")),
                named.get("finish_reason"),
            )
        )
    return messages


def _told(events: Iterable[SpanEvent]) -> dict[str, list[Message]]:
    into: list[Message] = []
    out: list[Message] = []
    for event in events:
        body = _object(event.attributes.get("gen_ai.event.content")) or dict(event.attributes)
        if event.name in _ROLES:
            into.append(_of_body(_ROLES[event.name], body))
        elif event.name == "gen_ai.choice":
            said = _object(body.get("message")) or body
            out.append(_of_body("assistant", {**said, "finish_reason": body.get("finish_reason")}))
        elif event.name in _CONTENTS:
            side = into if event.name == "gen_ai.content.prompt" else out
            text = event.attributes.get(_CONTENTS[event.name], "")
            items = _parsed(text)
            default = "user" if side is into else "assistant"
            for item in items if isinstance(items, list) else [{"content": text}]:
                if isinstance(item, dict):
                    side.append(_of_body(default, item))
    return {gen_ai.INPUT_MESSAGES: into, gen_ai.OUTPUT_MESSAGES: out}


def _of_body(role: str, body: Mapping[str, Any]) -> Message:
    calls = body.get("tool_calls")
    calls = _parsed(calls) if isinstance(calls, str) else calls
    named = [
        {"id": call.get("id"), **(call["function"] if isinstance(call.get("function"), dict) else call)}
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict)
    ]
    return _message(
        str(body.get("role") or role),
        body.get("content"),
        named,
        str(body.get("id") or "") if role == "tool" else "",
        body.get("finish_reason"),
    )


def _message(role: str, content: Any, calls: Iterable[Mapping[str, Any]], answers: str, finish: Any) -> Message:
    text = content if isinstance(content, str) else "" if content is None else orjson.dumps(content).decode()
    parts: list[dict[str, Any]] = []
    if role == "tool" or answers:
        parts.append({"type": "tool_call_response", "id": answers, "response": text})
    elif text:
        parts.append({"type": "text", "content": text})
    for call in calls:
        arguments = call.get("arguments")
        parsed = _parsed(arguments)
        parts.append(
            {
                "type": "tool_call",
                "id": str(call.get("id") or ""),
                "name": str(call.get("name") or ""),
                "arguments": arguments if parsed is None else parsed,
            }
        )
    message: Message = {"role": role, "parts": parts}
    if finish:
        message["finish_reason"] = str(finish)
    return message


def _object(value: Any) -> dict[str, Any]:
    found = _parsed(value)
    return found if isinstance(found, dict) else {}


def _parsed(value: Any) -> Any:
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        return None

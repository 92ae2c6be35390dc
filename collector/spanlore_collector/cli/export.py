"""One session as a file for others: Markdown to read, OTLP/JSON for any tracing tool. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from spanlore.figures import cost, count, duration
from spanlore.genai.messages import part_from_json, part_to_json
from spanlore.semconv import gen_ai
from spanlore_collector.cli.rendering import local_time
from spanlore_collector.store.views import Row

KINDS: Final = {"Internal": 1, "Server": 2, "Client": 3, "Producer": 4, "Consumer": 5}
STATUS: Final = {"Ok": 1, "Error": 2}
_LISTS: Final = {"input": gen_ai.INPUT_MESSAGES, "output": gen_ai.OUTPUT_MESSAGES}
_TEXTS: Final = {"arguments": gen_ai.TOOL_CALL_ARGUMENTS, "result": gen_ai.TOOL_CALL_RESULT}
_INTEGER: Final = re.compile(r"-?\d{1,18}")
_COUNTED: Final = re.compile(
    r"(_tokens|_ns|_bytes|\.index|\.attempt|\.port|_code|\.count|_from|\.redactions|\.turns|\.inferences|\.failures)$"
)
"""Keys whose values are whole numbers; the store keeps all of them as text."""


def markdown(session: Row, parts: Sequence[Row], outcomes: Mapping[str, Row]) -> str:
    """The conversation; `outcomes` are the tool calls by span id."""
    return "\n".join([*_head(session), *(line for part in parts for line in _part(part, outcomes))]) + "\n"


def _head(session: Row) -> Iterator[str]:
    yield f"# {' '.join(str(session['title'] or session['session_id']).split())}"
    yield ""
    spent = int(session["end_time_ns"]) - int(session["start_time_ns"])
    facts = {
        "session": session["session_id"],
        "agent": session["harness"],
        "repository": f"{session['repository'] or '–'} {session['branch']}".strip(),
        "started": f"{local_time(session['start_time_ns']):%Y-%m-%d %H:%M:%S %z}",
        "took": duration(spent),
        "tool calls": f"{session['tool_calls']}, {session['failures']} failed",
        "tokens": f"{count(session['input_tokens'])} in, {count(session['output_tokens'])} out",
        "cost": cost(session["cost_usd"]),
    }
    yield from (f"- {name}: {value}" for name, value in facts.items())


def _part(part: Row, outcomes: Mapping[str, Row]) -> Iterator[str]:
    direction, body = part["direction"], str(part["body"] or "")
    if part["type"] in ("tool_call", "tool_call_response") or direction == "system" or not body.strip():
        return
    clock = f"{local_time(part['time_ns']):%H:%M:%S}"
    if direction == "arguments":
        yield from ("", f"### {part['name'] or 'tool'} · {clock}", "", *_fenced(body, "json"))
    elif direction == "result":
        row = outcomes.get(part["span_id"])
        yield from ("", f"Result{': ' + row['outcome'] if row else ''}", "", *_fenced(body, ""))
    else:
        who = {"user": "User", "assistant": "Assistant"}.get(part["role"], str(part["role"]).capitalize())
        yield from ("", f"## {who}{' (thinking)' if part['type'] == 'reasoning' else ''} · {clock}", "", body.rstrip())


def _fenced(body: str, language: str) -> list[str]:
    """A fence longer than any in the text."""
    longest = max((len(found) for found in re.findall(r"`{3,}", body)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}", body.rstrip(), fence]


def otlp(spans: Iterable[Row], parts: Iterable[Row]) -> dict[str, Any]:
    """An `ExportTraceServiceRequest` in OTLP/JSON, content attributes put back."""
    content = _contents(parts)
    grouped: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in spans:
        key = (json.dumps(row["ResourceAttributes"], sort_keys=True), row["ScopeName"], row["ScopeVersion"])
        attributes = {**row["SpanAttributes"], **content.get(row["SpanId"], {})}
        grouped.setdefault(key, []).append(_span(row, attributes))
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(json.loads(resource))},
                "scopeSpans": [{"scope": {"name": name, "version": version}, "spans": found}],
                "schemaUrl": gen_ai.SCHEMA_URL,
            }
            for (resource, name, version), found in grouped.items()
        ]
    }


def _span(row: Row, attributes: Mapping[str, str]) -> dict[str, Any]:
    start = int(row["start_ns"])
    out: dict[str, Any] = {
        "traceId": row["TraceId"],
        "spanId": row["SpanId"],
        "name": row["SpanName"],
        "kind": KINDS.get(row["SpanKind"], 0),
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(row["Duration"])),
        "attributes": _attributes(attributes),
    }
    if row["ParentSpanId"]:
        out["parentSpanId"] = row["ParentSpanId"]
    if row["TraceState"]:
        out["traceState"] = row["TraceState"]
    if row["StatusCode"] in STATUS:
        out["status"] = {"code": STATUS[row["StatusCode"]], "message": row["StatusMessage"]}
    return out


def _attributes(attributes: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(key, value)} for key, value in sorted(attributes.items())]


def _value(key: str, value: str) -> dict[str, Any]:
    if value in ("true", "false"):
        return {"boolValue": value == "true"}
    if _COUNTED.search(key) and _INTEGER.fullmatch(value):
        return {"intValue": value}
    if key.endswith(("usd", "time_to_first_chunk")) and re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", value):
        return {"doubleValue": float(value)}
    if value.startswith('["') and key not in gen_ai.CONTENT_KEYS:
        words = json.loads(value)
        return {"arrayValue": {"values": [{"stringValue": word} for word in words]}}
    return {"stringValue": value}


def _contents(parts: Iterable[Row]) -> dict[str, dict[str, str]]:
    """Span id → content attributes, put together from the parts."""
    out: dict[str, dict[str, str]] = {}
    lists: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for part in parts:
        span, direction, body = part["span_id"], part["direction"], str(part["body"] or "")
        if direction in _TEXTS:
            out.setdefault(span, {})[_TEXTS[direction]] = body
        elif direction in _LISTS and part["type"] != "raw":
            messages = lists.setdefault((span, _LISTS[direction]), {})
            message = messages.setdefault(int(part["message_index"]), {"role": part["role"], "parts": []})
            message["parts"].append(_part_json(part, body))
            if part["finish_reason"]:
                message["finish_reason"] = part["finish_reason"]
    for (span, key), messages in lists.items():
        out.setdefault(span, {})[key] = json.dumps([messages[index] for index in sorted(messages)], ensure_ascii=False)
    return out


def _part_json(part: Row, body: str) -> dict[str, Any]:
    match part["type"]:
        case "text" | "reasoning":
            return {"type": part["type"], "content": body}
        case "tool_call":
            return {"type": "tool_call", "id": part["tool_call_id"], "name": part["name"], "arguments": _parsed(body)}
        case "tool_call_response":
            return {"type": "tool_call_response", "id": part["tool_call_id"], "response": body}
        case _:
            found = _parsed(body)
            return part_to_json(part_from_json(found)) if isinstance(found, dict) else {"type": part["type"]}


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body

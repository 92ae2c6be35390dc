"""Messages of a Bedrock event stream as events of the Messages API's stream."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore_proxy.wire.bedrock.converse import MALFORMED, STOP_REASONS, messages_usage
from spanlore_proxy.wire.bedrock.event_stream import EventMessage

_PADDING: Final = "p"
"""Random text that hides the length of what is said."""


class EventTranslation:
    """One stream. Remembers the provider's own stop reason, which the Messages API may not know."""

    def __init__(self) -> None:
        self.stop_reason = ""
        self._has_started = False

    def translate(self, message: EventMessage) -> list[dict[str, Any]]:
        """The events that say what the message says."""
        payload = _loads(message.payload)
        if message.headers.get(":message-type") in ("exception", "error"):
            return [_error(message.headers, payload)]
        name = message.headers.get(":event-type", "")
        if name != "chunk":
            return self._converse(name, payload)
        inner = _loads(_unpacked(payload))
        if isinstance(inner.get("type"), str):  # Claude: an event of the Messages API itself
            return [inner]
        if "outputText" in inner:
            return self._titan(inner)
        return [event for key, value in inner.items() for event in self._converse(key, value)]

    def _converse(self, name: str, value: Any) -> list[dict[str, Any]]:
        value = value if isinstance(value, dict) else {}
        index = value.get("contentBlockIndex")
        match name:
            case "messageStart":
                return self._start()
            case "contentBlockStart":
                return [*self._start(), {"type": "content_block_start", "index": index, "content_block": _begun(value)}]
            case "contentBlockDelta":
                events = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(value)]
                return [*self._start(), *events]
            case "contentBlockStop":
                return [{"type": "content_block_stop", "index": index}]
            case "messageStop":
                return [self._stop(value.get("stopReason"))]
            case "metadata":
                usage = messages_usage(value.get("usage"))
                return [{"type": "message_delta", "delta": {}, "usage": usage}, {"type": "message_stop"}]
            case "amazon-bedrock-invocationMetrics" | "amazon-bedrock-trace" | "amazon-bedrock-guardrailAction":
                return []
        return [{"type": f"bedrock:{name}"}]

    def _start(self) -> list[dict[str, Any]]:
        if self._has_started:
            return []
        self._has_started = True
        return [{"type": "message_start", "message": {"role": "assistant", "content": []}}]

    def _stop(self, reason: Any) -> dict[str, Any]:
        self.stop_reason = reason if isinstance(reason, str) else ""
        theirs = "end_turn" if self.stop_reason in MALFORMED else STOP_REASONS.get(self.stop_reason, self.stop_reason)
        return {"type": "message_delta", "delta": {"stop_reason": theirs or None}}

    def _titan(self, chunk: dict[str, Any]) -> list[dict[str, Any]]:
        delta = {"type": "text_delta", "text": chunk.get("outputText")}
        events = [*self._start(), {"type": "content_block_delta", "index": 0, "delta": delta}]
        metrics = chunk.get("amazon-bedrock-invocationMetrics")
        reason = chunk.get("completionReason")
        is_blocked = chunk.get("amazon-bedrock-guardrailAction") == "INTERVENED"
        if reason or metrics or is_blocked:
            stop = "refusal" if is_blocked else "max_tokens" if reason == "LENGTH" else "end_turn"
            given = {"input_tokens": "inputTextTokenCount", "output_tokens": "totalOutputTextTokenCount"}
            usage = {name: count for name, key in given.items() if (count := _count(chunk.get(key))) is not None}
            events += [
                {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
                {"type": "message_stop"},
            ]
        return events


def _begun(value: dict[str, Any]) -> dict[str, Any]:
    start = value.get("start")
    tool = start.get("toolUse") if isinstance(start, dict) else None
    if not isinstance(tool, dict):
        return {"type": "text", "text": ""}
    return {"type": tool.get("type") or "tool_use", "id": tool.get("toolUseId"), "name": tool.get("name"), "input": {}}


def _deltas(value: dict[str, Any]) -> list[dict[str, Any]]:
    delta = value.get("delta")
    out: list[dict[str, Any]] = []
    for key, said in delta.items() if isinstance(delta, dict) else ():
        inner = said if isinstance(said, dict) else {}
        match key:
            case "text":
                out.append({"type": "text_delta", "text": said})
            case "toolUse":
                out.append({"type": "input_json_delta", "partial_json": inner.get("input")})
            case "reasoningContent":
                out += _reasoning(inner)
            case "citation":
                out.append({"type": "citations_delta", "citation": said})
            case _:
                out.append({"type": f"bedrock:{key}"})
    return out


def _reasoning(inner: dict[str, Any]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    if "text" in inner:
        out.append({"type": "thinking_delta", "thinking": inner["text"]})
    if "signature" in inner:
        out.append({"type": "signature_delta", "signature": inner["signature"]})
    return out


def _error(headers: dict[str, str], payload: dict[str, Any]) -> dict[str, Any]:
    name = headers.get(":exception-type") or headers.get(":error-code") or "error"
    message = payload.get("message") or headers.get(":error-message") or ""
    return {"type": "error", "error": {"type": name, "message": message}}


def _unpacked(payload: dict[str, Any]) -> bytes:
    data = payload.get("bytes")
    try:
        return base64.b64decode(data) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""


def _loads(data: bytes) -> dict[str, Any]:
    try:
        value = jsontext.loads(data)
    except ValueError:
        return {}
    return {key: item for key, item in value.items() if key != _PADDING} if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

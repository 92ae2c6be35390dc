"""Google's Interactions API (`/v1beta/interactions`) in the terms of generateContent.

An interaction is a list of steps: `thought`, `model_output`, `function_call`, and the provider's own tools as
`…_call` and `…_result`. A stream sends step.start, step.delta, step.stop for each, between interaction.created and
interaction.completed. A request gives `input` (a text, contents, or steps) and may name a `previous_interaction_id`
in place of a history.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore_proxy.wire.gemini.fields import list_field, object_field, string_field

EVENTS: Final = frozenset(
    {
        "interaction.created",
        "interaction.status_update",
        "interaction.completed",
        "step.start",
        "step.delta",
        "step.stop",
        "error",
        "done",
    }
)
_USAGE: Final = {
    "total_input_tokens": "promptTokenCount",
    "total_output_tokens": "candidatesTokenCount",
    "total_thought_tokens": "thoughtsTokenCount",
    "total_cached_tokens": "cachedContentTokenCount",
    "total_tool_use_tokens": "toolUsePromptTokenCount",
}
_STATUS: Final = {"completed": "STOP", "requires_action": "STOP", "incomplete": "MAX_TOKENS", "failed": "OTHER"}
_TEXT_DELTAS: Final = frozenset({"text", "thought_summary"})
_SILENT_DELTAS: Final = frozenset({"thought_signature", "text_annotation_delta", "text_annotation"})


def is_interaction(chunk: dict[str, Any]) -> bool:
    """Whether a chunk is of this API: an event of its stream, or an interaction itself."""
    return "event_type" in chunk or chunk.get("object") == "interaction"


class InteractionStream:
    """Turns events into chunks of a generateContent stream."""

    def __init__(self) -> None:
        self._steps: dict[Any, dict[str, Any]] = {}
        self._arguments: dict[Any, list[str]] = {}
        self.unknown: list[str] = []

    def chunk(self, event: dict[str, Any]) -> dict[str, Any]:
        """The generateContent chunk that says what the event says; {} where it adds nothing."""
        type_, index = event.get("event_type"), event.get("index")
        if not isinstance(type_, str):
            return self._whole(event)
        if type_ not in EVENTS:
            self.unknown.append(f"event:{type_}")
        if "interaction" in event:
            return self._status(object_field(event, "interaction"))
        if type_ == "step.start":
            self._steps[_key(index)] = object_field(event, "step")
        elif type_ == "step.delta":
            return self._delta(_key(index), object_field(event, "delta"))
        elif type_ == "step.stop":
            return self._stop(_key(index))
        return {}

    def _whole(self, interaction: dict[str, Any]) -> dict[str, Any]:
        parts = [part for step in list_field(interaction, "steps") for part in step_parts(step)]
        return {**self._status(interaction), **_candidate(parts, _STATUS.get(string_field(interaction, "status")))}

    def _status(self, interaction: dict[str, Any]) -> dict[str, Any]:
        usage = object_field(interaction, "usage")
        chunk: dict[str, Any] = {
            "responseId": string_field(interaction, "id"),
            "modelVersion": string_field(interaction, "model"),
            "usageMetadata": {ours: usage[name] for name, ours in _USAGE.items() if name in usage},
        }
        reason = _STATUS.get(string_field(interaction, "status"))
        return {**chunk, **_candidate([], reason)} if reason else chunk

    def _delta(self, key: Any, delta: dict[str, Any]) -> dict[str, Any]:
        type_ = string_field(delta, "type")
        if type_ == "arguments_delta":
            self._arguments.setdefault(key, []).append(string_field(delta, "arguments"))
        elif type_ in _TEXT_DELTAS:
            content = delta.get("content")
            text = string_field(delta, "text") or string_field(content, "text")
            is_thought = type_ == "thought_summary" or string_field(self._steps.get(key), "type") == "thought"
            return _candidate([{"text": text, "thought": True} if is_thought else {"text": text}])
        elif type_ not in _SILENT_DELTAS:
            step = self._steps.get(key)
            if step is None or type_ != step.get("type"):
                self.unknown.append(f"delta:{type_}")
            self._steps[key] = {**(step or {}), **delta}
        return {}

    def _stop(self, key: Any) -> dict[str, Any]:
        step = self._steps.pop(key, {})
        text = "".join(self._arguments.pop(key, ()))
        if text:
            step = {**step, "arguments": _json(text)}
        # What of a step is text came with its deltas.
        return _candidate(step_parts(step)) if step.get("type") not in ("model_output", "thought") else {}


def step_parts(step: Any) -> list[dict[str, Any]]:
    """A step as parts of a generateContent candidate; a request's contents are taken as well."""
    if isinstance(step, str):
        return [{"text": step}]
    type_ = string_field(step, "type")
    if type_ == "text":
        return [{"text": string_field(step, "text")}]
    if type_ in ("model_output", "user_input"):
        content = step.get("content")
        return [part for item in (content if isinstance(content, list) else [content]) for part in step_parts(item)]
    if type_ == "thought":
        texts = [string_field(item, "text") for item in list_field(step, "summary")]
        return [{"text": "".join(texts), "thought": True}] if texts else []
    if type_ == "function_call":
        call = {"name": string_field(step, "name"), "args": step.get("arguments"), "id": string_field(step, "id")}
        return [{"functionCall": call}]
    if type_ == "function_result":
        response = {"result": step.get("result")}
        return [{"functionResponse": {**_named(step), "response": response, "id": string_field(step, "call_id")}}]
    if type_.endswith("_call"):
        return [{"toolCall": {"toolType": type_.removesuffix("_call"), **step}}]
    if type_.endswith("_result"):
        return [{"toolResponse": step}]
    if isinstance(step, dict) and "data" in step:
        return [{"inlineData": {"mimeType": string_field(step, "mime_type"), "data": step["data"]}}]
    if isinstance(step, dict) and "uri" in step:
        return [{"fileData": {"mimeType": string_field(step, "mime_type"), "fileUri": step["uri"]}}]
    return [] if step is None else [{"interactionStep": step}]


def generate_request(document: dict[str, Any]) -> dict[str, Any]:
    """A request of this API as one of generateContent."""
    contents: list[dict[str, Any]] = []
    given = document.get("input")
    for item in given if isinstance(given, list) else [given]:
        turn = item if isinstance(item, dict) and "role" in item else None
        inner = turn.get("content") if turn is not None else item
        parts = [part for one in (inner if isinstance(inner, list) else [inner]) for part in step_parts(one)]
        role = string_field(turn, "role") or _role(item)
        if contents and contents[-1]["role"] == role and turn is None:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    tools = [tool for tool in list_field(document, "tools") if isinstance(tool, dict)]
    functions = [tool for tool in tools if tool.get("type") == "function"]
    others = [{str(tool.get("type")): tool} for tool in tools if tool.get("type") != "function"]
    return {
        "contents": contents,
        "systemInstruction": document.get("system_instruction"),
        "tools": [*([{"functionDeclarations": functions}] if functions else []), *others],
        "generationConfig": {
            **object_field(document, "generation_config"),
            "thinkingConfig": object_field(document, "generation_config"),
        },
    }


def _role(item: Any) -> str:
    type_ = string_field(item, "type")
    is_model = type_ in ("thought", "model_output", "function_call") or type_.endswith("_call")
    return "model" if is_model or (type_.endswith("_result") and type_ != "function_result") else "user"


def _named(step: dict[str, Any]) -> dict[str, Any]:
    return {"name": string_field(step, "name")} if "name" in step else {}


def _candidate(parts: list[dict[str, Any]], reason: str | None = None) -> dict[str, Any]:
    if not parts and reason is None:
        return {}
    return {"candidates": [{"index": 0, "content": {"parts": parts}, "finishReason": reason}]}


def _json(text: str) -> Any:
    try:
        return jsontext.loads(text)
    except ValueError:
        return text


def _key(index: Any) -> Any:
    return index if isinstance(index, int | str) else None

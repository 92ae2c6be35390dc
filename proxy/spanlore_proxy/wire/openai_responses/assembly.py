"""A streamed answer's items put together again: output_item.added, deltas, output_item.done.

Deltas are only needed where the end is missing: `output_item.done` brings the whole item, `response.completed` all of
them (but for ChatGPT's backend, whose list is empty). Items are told by `output_index`; their ids may change between
events (seen with Copilot).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanlore_proxy.wire.openai_chat.parts import string

_DELTAS: Final = {
    "response.output_text.delta": ("content", "content_index", "output_text", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "reasoning_text", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "summary_text", "text"),
    "response.reasoning_summary.delta": ("summary", "summary_index", "summary_text", "text"),
    # Spoken answers, by the names of the Realtime API, old and new: what was said is kept, the sound is not.
    "response.output_audio_transcript.delta": ("content", "content_index", "output_audio", "transcript"),
    "response.audio_transcript.delta": ("content", "content_index", "output_audio", "transcript"),
}
"""Event → the item's list, the event's index into it, type of the part, key of its text."""
_FIELDS: Final = {
    "response.function_call_arguments.delta": "arguments",
    "response.mcp_call_arguments.delta": "arguments",
    "response.mcp_call.arguments_delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.code_interpreter_call_code.delta": "code",
    "response.code_interpreter_call.code.delta": "code",
}
"""Event → the field of the item that it extends."""
_IMPLIED: Final[Mapping[str, dict[str, Any]]] = {
    "response.function_call_arguments.delta": {"type": "function_call", "call_id": "", "name": ""},
    "response.custom_tool_call_input.delta": {"type": "custom_tool_call", "call_id": "", "name": ""},
    "response.reasoning_text.delta": {"type": "reasoning"},
    "response.reasoning_summary_text.delta": {"type": "reasoning"},
}
DELTAS: Final = frozenset(
    {*_DELTAS, *_FIELDS, "response.shell_call_command.delta", "response.apply_patch_call_operation_diff.delta"}
)
"""Events that `ItemAssembly.add` takes."""


class ItemAssembly:
    """One item while it grows."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._done: dict[str, Any] | None = None
        self._parts: dict[tuple[str, int], tuple[str, str, list[str]]] = {}
        self._fields: dict[str, list[str]] = {}
        self._commands: dict[int, list[str]] = {}
        self._diff: list[str] = []

    def finish(self, item: dict[str, Any]) -> None:
        """The item came whole."""
        self._done = item

    def add(self, type_: str, event: dict[str, Any]) -> None:
        """Takes one of `DELTAS`."""
        delta = string(event.get("delta"))
        if type_ in _FIELDS:
            self._fields.setdefault(_FIELDS[type_], []).append(delta)
        elif type_ in _DELTAS:
            where, index_key, kind, key = _DELTAS[type_]
            index = event.get(index_key)
            place = (where, index if isinstance(index, int) else 0)
            self._parts.setdefault(place, (kind, key, []))[2].append(delta)
        elif type_ == "response.shell_call_command.delta":
            index = event.get("command_index")
            self._commands.setdefault(index if isinstance(index, int) else 0, []).append(delta)
        else:
            self._diff.append(delta)

    def item(self) -> dict[str, Any]:
        """The item as far as it has grown."""
        if self._done is not None:
            return self._done
        out = dict(self._start)
        for key, pieces in self._fields.items():
            out[key] = "".join(pieces)
        for where in {where for where, _ in self._parts}:
            places = sorted(place for place in self._parts if place[0] == where)
            out[where] = [_part(*self._parts[place]) for place in places]
        if self._commands:
            action = out.get("action")
            commands = ["".join(pieces) for _, pieces in sorted(self._commands.items())]
            out["action"] = {**(action if isinstance(action, dict) else {}), "commands": commands}
        if self._diff:
            operation = out.get("operation")
            out["operation"] = {**(operation if isinstance(operation, dict) else {}), "diff": "".join(self._diff)}
        return out


def _part(type_: str, key: str, pieces: list[str]) -> dict[str, Any]:
    return {"type": type_, key: "".join(pieces)}


def implied_start(type_: str) -> dict[str, Any]:
    """The start of an item that a delta belongs to when its own start was never seen."""
    return {**_IMPLIED.get(type_, {"type": "message", "role": "assistant"})}

"""A streamed message put together again: content_block_start, its deltas, content_block_stop.

The result is the message in the provider's own shape, as the official SDKs accumulate it and clients echo it.
"""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext

_TEXT_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "thinking"),
    "compaction_delta": ("content", "compaction"),
}
"""Delta type → the key it extends (the same in delta and block), and the block type it implies."""


class BlockAssembly:
    """One content block while it grows."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._texts: dict[str, list[str]] = {}
        self._json: list[str] = []
        self._citations: list[Any] = []

    def add(self, delta: dict[str, Any]) -> bool:
        """Takes one delta; False when its type is not known."""
        type_ = delta.get("type")
        if isinstance(type_, str) and type_ in _TEXT_DELTAS:
            key = _TEXT_DELTAS[type_][0]
            value = delta.get(key)
            if isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            return True
        if type_ == "input_json_delta":
            self._json.append(str(delta.get("partial_json") or ""))
            return True
        if type_ == "citations_delta":
            self._citations.append(delta.get("citation"))
            return True
        return False

    def block(self) -> dict[str, Any]:
        """The block as far as it has grown."""
        out = dict(self._start)
        for key, pieces in self._texts.items():
            before = out.get(key)
            out[key] = (before if isinstance(before, str) else "") + "".join(pieces)
        if self._citations:
            before = out.get("citations")
            out["citations"] = [*(before if isinstance(before, list) else []), *self._citations]
        text = "".join(self._json)
        if text:
            out["input"] = _input(text)
        return out


def implied_start(delta: dict[str, Any]) -> dict[str, Any]:
    """The start of a block that a delta belongs to when its own start was never seen."""
    type_ = delta.get("type")
    if type_ == "input_json_delta":
        return {"type": "tool_use", "id": "", "name": "", "input": {}}
    return {"type": _TEXT_DELTAS[type_][1] if isinstance(type_, str) and type_ in _TEXT_DELTAS else "text"}


def _input(text: str) -> Any:
    """Tool input as parsed JSON, or the raw string when it does not parse (cut, or the model erred)."""
    try:
        return jsontext.loads(text)
    except ValueError:
        return text

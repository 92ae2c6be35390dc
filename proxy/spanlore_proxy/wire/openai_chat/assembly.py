"""A streamed choice put together again from its deltas, as the official SDKs accumulate it and clients echo it."""

from __future__ import annotations

from typing import Any, Final

from spanlore_proxy.wire.openai_chat.parts import REASONING_KEYS, string

_TEXTS: Final = frozenset({"content", "refusal", *REASONING_KEYS})
"""Keys of a delta whose strings are put one after the other."""
_LISTS: Final = frozenset({"annotations", "images", "citations"})
"""Keys of a delta whose items are collected."""
KNOWN_KEYS: Final = frozenset(
    {*_TEXTS, *_LISTS, "role", "tool_calls", "function_call", "audio", "reasoning_details"}
    # said by some provider, of no meaning for the message
    | {"index", "name", "provider_specific_fields", "token_ids", "tool_call_id", "padding", "extra_content", "prefix",
       "reasoning_opaque", "phase", "thinking_blocks", "type", "executed_tools"}
)  # fmt: skip


class ChoiceAssembly:
    """One choice while it grows."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._parts: list[PartAssembly] = []
        self._lists: dict[str, list[Any]] = {}
        self._calls: list[CallAssembly] = []
        self._by_index: dict[int, CallAssembly] = {}
        self._legacy: CallAssembly | None = None
        self._audio: dict[str, Any] = {}
        self._audio_texts: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self.finish_reason: str | None = None

    def add(self, delta: dict[str, Any]) -> list[str]:
        """Takes one delta, or a whole message; the names of keys that are not known."""
        for key, value in delta.items():
            if key in _TEXTS and isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            elif key == "content" and isinstance(value, list | dict):
                self._add_parts(value if isinstance(value, list) else [value])
            elif key in _LISTS and isinstance(value, list):
                self._lists.setdefault(key, []).extend(value)
            elif key == "reasoning_details" and isinstance(value, list):
                self._details += value
            elif key == "tool_calls" and isinstance(value, list):
                for call in value:
                    if isinstance(call, dict):
                        self._add_call(call)
            elif key == "function_call" and isinstance(value, dict):
                self._legacy = self._legacy or CallAssembly({})
                self._legacy.add(value)
            elif key == "audio" and isinstance(value, dict):
                self._add_audio(value)
        return [key for key in delta if key not in KNOWN_KEYS]

    def message(self) -> dict[str, Any]:
        """The message as far as it has grown."""
        out: dict[str, Any] = {"role": "assistant", "content": self._content()}
        out.update({key: "".join(pieces) for key, pieces in self._texts.items() if key != "content" and any(pieces)})
        out.update(self._lists)
        if self._details:
            out["reasoning_details"] = self._details
        if self._audio or self._audio_texts:
            out["audio"] = {**self._audio, **{key: "".join(pieces) for key, pieces in self._audio_texts.items()}}
        if self._calls:
            out["tool_calls"] = [call.call() for call in self._calls]
        if self._legacy is not None:
            out["function_call"] = self._legacy.function()
        return out

    def _content(self) -> Any:
        text = "".join(self._texts.get("content", ()))
        if not self._parts:
            return text if "content" in self._texts else None
        parts = [part.part() for part in self._parts]
        return [*parts, {"type": "text", "text": text}] if text else parts

    def _add_parts(self, parts: list[Any]) -> None:
        """Mistral streams lists of parts; of the same kind they continue each other."""
        for part in parts:
            if not self._parts or not self._parts[-1].add(part):
                self._parts.append(PartAssembly(part))

    def _add_call(self, delta: dict[str, Any]) -> None:
        index = delta.get("index")
        call = self._by_index.get(index) if isinstance(index, int) else self._by_id(delta)
        if call is None or call.is_followed_by(delta):
            call = CallAssembly(delta)
            self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        call.add_call(delta)

    def _by_id(self, delta: dict[str, Any]) -> CallAssembly | None:
        """Of a call without index (Gemini's compatible endpoint, Mistral): the one of that id, else the last."""
        id_ = delta.get("id")
        if id_:
            return next((call for call in self._calls if call.id == id_), None)
        return self._calls[-1] if self._calls else None

    def _add_audio(self, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            if key in ("data", "transcript") and isinstance(value, str):
                self._audio_texts.setdefault(key, []).append(value)
            elif value is not None:
                self._audio[key] = value


class PartAssembly:
    """One part of a list content while it grows."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._type = part.get("type") if isinstance(part, dict) else None
        self._texts = [string(part.get("text"))] if self._type == "text" else []
        thought = part.get("thinking") if self._type == "thinking" else None
        self._thoughts: list[Any] = list(thought) if isinstance(thought, list) else []

    def add(self, part: Any) -> bool:
        """Takes a part that continues this one; False when it is another."""
        if not isinstance(part, dict) or part.get("type") != self._type:
            return False
        if self._type == "text":
            self._texts.append(string(part.get("text")))
            return True
        if self._type == "thinking" and isinstance(part.get("thinking"), list):
            self._thoughts += part["thinking"]
            return True
        return False

    def part(self) -> Any:
        """The part as far as it has grown."""
        if self._texts:
            return {**self._part, "text": "".join(self._texts)}
        return {**self._part, "thinking": self._thoughts} if self._thoughts else self._part


class CallAssembly:
    """One tool call while its arguments come in."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = {key: value for key, value in start.items() if key not in ("function", "custom", "index")}
        self._is_custom = isinstance(start.get("custom"), dict)
        self._name = ""
        self._pieces: list[str] = []
        self._whole: Any = None

    @property
    def id(self) -> str:
        return string(self._start.get("id"))

    def is_followed_by(self, delta: dict[str, Any]) -> bool:
        """Whether a delta of the same index begins another call: some gateways give every call the index 0."""
        function = delta.get("function")
        name = string(function.get("name")) if isinstance(function, dict) else ""
        id_ = string(delta.get("id"))
        if "index" not in delta and not id_:
            return bool(name and self._name)
        return bool(id_ and self.id and id_ != self.id and name)

    def add_call(self, delta: dict[str, Any]) -> None:
        """Takes one of a delta's `tool_calls`."""
        if not self.id and delta.get("id"):
            self._start["id"] = delta["id"]
        for key in ("function", "custom"):
            if isinstance(inner := delta.get(key), dict):
                self.add(inner)

    def add(self, inner: dict[str, Any]) -> None:
        """Takes a piece of the function: its name comes whole, its arguments in pieces."""
        self._name = self._name or string(inner.get("name"))
        piece = inner.get("input" if self._is_custom else "arguments")
        if isinstance(piece, str):
            self._pieces.append(piece)
        elif piece is not None:
            self._whole = piece  # some servers send the object itself

    def function(self) -> dict[str, Any]:
        """Name and arguments as far as they came."""
        text: Any = "".join(self._pieces) if self._whole is None else self._whole
        return {"name": self._name, "input" if self._is_custom else "arguments": text}

    def call(self) -> dict[str, Any]:
        """The call as one of `tool_calls`."""
        kind = "custom" if self._is_custom else "function"
        return {"id": self.id, "type": kind, **self._start, kind: self.function()}

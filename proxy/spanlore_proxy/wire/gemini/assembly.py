"""A candidate put together from the chunks of a stream, in the shape in which clients echo it."""

from __future__ import annotations

from typing import Any

from spanlore_proxy.wire.gemini.arguments import StreamedArguments
from spanlore_proxy.wire.gemini.fields import field, list_field, string_field
from spanlore_proxy.wire.gemini.parts import raw_part, unknown_kinds


class CandidateAssembly:
    """One candidate while it grows."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._texts: list[list[str]] = []
        """Beside each part the pieces of its text; [] for a part without."""
        self._arguments: StreamedArguments | None = None
        """Of the last part, a call whose arguments have not all come."""
        self.finish_reason: Any = None
        self.unknown: list[str] = []

    def take(self, candidate: Any) -> None:
        """Takes what one chunk says of the candidate."""
        for part in list_field(field(candidate, "content"), "parts"):
            self._add(raw_part(part))
        reason = field(candidate, "finishReason")
        if reason is not None:
            self.finish_reason = reason

    def parts(self) -> list[dict[str, Any]]:
        """The parts as far as they came, texts joined."""
        pairs = zip(self._parts, self._texts, strict=True)
        return [{**part, "text": "".join(pieces)} if pieces else part for part, pieces in pairs]

    def _add(self, part: dict[str, Any]) -> None:
        self.unknown += unknown_kinds(part)
        call = part.get("functionCall")
        if isinstance(call, dict):
            self._add_call(part, call)
            return
        self._arguments = None
        text = part.get("text")
        if isinstance(text, str) and self._continues(part):
            self._texts[-1].append(text)
            if signature := string_field(part, "thoughtSignature"):
                self._parts[-1] = {**self._parts[-1], "thoughtSignature": signature}
            return
        self._parts.append(part)
        self._texts.append([text] if isinstance(text, str) else [])

    def _continues(self, part: dict[str, Any]) -> bool:
        """Whether a text goes on where the last part ended. A signature ends the part it stands on."""
        last = self._parts[-1] if self._parts else {}
        is_same_kind = (last.get("thought") is True) == (part.get("thought") is True)
        return isinstance(last.get("text"), str) and is_same_kind and "thoughtSignature" not in last

    def _add_call(self, part: dict[str, Any], call: dict[str, Any]) -> None:
        pieces = list_field(call, "partialArgs")
        goes_on = field(call, "willContinue") is True
        if self._arguments is None or string_field(call, "name"):
            if not goes_on and not pieces:
                self._append_call(part)
                return
            self._arguments = StreamedArguments()
            plain = {key: value for key, value in call.items() if key not in _STREAMING}
            self._append_call({**part, "functionCall": {**plain, "args": self._arguments.value}})
        for piece in pieces:
            if not self._arguments.add(piece):
                self.unknown.append("part:partialArgs")
        if not goes_on:
            self._arguments = None

    def _append_call(self, part: dict[str, Any]) -> None:
        self._parts.append(part)
        self._texts.append([])


_STREAMING = frozenset({"partialArgs", "partial_args", "willContinue", "will_continue"})

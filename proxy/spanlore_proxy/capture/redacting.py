"""An inference and its observation without their secrets: every text that came from outside goes through the redactor.

Redaction happens before encoding, on texts as they read: in JSON a private key has no line ends and a quote has a
backslash before it, and detectors would miss both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, assert_never

from spanlore.genai.inference import Inference
from spanlore.genai.messages import (
    Blob,
    Generic,
    Message,
    Part,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Uri,
)
from spanlore.redaction.redact import Redactor
from spanlore.redaction.values import Redact, redact_value
from spanlore.spans.place import HumanMessage, Observation, ToolExecution, Turn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_REMEMBERED_CHARS: Final = 2 * 1024**2
"""Of the texts that are remembered with what becomes of them. A tool's result comes three times in one request (as a
message, as a result, in the request log), names of members and parts in every one."""
MAX_TEXT_CHARS: Final = 64 * 1024
"""Longer ones are not."""
_OVERHEAD_CHARS: Final = 200
"""What an entry takes up besides its text."""


def redact_with(redactor: Redactor, max_chars: int = MAX_REMEMBERED_CHARS) -> Redact:
    """The redactor as a function of text, which remembers its last texts (`max_chars` of them at most, by the MB of
    plain ASCII). Safe to share by threads."""
    return _Remembering(redactor, max_chars)


class _Remembering:
    """Two generations of texts: when the younger one is full, it takes the place of the older. Of threads that meet
    one may forget what another has just learnt, and nothing worse."""

    def __init__(self, redactor: Redactor, max_chars: int) -> None:
        self._redactor = redactor
        self._half = max_chars // 2
        self._young: dict[str, tuple[str, int]] = {}
        self._old: dict[str, tuple[str, int]] = {}
        self._chars = 0

    def __call__(self, text: str) -> tuple[str, int]:
        found = self._young.get(text)
        if found is not None:
            return found
        found = self._old.get(text)
        if found is None:
            done = self._redactor.redact(text)
            # What has no secret is the same text still, and is kept once.
            found = (text if done.text == text else done.text), done.count
        if len(text) <= MAX_TEXT_CHARS:
            self._keep(text, found)
        return found

    def _keep(self, text: str, found: tuple[str, int]) -> None:
        size = len(text) + _OVERHEAD_CHARS
        if self._chars + size > self._half:
            self._old, self._young, self._chars = self._young, {}, 0
        self._young[text] = found
        self._chars += size


def redact_inference(inference: Inference, redact: Redact) -> tuple[Inference, int]:
    """The inference without secrets, and their number."""
    redaction = _Redaction(redact)
    error = inference.error
    clean = replace(
        inference,
        system=tuple(redaction.part(part) for part in inference.system),
        tools=tuple(redaction.tool(tool) for tool in inference.tools),
        new_messages=redaction.messages(inference.new_messages),
        output=redaction.messages(inference.output),
        error=None if error is None else replace(error, message=redaction.text(error.message)),
    )
    return clean, redaction.count


def redact_observation(observation: Observation, redact: Redact) -> tuple[Observation, int]:
    """The observation without secrets, and their number."""
    redaction = _Redaction(redact)
    clean = replace(
        observation,
        human=redaction.human(observation.human),
        tools=tuple(redaction.execution(tool) for tool in observation.tools),
        turns=tuple(redaction.turn(turn) for turn in observation.turns),
    )
    return clean, redaction.count


class _Redaction:
    """Counts while it redacts one thing. What has no secret is given back as it is: nearly everything, and a copy costs
    more than the search."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self.count = 0

    def _with[One: DataclassInstance](self, one: One, before: int, **clean: Any) -> One:
        """With the clean values, if there were secrets since the count was `before`."""
        return one if self.count == before else replace(one, **clean)

    def text(self, text: str) -> str:
        clean, found = self._redact(text)
        self.count += found
        return clean

    def value(self, value: Any) -> Any:
        clean, found = redact_value(value, self._redact)
        self.count += found
        return clean

    def part(self, part: Part) -> Part:
        before = self.count
        match part:
            case Text(content):
                return self._with(part, before, content=self.text(content))
            case Reasoning(content):
                return self._with(part, before, content=self.text(content))
            case ToolCall():
                return self.call(part)
            case ToolResult():
                return self.result(part)
            case ServerToolCall(_, _, payload) | ServerToolResult(_, payload) | Generic(_, payload):
                return self._with(part, before, payload=self.value(payload))
            case Uri(_, uri):
                return self._with(part, before, uri=self.text(uri))
            case Blob():
                return part
            case _:
                assert_never(part)

    def call(self, call: ToolCall) -> ToolCall:
        return self._with(call, self.count, arguments=self.value(call.arguments))

    def result(self, result: ToolResult) -> ToolResult:
        return self._with(result, self.count, response=self.text(result.response))

    def messages(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        return tuple(
            self._with(message, self.count, parts=tuple(self.part(part) for part in message.parts))
            for message in messages
        )

    def tool(self, tool: ToolDefinition) -> ToolDefinition:
        before = self.count
        description, parameters = self.text(tool.description), self.value(tool.parameters)
        return self._with(tool, before, description=description, parameters=parameters)

    def human(self, human: Iterable[HumanMessage]) -> tuple[HumanMessage, ...]:
        return tuple(replace(said, text=self.text(said.text)) for said in human)

    def execution(self, tool: ToolExecution) -> ToolExecution:
        return replace(
            tool,
            call=self.call(tool.call),
            result=None if tool.result is None else self.result(tool.result),
            command=self.text(tool.command),
            error_line=self.text(tool.error_line),
        )

    def turn(self, turn: Turn) -> Turn:
        return replace(turn, human=self.human(turn.human))

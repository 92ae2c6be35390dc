"""An inference and its observation without their secrets: every text that came from outside goes through the redactor.

Redaction happens before encoding, on texts as they read: in JSON a private key has no line ends and a quote has a
backslash before it, and detectors would miss both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, assert_never

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


def redact_with(redactor: Redactor) -> Redact:
    """The redactor as a function of text."""

    def redact(text: str) -> tuple[str, int]:
        done = redactor.redact(text)
        return done.text, done.count

    return redact


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
    """Counts while it redacts one thing."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self.count = 0

    def text(self, text: str) -> str:
        clean, found = self._redact(text)
        self.count += found
        return clean

    def value(self, value: Any) -> Any:
        clean, found = redact_value(value, self._redact)
        self.count += found
        return clean

    def part(self, part: Part) -> Part:
        match part:
            case Text(content):
                return replace(part, content=self.text(content))
            case Reasoning(content):
                return replace(part, content=self.text(content))
            case ToolCall():
                return self.call(part)
            case ToolResult():
                return self.result(part)
            case ServerToolCall(_, _, payload) | ServerToolResult(_, payload) | Generic(_, payload):
                return replace(part, payload=self.value(payload))
            case Uri(_, uri):
                return replace(part, uri=self.text(uri))
            case Blob():
                return part
            case _:
                assert_never(part)

    def call(self, call: ToolCall) -> ToolCall:
        return replace(call, arguments=self.value(call.arguments))

    def result(self, result: ToolResult) -> ToolResult:
        return replace(result, response=self.text(result.response))

    def messages(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        return tuple(replace(message, parts=tuple(self.part(part) for part in message.parts)) for message in messages)

    def tool(self, tool: ToolDefinition) -> ToolDefinition:
        return replace(tool, description=self.text(tool.description), parameters=self.value(tool.parameters))

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

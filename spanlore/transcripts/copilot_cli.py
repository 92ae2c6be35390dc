"""Copilot CLI's `events.jsonl`: `{type, id, timestamp, data}` a line. A shell's exit code stands at the end of its
text; a call that the person refused has their feedback in its error."""

from __future__ import annotations

import re
from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.lined import read_lined
from spanlore.transcripts.loose import mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "copilot-cli"
_EXIT: Final = re.compile(
    r"<?\b(?:exited|completed|finished)(?: with)?(?: an?)? (?:exit code|code|status)[: ]\s*"
    r"(-?\d{1,7})\b[^\n]{0,40}\s*\Z",
    re.I,
)
_FEEDBACK: Final = re.compile(r"(?:feedback|reason|said)[^:\n]{0,40}:\s*(.+)", re.I | re.S)
_EXIT_LINE: Final = re.compile(r"(?:\A|\n)[^\S\n]*exit code:? (-?\d{1,7})\s*\Z", re.I)


def read(data: bytes) -> Transcript:
    """The transcript of one file."""
    return read_lined(data, HARNESS, _Reader(), session="sessionId", version="copilotVersion")


class _Reader:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.about: dict[str, str] = {}
        self._answer = ""
        self._model = ""
        self._asked: set[str] = set()

    def take(self, line: int, event: dict[str, Any]) -> None:
        data = mapping(event.get("data"))
        agent = string(data.get("parentToolCallId"))
        mark = Mark(line, string(event.get("id")), nanoseconds(event.get("timestamp")), agent)
        match event.get("type"):
            case "session.start" | "session.resume":
                self._start(data)
            case "session.model_change":
                self._model = string(data.get("newModel")) or self._model
            case "user.message":
                self._answer = ""
                self.events.append(Said(mark, (string(data.get("content")),)))
            case "assistant.message":
                self._message(mark, data)
            case "assistant.reasoning":
                self._answered(mark, Reasoning(string(data.get("content"))))
            case "tool.user_requested":
                self._asked.add(string(data.get("toolCallId")))  # the person ran it; nobody asked the model
            case "tool.execution_start":
                self._call(mark, data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
            case "tool.execution_complete":
                self._answer = ""
                self.events.append(_result(mark, data))
            case "abort":
                self.events.append(Stopped(mark))
            case "session.compaction_complete" if data.get("success", True):
                self.events.append(Compacted(mark, string(data.get("summaryContent"))))
            case _:
                pass

    def _start(self, data: dict[str, Any]) -> None:
        context = mapping(data.get("context"))
        for name, value in (*data.items(), *context.items()):
            if isinstance(value, str) and value:
                self.about.setdefault(name, value)
        self._model = string(data.get("selectedModel")) or self._model

    def _message(self, mark: Mark, data: dict[str, Any]) -> None:
        self._answer = string(data.get("messageId")) or mark.uuid or f"line-{mark.line}"
        usage = Usage(output_tokens=number(data.get("outputTokens")))
        if thinking := string(data.get("reasoningText")):
            self._answered(mark, Reasoning(thinking), usage)
        if content := text_of(data.get("content")):
            self._answered(mark, Text(content), usage)
        for request in objects(data.get("toolRequests")):
            self._call(mark, request.get("toolCallId"), request.get("name"), request.get("arguments"), usage)

    def _call(self, mark: Mark, id_: Any, name: Any, arguments: Any, usage: Usage | None = None) -> None:
        call_id = string(id_)
        if call_id not in self._asked:
            self._asked.add(call_id)
            self._answered(mark, ToolCall(call_id, string(name), parsed(arguments)), usage)

    def _answered(self, mark: Mark, part: Part, usage: Usage | None = None) -> None:
        self._answer = self._answer or mark.uuid or f"line-{mark.line}"
        self.events.append(Answered(mark, part, self._answer, False, self._model, "github", usage or Usage()))


def _result(mark: Mark, data: dict[str, Any]) -> Result:
    result = data.get("result")
    error = data.get("error")
    told = mapping(result)
    text = string(result) or text_of(told.get("content")) or text_of(told.get("detailedContent"))
    message = string(error) or string(mapping(error).get("message"))
    success = data.get("success")
    found = _EXIT.search(text[-200:]) or _EXIT_LINE.search(text[-200:])
    is_error = None if success is True and found else (not success if isinstance(success, bool) else None)
    answer = ToolResult(string(data.get("toolCallId")), text or message, is_error)
    refusal = None
    code = string(mapping(error).get("code"))
    if code in ("rejected", "denied"):  # denied: by a rule or a hook, whose words are no person's
        said = _FEEDBACK.search(message or text) if code == "rejected" else None
        refusal = said[1].strip() if said else ""
    return Result(mark, answer, int(found[1]) if found else None, refusal)

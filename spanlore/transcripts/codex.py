"""Codex rollouts: `response_item` lines are the conversation; `event_msg` tells the same again, and only that a turn
was aborted and what it cost is taken from there. The first versions' rollouts have the items without an envelope."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.lined import read_lined
from spanlore.transcripts.loose import mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "codex"
_REQUEST: Final = "## My request for Codex:"
"""An editor puts what is open before the person's words."""
_ITEMS: Final = frozenset(
    {"message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "function_call_output",
     "custom_tool_call_output", "local_shell_call_output"}
)  # fmt: skip


def read(data: bytes) -> Transcript:
    """The transcript of one rollout."""
    return read_lined(data, HARNESS, _Reader(), session="id", version="cli_version")


class _Reader:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.about: dict[str, str] = {}
        self._model = ""
        self._answer = 0
        self._is_answering = False

    def take(self, line: int, event: dict[str, Any]) -> None:
        payload = mapping(event.get("payload"))
        mark = Mark(line, "", nanoseconds(event.get("timestamp")))
        match event.get("type"):
            case "session_meta":
                self._meta(payload)
            case "turn_context":
                self._model = string(payload.get("model")) or self._model
                self.about.setdefault("cwd", string(payload.get("cwd")))
            case "response_item":
                self._item(mark, payload)
            case "event_msg" if payload.get("type") == "turn_aborted":
                self.events.append(Stopped(mark))
            case "event_msg" if payload.get("type") == "token_count":
                self._usage(mapping(mapping(payload.get("info")).get("last_token_usage")))
            case "compacted":
                self.events.append(Compacted(mark, string(payload.get("message"))))
            case str(kind) if kind in _ITEMS and not payload:
                self._item(mark, event)
            case None if "instructions" in event or "git" in event:
                self._meta(event)
            case _:
                pass

    def _meta(self, payload: dict[str, Any]) -> None:
        for name in ("id", "cwd", "cli_version"):
            if value := string(payload.get(name)):
                self.about.setdefault(name, value)
        if branch := string(mapping(payload.get("git")).get("branch")):
            self.about.setdefault("branch", branch)

    def _item(self, mark: Mark, item: dict[str, Any]) -> None:
        call_id = string(item.get("call_id")) or string(item.get("id"))
        match item.get("type"):
            case "message" if item.get("role") == "assistant":
                self._answered(mark, Text(text_of(item.get("content"))))
            case "message" if item.get("role") == "user":
                self._is_answering = False
                blocks = tuple(_own(string(block.get("text"))) for block in objects(item.get("content")))
                self.events.append(Said(mark, blocks or (text_of(item.get("content")),)))
            case "reasoning":
                self._answered(mark, Reasoning(text_of(item.get("summary"))))
            case "function_call":
                self._answered(mark, ToolCall(call_id, string(item.get("name")), parsed(item.get("arguments"))))
            case "custom_tool_call":
                self._answered(mark, ToolCall(call_id, string(item.get("name")), {"input": item.get("input")}))
            case "local_shell_call":
                self._answered(mark, ToolCall(call_id, "local_shell", mapping(item.get("action"))))
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self._is_answering = False
                self.events.append(Result(mark, ToolResult(call_id, _output(item.get("output")))))
            case _:
                pass

    def _answered(self, mark: Mark, part: Part) -> None:
        if not self._is_answering:
            self._answer += 1
            self._is_answering = True
        self.events.append(Answered(mark, part, f"answer-{self._answer}", False, self._model, "openai"))

    def _usage(self, usage: dict[str, Any]) -> None:
        """Of the answer before; it comes when the answer is over, beside the tools' results or before them."""
        total = number(usage.get("input_tokens"))
        if total is None:
            return
        for index in range(len(self.events) - 1, -1, -1):
            event = self.events[index]
            if isinstance(event, Answered):
                counts = Usage(
                    input_tokens=total,
                    output_tokens=number(usage.get("output_tokens")),
                    cache_read_tokens=number(usage.get("cached_input_tokens")),
                    reasoning_tokens=number(usage.get("reasoning_output_tokens")),
                )
                self.events[index] = Answered(
                    event.mark, event.part, event.answer, False, event.model, event.provider, counts
                )
                return


def _own(text: str) -> str:
    return text.partition(_REQUEST)[2].strip() if text.startswith("# Context from my IDE") else text


def _output(raw: Any) -> str:
    return string(raw) or text_of(raw)

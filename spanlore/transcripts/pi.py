"""pi's session JSONL: `message` entries with role user, assistant or toolResult."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.loose import Lines, mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "pi"


def read(data: bytes) -> Transcript:
    """The transcript of one file."""
    lines = Lines(data)
    events: list[Event] = []
    about: dict[str, str] = {}
    for line, entry in lines:
        mark = Mark(line, string(entry.get("id")), nanoseconds(entry.get("timestamp")))
        match entry.get("type"):
            case "session":
                about.setdefault("id", string(entry.get("id")))
                about.setdefault("cwd", string(entry.get("cwd")))
            case "compaction":
                events.append(Compacted(mark, string(entry.get("summary"))))
            case "message":
                events += _message(mark, mapping(entry.get("message")))
            case _:
                pass
    return Transcript(
        HARNESS, about.get("id", ""), "", about.get("cwd", ""), "", tuple(events), lines.count, lines.malformed
    )


def _message(mark: Mark, message: dict[str, Any]) -> list[Event]:
    content = message.get("content")
    match message.get("role"):
        case "assistant":
            return _assistant(mark, message)
        case "toolResult":
            flag = message.get("isError")
            id_ = string(message.get("toolCallId"))
            return [Result(mark, ToolResult(id_, text_of(content), flag if isinstance(flag, bool) else None))]
        case "user":
            return [Said(mark, (text_of(content),))]
        case _:
            return []


def _assistant(mark: Mark, message: dict[str, Any]) -> list[Event]:
    usage = mapping(message.get("usage"))
    fresh, read_, written = (number(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite"))
    counts = Usage(
        None if fresh is None else fresh + (read_ or 0) + (written or 0), number(usage.get("output")), read_, written
    )
    id_ = string(message.get("responseId"))
    model, provider = string(message.get("model")), string(message.get("provider"))
    reason = string(message.get("stopReason"))
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    out: list[Event] = [
        Answered(mark, part, id_ or f"line-{mark.line}", bool(id_), model, provider, counts, reason)
        for block in blocks
        if (part := _part(block)) is not None
    ]
    if reason == "aborted":
        out.append(Stopped(mark))
    return out


def _part(block: dict[str, Any]) -> Part | None:
    match block.get("type"):
        case "toolCall":
            return ToolCall(string(block.get("id")), string(block.get("name")), block.get("arguments"))
        case "text":
            return Text(string(block.get("text")))
        case "thinking":
            return Reasoning(string(block.get("thinking")))
        case _:
            return None

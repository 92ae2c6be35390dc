"""Gemini CLI's saved chats: one JSON document with `messages`, or JSONL in newer versions, where a message that is
written again replaces the earlier one, and `$rewindTo` takes back what came after. A mark's line is the message's index
in a document, and the line in JSONL. Files of Qwen Code's older versions look the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult, canonical_json
from spanlore.transcripts.events import Answered, Event, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.loose import Lines, mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "gemini-cli"
_DIRECTORY: Final = re.compile(r"Workspace Directories:\**\s*\n\s*- (/[^\n]+)")
_CANCELLED: Final = "Request cancelled"


def read_document(document: dict[str, Any]) -> Transcript:
    """The transcript of a JSON document."""
    messages = document.get("messages")
    numbered = list(enumerate(messages)) if isinstance(messages, list) else []
    good = [(line, message) for line, message in numbered if isinstance(message, dict)]
    return _transcript(document, good, len(numbered), len(numbered) - len(good))


def read_lines(data: bytes) -> Transcript:
    """The transcript of a JSONL file."""
    lines = Lines(data)
    about: dict[str, Any] = {}
    messages: dict[str, tuple[int, dict[str, Any]]] = {}
    for line, entry in lines:
        if "$rewindTo" in entry:
            ids = list(messages)
            target = string(entry["$rewindTo"])
            for id_ in ids[ids.index(target) :] if target in messages else ():
                del messages[id_]
        elif "$set" in entry:
            about.update(mapping(entry["$set"]))
            if "messages" in mapping(entry["$set"]):
                messages = {string(one.get("id")) or str(at): (line, one) for at, one in _numbered(entry["$set"])}
        elif "type" in entry and "sessionId" not in entry:
            id_ = string(entry.get("id")) or f"line-{line}"
            messages[id_] = (messages[id_][0] if id_ in messages else line, entry)
        else:
            about.update(entry)
    return _transcript(about, list(messages.values()), lines.count, lines.malformed)


def _numbered(changes: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    return enumerate(objects(changes.get("messages")))


def _transcript(
    about: dict[str, Any], messages: list[tuple[int, dict[str, Any]]], count: int, malformed: int
) -> Transcript:
    events: list[Event] = []
    for line, message in messages:
        events += _message(line, message)
    directories = about.get("directories")
    cwd = string(directories[0]) if isinstance(directories, list) and directories else _stated(events)
    return Transcript(HARNESS, string(about.get("sessionId")), "", cwd, "", tuple(events), count, malformed)


def _stated(events: list[Event]) -> str:
    """The directory that the client's own first message names."""
    first = events[0] if events else None
    found = _DIRECTORY.search(first.blocks[0]) if isinstance(first, Said) and first.blocks else None
    return found[1].strip() if found else ""


def _message(line: int, message: dict[str, Any]) -> list[Event]:
    mark = Mark(line, string(message.get("id")), nanoseconds(message.get("timestamp")))
    text = text_of(message.get("content"))
    match message.get("type"):
        case "user":
            return [Said(mark, (text,))]
        case "gemini" | "assistant" | "model":
            return _answer(mark, message, text)
        case "info" if text.startswith(_CANCELLED):
            return [Stopped(mark)]
        case _:
            return []


def _answer(mark: Mark, message: dict[str, Any], text: str) -> list[Event]:
    calls = objects(message.get("toolCalls"))
    parts: list[Part] = [
        Reasoning(f"{string(thought.get('subject'))}\n{string(thought.get('description'))}".strip())
        for thought in objects(message.get("thoughts"))
    ]
    if text:
        parts.append(Text(text))
    parts += [ToolCall(string(call.get("id")), string(call.get("name")), call.get("args")) for call in calls]
    tokens = mapping(message.get("tokens"))
    thoughts = number(tokens.get("thoughts"))
    output = number(tokens.get("output"))
    usage = Usage(
        input_tokens=number(tokens.get("input")),
        output_tokens=None if output is None else output + (thoughts or 0),
        cache_read_tokens=number(tokens.get("cached")),
        reasoning_tokens=thoughts,
    )
    answer = mark.uuid or f"line-{mark.line}"
    model = string(message.get("model"))
    out: list[Event] = [Answered(mark, part, answer, False, model, "gcp.gemini", usage) for part in parts]
    for call in calls:
        status = string(call.get("status"))
        if status in ("success", "error", "cancelled", ""):
            flag = status == "error" if status else None
            out.append(Result(mark, ToolResult(string(call.get("id")), _output(call), flag)))
    return out


def _output(call: dict[str, Any]) -> str:
    """What the model was told; the display text where that is missing."""
    told = []
    for item in objects(call.get("result")):
        response = mapping(mapping(item.get("functionResponse")).get("response"))
        told.append(string(response.get("output")) or string(response.get("error")) or text_of(item))
    shown = call.get("resultDisplay") or ""
    return "\n".join(text for text in told if text) or (shown if isinstance(shown, str) else canonical_json(shown))

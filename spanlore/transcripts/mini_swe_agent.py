"""mini-swe-agent trajectories: OpenAI-shaped `messages`. Version 2 calls a tool; version 1 writes one command in a
fenced block and gets its result as a user message. Results are `<returncode>N</returncode><output>…`."""

from __future__ import annotations

import re
from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.jsontext import parsed
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Event, Mark, Result, Said, Transcript
from spanlore.transcripts.loose import mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "mini-swe-agent"
_FENCED: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.S)
_RESULT: Final = re.compile(
    r'\s*(?:<returncode>|<exception>|\{"returncode")|.{0,200}timed out and has been killed', re.S
)


def read(document: dict[str, Any]) -> Transcript:
    """The transcript of a trajectory; a mark's line is the message's index."""
    events: list[Event] = []
    messages = document.get("messages")
    messages = messages if isinstance(messages, list) else []
    waiting = ""
    for line, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        extra = mapping(message.get("extra"))
        stamp = extra.get("timestamp") or mapping(extra.get("response")).get("created")
        mark = Mark(line, str(line), nanoseconds(stamp))
        content = text_of(message.get("content"))
        match message.get("role"):
            case "assistant":
                found = _answer(mark, message, content)
                events += found
                waiting = next((event.part.id for event in found if isinstance(event.part, ToolCall)), "")
            case "tool":
                events.append(Result(mark, ToolResult(string(message.get("tool_call_id")), content)))
            case "user" if waiting and _RESULT.match(content):
                events.append(Result(mark, ToolResult(waiting, content)))
                waiting = ""
            case "user":
                events.append(Said(mark, (content,)))
            case _:
                pass
    bad = sum(not isinstance(message, dict) for message in messages)
    version = string(mapping(document.get("info")).get("mini_version"))
    session = string(document.get("instance_id"))
    return Transcript(HARNESS, session, version, "", "", tuple(events), len(messages), bad)


def _answer(mark: Mark, message: dict[str, Any], content: str) -> list[Answered]:
    response = mapping(mapping(message.get("extra")).get("response"))
    id_ = string(response.get("id"))
    parts: list[Part] = []
    if thinking := string(message.get("reasoning_content")):
        parts.append(Reasoning(thinking))
    if content:
        parts.append(Text(content))
    calls = objects(message.get("tool_calls"))
    for call in calls:
        function = mapping(call.get("function"))
        parts.append(ToolCall(string(call.get("id")), string(function.get("name")), parsed(function.get("arguments"))))
    if not calls and (command := _FENCED.search(content)):
        parts.append(ToolCall(f"step-{mark.line}", "bash", {"command": command[1]}))
    usage = _usage(mapping(response.get("usage")))
    answer, model = id_ or f"line-{mark.line}", string(response.get("model"))
    return [Answered(mark, part, answer, bool(id_), model, "openai", usage) for part in parts]


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=number(usage.get("prompt_tokens")),
        output_tokens=number(usage.get("completion_tokens")),
        cache_read_tokens=number(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        reasoning_tokens=number(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )

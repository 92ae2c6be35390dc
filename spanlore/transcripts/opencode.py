"""OpenCode exports: `{info, messages: [{info, parts}]}`. A mark's line is the number of the part in the whole export.
A command that failed has status `completed`; its exit code stands in the metadata."""

from __future__ import annotations

import re
from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.messages import Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.loose import mapping, nanoseconds, number, objects, string

HARNESS: Final = "opencode"
_REFUSED: Final = re.compile(
    r"(?:Error: )?The user rejected permission to use this specific tool call"
    r"(?: with the following feedback: (?P<reason>.*))?",
    re.S,
)


def read(document: dict[str, Any]) -> Transcript:
    """The transcript of an export."""
    info = mapping(document.get("info"))
    messages = document.get("messages")
    reader = _Reader()
    for message in messages if isinstance(messages, list) else ():
        reader.message(mapping(message))
    cwd = string(info.get("directory")) or reader.cwd
    return Transcript(
        HARNESS,
        string(info.get("id")) or reader.session_id,
        string(info.get("version")),
        cwd,
        "",
        tuple(reader.events),
        reader.parts,
        reader.malformed,
    )


class _Reader:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.parts = 0
        self.malformed = 0
        self.cwd = ""
        self.session_id = ""

    def message(self, message: dict[str, Any]) -> None:
        info = mapping(message.get("info"))
        self.cwd = self.cwd or string(mapping(info.get("path")).get("cwd"))
        self.session_id = self.session_id or string(info.get("sessionID"))
        is_user = info.get("role") == "user"
        parts = message.get("parts")
        for part in parts if isinstance(parts, list) else ():
            line, self.parts = self.parts, self.parts + 1
            if not isinstance(part, dict):
                self.malformed += 1
            elif is_user:
                self._user(line, info, part)
            else:
                self._assistant(line, info, part)
        error = mapping(info.get("error"))
        if not is_user and error.get("name") == "MessageAbortedError":
            self.events.append(Stopped(Mark(max(self.parts - 1, 0), string(info.get("id")))))

    def _user(self, line: int, info: dict[str, Any], part: dict[str, Any]) -> None:
        mark = _mark(line, info, part)
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"):
            self.events.append(Said(mark, (string(part.get("text")),)))
        elif part.get("type") == "compaction":
            self.events.append(Compacted(mark, ""))

    def _assistant(self, line: int, info: dict[str, Any], part: dict[str, Any]) -> None:
        mark = _mark(line, info, part)
        match part.get("type"):
            case "text" if part.get("text"):
                self._answered(mark, info, Text(string(part.get("text"))))
            case "reasoning" if part.get("text"):
                self._answered(mark, info, Reasoning(string(part.get("text"))))
            case "tool":
                self._tool(mark, info, part)
            case _:
                pass

    def _tool(self, mark: Mark, info: dict[str, Any], part: dict[str, Any]) -> None:
        state = mapping(part.get("state"))
        call = ToolCall(string(part.get("callID")), string(part.get("tool")), state.get("input"))
        self._answered(mark, info, call)
        status = state.get("status")
        if status not in ("completed", "error"):
            return
        exit_code = mapping(state.get("metadata")).get("exit")
        text = string(state.get("error")) if status == "error" else string(state.get("output"))
        refused = _REFUSED.match(text) if status == "error" else None
        end_ns = nanoseconds(mapping(state.get("time")).get("end")) or mark.time_ns
        self.events.append(
            Result(
                Mark(mark.line, mark.uuid, end_ns),
                ToolResult(call.id, text, True if status == "error" else None),
                exit_code if isinstance(exit_code, int) and not isinstance(exit_code, bool) else None,
                (refused["reason"] or "").strip() if refused is not None else None,
            )
        )

    def _answered(self, mark: Mark, info: dict[str, Any], part: Part) -> None:
        tokens = mapping(info.get("tokens"))
        cache = mapping(tokens.get("cache"))
        fresh, read_, written = number(tokens.get("input")), number(cache.get("read")), number(cache.get("write"))
        usage = Usage(
            None if fresh is None else fresh + (read_ or 0) + (written or 0),
            number(tokens.get("output")),
            read_,
            written,
            reasoning_tokens=number(tokens.get("reasoning")),
        )
        model, provider = string(info.get("modelID")), string(info.get("providerID"))
        self.events.append(Answered(mark, part, string(info.get("id")), False, model, provider, usage))


def _mark(line: int, info: dict[str, Any], part: dict[str, Any]) -> Mark:
    times = mapping(part.get("time")) or mapping(mapping(part.get("state")).get("time"))
    stamp = times.get("start") or mapping(info.get("time")).get("created")
    return Mark(line, string(part.get("id")) or string(info.get("id")), nanoseconds(stamp))


def export_of(info: Any, messages: list[Any], parts: dict[str, list[Any]]) -> dict[str, Any]:
    """The export that a session, its messages and their parts (by message id), as they lie in the storage, make."""
    ordered = sorted(objects(messages), key=lambda one: (_created(one), string(one.get("id"))))
    return {
        "info": mapping(info),
        "messages": [
            {
                "info": one,
                "parts": sorted(objects(parts.get(string(one.get("id")))), key=lambda part: string(part.get("id"))),
            }
            for one in ordered
        ],
    }


def _created(message: dict[str, Any]) -> int:
    return nanoseconds(mapping(message.get("time")).get("created"))

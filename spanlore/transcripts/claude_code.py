"""Claude Code's session JSONL.

One content block a line: lines with the same `message.id` are one answer, and repeat its usage. A text typed while the
agent worked is queued (`queue-operation`): taken up later it stands again in a user line and counts there; consumed
within the turn it stands nowhere else, or once more in an `attachment`; put back into the prompt (`popAll`) it was
never sent. Noise lines (progress, snapshots, titles, hooks) and the agent's own user lines (`isMeta`) are left out. A
session that was resumed may have lines of before written again; with the same `uuid` they count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from spanlore.genai.inference import Usage
from spanlore.genai.messages import Generic, Part, Reasoning, Text, ToolCall, ToolResult
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Queued, Result, Said, Transcript
from spanlore.transcripts.loose import Lines, mapping, nanoseconds, number, objects, string, text_of

HARNESS: Final = "claude-code"
_ABOUT: Final = ("sessionId", "cwd", "gitBranch", "version")
_MADE_UP: Final = "<synthetic>"
"""Model of the lines that Claude Code writes itself, such as API errors."""


def read(data: bytes) -> Transcript:
    """The transcript of one file; a sub-agent's own file, whose lines are all side lines, is read like a session."""
    lines = Lines(data)
    kept = list(_once(lines))
    reader = _Reader(kept)
    for number_, event in kept:
        reader.take(number_, event)
    return Transcript(
        HARNESS,
        reader.about["sessionId"],
        reader.about["version"],
        reader.about["cwd"],
        reader.about["gitBranch"],
        tuple(reader.events),
        lines.count,
        lines.malformed,
    )


def _once(lines: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, dict[str, Any]]]:
    seen: dict[str, dict[str, Any]] = {}
    for number_, event in lines:
        uuid = string(event.get("uuid"))
        if not uuid or seen.setdefault(uuid, event) is event or seen[uuid] != event:
            yield number_, event


class _Reader:
    def __init__(self, kept: list[tuple[int, dict[str, Any]]]) -> None:
        self.events: list[Event] = []
        self.about = dict.fromkeys(_ABOUT, "")
        self._answers = 0
        self._queue = _queued_only(kept)

    def take(self, line: int, event: dict[str, Any]) -> None:
        for name in _ABOUT:
            self.about[name] = self.about[name] or string(event.get(name))
        agent = (string(event.get("agentId")) or "side") if event.get("isSidechain") else ""
        mark = Mark(line, string(event.get("uuid")), nanoseconds(event.get("timestamp")), agent)
        message = mapping(event.get("message"))
        match event.get("type"):
            case "assistant" if not event.get("isApiErrorMessage") and message.get("model") != _MADE_UP:
                self._assistant(mark, message)
            case "user" if event.get("isCompactSummary"):
                self.events.append(Compacted(mark, text_of(message.get("content"))))
            case "user" if not event.get("isMeta") and not event.get("isVisibleInTranscriptOnly"):
                self._user(mark, message)
            case "queue-operation" | "attachment" if line in self._queue:
                self.events.append(Queued(mark, self._queue[line]))
            case _:
                pass

    def _assistant(self, mark: Mark, message: dict[str, Any]) -> None:
        id_ = string(message.get("id"))
        self._answers += not id_
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        for block in blocks:
            self.events.append(
                Answered(
                    mark,
                    _part(block),
                    id_ or f"answer-{self._answers}",
                    bool(id_),
                    string(message.get("model")),
                    "anthropic",
                    usage_of(mapping(message.get("usage"))),
                    string(message.get("stop_reason")),
                )
            )

    def _user(self, mark: Mark, message: dict[str, Any]) -> None:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                flag = block.get("is_error")
                text = text_of(block.get("content"))
                result = ToolResult(string(block.get("tool_use_id")), text, flag if isinstance(flag, bool) else None)
                self.events.append(Result(mark, result))
        texts = tuple(string(block.get("text")) for block in blocks if block.get("type") == "text")
        if any(texts):
            self.events.append(Said(mark, texts))


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts as the API tells them; input includes what came from and went to the cache."""
    fresh, read_, written = (
        number(usage.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if fresh is None:
        return Usage()
    return Usage(
        input_tokens=fresh + (read_ or 0) + (written or 0),
        output_tokens=number(usage.get("output_tokens")),
        cache_read_tokens=read_,
        cache_write_tokens=written,
        cache_write_1h_tokens=number(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")),
    )


def _part(block: dict[str, Any]) -> Part:
    match block.get("type"):
        case "text":
            return Text(string(block.get("text")))
        case "thinking":
            return Reasoning(string(block.get("thinking")), string(string(block.get("signature")) or None) or None)
        case "tool_use":
            return ToolCall(string(block.get("id")), string(block.get("name")), block.get("input"))
        case other:
            return Generic(str(other), block)


def _queued_only(kept: list[tuple[int, dict[str, Any]]]) -> dict[int, str]:
    """Line → text of what was queued and is told nowhere else."""
    typed = Counter(_typed(kept))
    waiting: list[tuple[int, str]] = []
    out: dict[int, str] = {}
    for line, event in kept:
        if event.get("type") == "queue-operation":
            text = string(event.get("content")).strip()
            match event.get("operation"):
                case "enqueue" if text:
                    waiting.append((line, text))
                    out[line] = text
                case "popAll":
                    for known, _ in waiting:
                        out.pop(known, None)
                    waiting.clear()
                case "dequeue" | "remove" if waiting:
                    waiting.pop(0)
                case _:
                    pass
        elif mapping(event.get("attachment")).get("type") == "queued_command":
            text = text_of(mapping(event.get("attachment")).get("prompt")).strip()
            if text and text not in out.values():
                out[line] = text
    for line, text in list(out.items()):
        if typed[text] > 0:
            typed[text] -= 1
            del out[line]
    return {line: text for line, text in out.items() if not _is_notice(text)}


def _typed(kept: list[tuple[int, dict[str, Any]]]) -> list[str]:
    out = []
    for _, event in kept:
        if event.get("type") == "user":
            content = mapping(event.get("message")).get("content")
            blocks = [content] if isinstance(content, str) else [block.get("text") for block in objects(content)]
            out += [string(block).strip() for block in blocks if block]
    return out


def _is_notice(text: str) -> bool:
    """A background task's end, or a slash command: not a person's words."""
    return text.startswith(("{", "<task-notification>", "/")) and not text.startswith("/ ")

"""Claude Code's session JSONL. One content block a line: lines with the same `message.id` are one answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from spanlore.spans.place import Channel
from spanlore_extractor.evaluation.building import ConversationBuilder
from spanlore_extractor.evaluation.human_text import rejection_reason, typed
from spanlore_extractor.mining.session import Step

# Dismissing these is how a person asks back; the "reason" is no correction of an action.
_DIALOGUES = frozenset({"AskUserQuestion"})


def events(lines: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(0-based line number, event) of a JSONL file; a torn line is left out."""
    for number, line in enumerate(lines):
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield number, event


def read(lines: Iterable[bytes]) -> tuple[Step, ...]:
    """The steps of the main conversation."""
    kept = list(events(lines))
    builder, reader = ConversationBuilder(), _Reader(_typed_lines(kept))
    for number, event in kept:
        if event.get("isSidechain") or event.get("isMeta") or event.get("isCompactSummary"):
            continue
        match event.get("type"):
            case "assistant":
                builder.tick(event.get("timestamp"))
                reader.assistant(builder, number, event.get("message") or {})
            case "user":
                builder.tick(event.get("timestamp"))
                reader.user(builder, number, event.get("message") or {})
            case "queue-operation" if event.get("operation") == "enqueue":
                reader.queued(builder, number, str(event.get("content") or ""))
            case _:
                pass
    return builder.steps()


def _typed_lines(kept: list[tuple[int, dict[str, Any]]]) -> frozenset[str]:
    """All texts that stand in a user line of their own."""
    texts = set()
    for _, event in kept:
        content = (event.get("message") or {}).get("content") if event.get("type") == "user" else None
        if isinstance(content, str):
            texts.add(content.strip())
        elif content:
            texts.update(str(block.get("text", "")).strip() for block in content if block.get("type") == "text")
    return frozenset(texts)


def is_slash_command(text: str) -> bool:
    """`/clear` and the like, not a path."""
    return bool(re.match(r"/[a-z][\w:-]*(?:\s|$)", text))


class _Reader:
    def __init__(self, typed_lines: frozenset[str]) -> None:
        self._message_id: Any = None
        self._names: dict[str, str] = {}
        self._typed_lines = typed_lines

    def assistant(self, builder: ConversationBuilder, number: int, message: dict[str, Any]) -> None:
        if message.get("id") != self._message_id:
            self._message_id = message.get("id")
            builder.next_inference()
        for block in message.get("content") or ():
            if block.get("type") == "tool_use":
                self._names[block["id"]] = block["name"]
                builder.call(number, block["id"], block["name"], block.get("input"))
            elif block.get("type") == "text":
                builder.agent(number, block.get("text", ""))

    def user(self, builder: ConversationBuilder, number: int, message: dict[str, Any]) -> None:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._result(builder, number, block)
            elif block.get("type") == "text":
                self._text(builder, number, block.get("text", ""))

    def queued(self, builder: ConversationBuilder, number: int, text: str) -> None:
        """A queued text that is taken up later stands again in a user line, and counts there."""
        said = typed(text)
        if said and not is_slash_command(said) and said not in self._typed_lines:
            builder.human(number, said, Channel.QUEUED)

    def _result(self, builder: ConversationBuilder, number: int, block: dict[str, Any]) -> None:
        text = text_of(block.get("content"))
        call_id = block.get("tool_use_id", "")
        builder.result(call_id, text, bool(block.get("is_error")))
        reason = rejection_reason(text) if block.get("is_error") else ""
        if reason and self._names.get(call_id) not in _DIALOGUES:
            builder.human(number, reason, Channel.REJECTION_REASON)

    def _text(self, builder: ConversationBuilder, number: int, text: str) -> None:
        if text.startswith("[Request interrupted"):
            builder.interrupted()
            return
        said = typed(text)
        if said and not is_slash_command(said):
            builder.human(number, said)


def text_of(content: Any) -> str:
    """Text of a content field, string or blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or () if isinstance(block, dict))

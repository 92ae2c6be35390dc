"""What a scripted model answers, and its bytes in Anthropic's wire format, streamed or not."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from spanlore_proxy.demo.prompt_cache import BYTES_PER_TOKEN, CacheUsage

DELTA_CHARACTERS = 24
"""About what one delta of a real stream holds."""


@dataclass(frozen=True, slots=True)
class Say:
    """A text block."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """A thinking block with a signature that means nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class UseTool:
    """A tool_use block. `id` '' takes a fresh one."""

    name: str
    input: dict[str, Any]
    id: str = ""


type ReplyPart = Say | Think | UseTool


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with content; several `UseTool` are parallel calls."""

    parts: tuple[ReplyPart, ...]
    stop_reason: str = ""
    """'' takes tool_use when a tool is used, else end_turn."""
    event_delay_s: float = 0.0
    """Pause before each event of a stream."""
    chunk_bytes: int | None = None
    """Size of the chunks a stream is written in; None writes one event at a time."""
    cut_after_events: int | None = None
    """The connection is broken off after so many events of a stream."""
    is_compressed: bool = False
    """gzip, as gateways do."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A provider's error, in its JSON shape: 529 is `overloaded_error`."""

    status: int = 529
    type: str = "overloaded_error"
    message: str = "Overloaded"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """Any other answer, byte for byte."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


@dataclass(frozen=True, slots=True)
class ReplyBody:
    """One reply with its ids and counts settled, ready to be written."""

    reply: Reply
    model: str
    usage: CacheUsage
    message_id: str = field(default_factory=lambda: f"msg_01{secrets.token_hex(11)}")
    tool_ids: tuple[str, ...] = field(default_factory=tuple)
    time_s: int = field(default_factory=lambda: int(time.time()))

    @property
    def output_tokens(self) -> int:
        size = sum(len(orjson.dumps(_content(part, iter(("",))))) for part in self.reply.parts)
        return max(size // BYTES_PER_TOKEN, 1)

    def as_json(self) -> bytes:
        """The whole message, as the API answers without `stream`."""
        ids = iter(self.tool_ids)
        message = self._message() | {
            "content": [_content(part, ids) for part in self.reply.parts],
            "stop_reason": self._stop_reason(),
            "usage": self._usage(self.output_tokens),
        }
        return orjson.dumps(message)

    def events(self) -> Iterator[bytes]:
        """The stream, one server-sent event each."""
        yield _event("message_start", {"message": self._message() | {"usage": self._usage(1)}})
        ids = iter(self.tool_ids)
        for index, part in enumerate(self.reply.parts):
            yield _event("content_block_start", {"index": index, "content_block": _opening(part, ids)})
            if index == 0:
                yield _event("ping", {})
            for delta in _deltas(part):
                yield _event("content_block_delta", {"index": index, "delta": delta})
            yield _event("content_block_stop", {"index": index})
        delta = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        yield _event("message_delta", {"delta": delta, "usage": self._usage(self.output_tokens)})
        yield _event("message_stop", {})

    def _message(self) -> dict[str, Any]:
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _usage(self, output_tokens: int) -> dict[str, Any]:
        return {
            "input_tokens": self.usage.input_tokens,
            "cache_creation_input_tokens": self.usage.cache_write_tokens,
            "cache_read_input_tokens": self.usage.cache_read_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.usage.cache_write_tokens,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": output_tokens,
            "service_tier": "standard",
        }

    def _stop_reason(self) -> str:
        has_tool = any(isinstance(part, UseTool) for part in self.reply.parts)
        return self.reply.stop_reason or ("tool_use" if has_tool else "end_turn")


def settle(reply: Reply, model: str, usage: CacheUsage) -> ReplyBody:
    """The reply with fresh ids where it has none."""
    tools = [part for part in reply.parts if isinstance(part, UseTool)]
    ids = tuple(tool.id or f"toolu_01{secrets.token_hex(11)}" for tool in tools)
    return ReplyBody(reply, model, usage, tool_ids=ids)


def failure_json(failure: Failure, request_id: str) -> bytes:
    """The provider's error document."""
    error = {"type": failure.type, "message": failure.message}
    return orjson.dumps({"type": "error", "error": error, "request_id": request_id})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps({"type": name} | data) + b"\n\n"


def _content(part: ReplyPart, ids: Iterator[str]) -> dict[str, Any]:
    match part:
        case Say(text):
            return {"type": "text", "text": text}
        case Think(text):
            return {"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}
        case UseTool(name, arguments, _):
            return {"type": "tool_use", "id": next(ids), "name": name, "input": arguments}


def _opening(part: ReplyPart, ids: Iterator[str]) -> dict[str, Any]:
    match part:
        case Say():
            return {"type": "text", "text": ""}
        case Think():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case UseTool():
            return _content(part, ids) | {"input": {}}


def _deltas(part: ReplyPart) -> Iterator[dict[str, Any]]:
    match part:
        case Say(text):
            for piece in pieces(text):
                yield {"type": "text_delta", "text": piece}
        case Think(text):
            for piece in pieces(text):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": "c2NyaXB0ZWQ="}
        case UseTool(_, arguments, _):
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in pieces(orjson.dumps(arguments).decode()):
                yield {"type": "input_json_delta", "partial_json": piece}


def pieces(text: str) -> Iterator[str]:
    """The text as the deltas of a stream hold it."""
    for start in range(0, len(text), DELTA_CHARACTERS):
        yield text[start : start + DELTA_CHARACTERS]

"""A request's messages, decoded as they are asked for: most of a history is never looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import orjson

from spanlore.genai.messages import (
    Message,
    Part,
    Role,
    ToolCall,
    ToolDefinition,
    canonical_json,
    content_hash,
    part_to_json,
)
from spanlore.harness.preamble import preamble
from spanlore_proxy.conversation.claude_code import BILLING_PREFIX
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import WireRequest

_ASSISTANT = Role.ASSISTANT.value


class View:
    """One request, read through its dialect's codec. Lives for one observation."""

    def __init__(self, request: WireRequest, chain: bytes | None = None, *, harness: str = "unknown") -> None:
        """`chain`: the messages' digests, where they are known.

        Raises:
            KeyError: The request's dialect has no codec (`dialect.recognise` names none such).
        """
        self._request = request
        self._codec = CODECS[request.dialect]
        self._decoded: dict[int, Message] = {}
        self.harness = harness
        self.opening = preamble(request.raw_messages, harness)
        """Index of the first message that the client did not make up."""
        self.chain = b"".join(map(self._codec.message_digest, request.raw_messages)) if chain is None else chain

    @property
    def raw_messages(self) -> Sequence[dict[str, Any]]:
        """The messages as they came."""
        return self._request.raw_messages

    def __len__(self) -> int:
        return len(self._request.raw_messages)

    def message(self, index: int) -> Message:
        """The message at that index."""
        found = self._decoded.get(index)
        if found is None:
            found = self._decoded[index] = self._codec.decode_message(self._request.raw_messages[index])
        return found

    def messages(self, first: int) -> tuple[Message, ...]:
        """All messages from that index on."""
        return tuple(self.message(index) for index in range(first, len(self)))

    def at(self, indices: Iterable[int]) -> tuple[Message, ...]:
        """The messages at those indices."""
        return tuple(self.message(index) for index in indices)

    def echo_of(self, raw_output: dict[str, Any] | None) -> bytes:
        """Digest of an answer as the client would send it back, b"" without one."""
        return self._codec.message_digest(raw_output) if raw_output is not None else b""

    def is_assistant(self, index: int) -> bool:
        """Whether the model said it; without decoding."""
        return bool(self._request.raw_messages[index].get("role") == _ASSISTANT)

    def answers_before(self, index: int) -> int:
        """How many messages of the model stand before that index."""
        return self._answers.count(1, 0, index)

    @cached_property
    def _answers(self) -> bytes:
        """One byte a message: 1 where the model said it."""
        return bytes([raw.get("role") == _ASSISTANT for raw in self._request.raw_messages])

    def after_last_answer(self) -> int:
        """Index after the model's last message; 0 when it has said nothing yet."""
        raw = self._request.raw_messages
        return next((i + 1 for i in range(len(raw) - 1, -1, -1) if raw[i].get("role") == _ASSISTANT), 0)

    def tool_calls_before(self, index: int) -> tuple[int, dict[str, ToolCall]]:
        """The calls of the model's last message before that index, and that message's index; (-1, {}) without one."""
        for i in range(index - 1, -1, -1):
            if self.is_assistant(i):
                return i, {part.id: part for part in self.message(i).parts if isinstance(part, ToolCall)}
        return -1, {}

    def position_of_call(self, ids: frozenset[str]) -> int:
        """Index of the model's message that asked for one of these tools, -1 when it is not there."""
        raw = self._request.raw_messages
        for i in range(len(raw) - 1, -1, -1):
            if self.is_assistant(i) and not ids.isdisjoint(_call_ids(raw[i])):
                return i
        return -1

    def system(self, known: tuple[str, ...]) -> tuple[tuple[Part, ...], str | None]:
        """(system prompt, its hash); the prompt is left empty when its hash is known.

        Claude Code's first block changes with every call and is not part of it.
        """
        parts = tuple(
            part for part in self._codec.decode_system(self._request) if not _text(part).startswith(BILLING_PREFIX)
        )
        if not parts:
            return (), None
        digest = content_hash("\x00".join(_text(part) or canonical_json(part_to_json(part)) for part in parts))
        return (() if digest in known else parts), digest

    def tools(self, known: tuple[str, ...]) -> tuple[tuple[ToolDefinition, ...], str | None]:
        """(tool definitions, their hash); the definitions are left empty when their hash is known."""
        raw = self._request.raw_tools
        if not raw:
            return (), None
        digest = content_hash(orjson.dumps(raw, option=orjson.OPT_NON_STR_KEYS).decode("utf-8", "replace"))
        return (() if digest in known else self._codec.decode_tools(self._request)), digest


def _text(part: Part) -> str:
    content = getattr(part, "content", "")
    return content if isinstance(content, str) else ""


def _call_ids(raw: dict[str, Any]) -> set[str]:
    """Ids of the tool calls of a raw message: whatever its blocks call them."""
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    calls = raw.get("tool_calls")
    blocks = [*blocks, *(calls if isinstance(calls, list) else [])]
    named = (block.get(key) for block in blocks if isinstance(block, dict) for key in ("id", "call_id"))
    return {id_ for id_ in named if isinstance(id_, str)}

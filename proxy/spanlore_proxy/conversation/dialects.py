"""The one place that knows which module reads which dialect's raw messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import Message, Part, ToolDefinition
from spanlore_proxy.wire import anthropic, bedrock, gemini, openai_chat, openai_responses
from spanlore_proxy.wire.request import WireRequest


@dataclass(frozen=True, slots=True)
class Reader:
    """How a dialect's raw messages are read."""

    digest: Callable[[dict[str, Any]], bytes]
    """16 bytes that identify a message, however the client writes it."""
    decode_message: Callable[[dict[str, Any]], Message]
    decode_system: Callable[[WireRequest], tuple[Part, ...]]
    decode_tools: Callable[[WireRequest], tuple[ToolDefinition, ...]]


READERS: Final[Mapping[Dialect, Reader]] = {
    Dialect.ANTHROPIC_MESSAGES: Reader(
        digest=anthropic.message_digest,
        decode_message=anthropic.decode_message,
        decode_system=anthropic.decode_system,
        decode_tools=anthropic.decode_tools,
    ),
    Dialect.OPENAI_CHAT: Reader(
        digest=openai_chat.message_digest,
        decode_message=openai_chat.decode_message,
        decode_system=openai_chat.decode_system,
        decode_tools=openai_chat.decode_tools,
    ),
    Dialect.OPENAI_RESPONSES: Reader(
        digest=openai_responses.message_digest,
        decode_message=openai_responses.decode_message,
        decode_system=openai_responses.decode_system,
        decode_tools=openai_responses.decode_tools,
    ),
    Dialect.GEMINI: Reader(
        digest=gemini.message_digest,
        decode_message=gemini.decode_message,
        decode_system=gemini.decode_system,
        decode_tools=gemini.decode_tools,
    ),
    Dialect.BEDROCK: Reader(
        digest=bedrock.message_digest,
        decode_message=bedrock.decode_message,
        decode_system=bedrock.decode_system,
        decode_tools=bedrock.decode_tools,
    ),
}
"""A later dialect adds its line here; nothing else in this package changes."""

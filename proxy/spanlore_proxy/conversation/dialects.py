"""The one place that knows which module reads which dialect's raw messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import Message, Part, ToolDefinition
from spanlore_proxy.wire import anthropic
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
}
"""A later dialect adds its line here; nothing else in this package changes."""

"""One request as a scripted model server received it: the exact bytes, and what a script wants to know of them."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

REMINDER = re.compile(r"^<system-reminder>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One HTTP request, complete."""

    method: str
    path: str
    """With its query."""
    headers: tuple[tuple[str, str], ...]
    """As they came, names in lower case."""
    body: bytes
    """As it came, content encoding included."""
    time_ns: int
    request_id: str
    """Sent back in the `request-id` header."""
    frame: bytes = b""
    """The WebSocket message that it came in, whose history the server holds; `body` is then the whole of it."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)

    @property
    def decoded(self) -> bytes:
        """The body without its content encoding (gzip, deflate, zstd; others stay as they are)."""
        match self.header("content-encoding"):
            case "gzip":
                return gzip.decompress(self.body)
            case "deflate":
                return zlib.decompress(self.body)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(self.body)
            case _:
                return self.body

    @property
    def document(self) -> dict[str, Any] | None:
        """The parsed body, or None when it is not a JSON object."""
        try:
            value = orjson.loads(self.decoded)
        except (orjson.JSONDecodeError, OSError, zlib.error, zstandard.ZstdError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def has_tools(self) -> bool:
        """True for an agent's main loop; its side calls (titles, probes) have no tools."""
        return bool((self.document or {}).get("tools"))

    @property
    def session_id(self) -> str:
        """The agent's own session id, '' when it sends none."""
        return self.header("x-claude-code-session-id") or ""

    @property
    def system_texts(self) -> tuple[str, ...]:
        system = (self.document or {}).get("system")
        if isinstance(system, str):
            return (system,)
        return tuple(str(block.get("text", "")) for block in system or () if isinstance(block, dict))

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        return tuple(message for message in (self.document or {}).get("messages") or () if isinstance(message, dict))

    @property
    def newest_prompt(self) -> str:
        """What was said last in a user message that answers no tool call, reminders left out; '' when nothing was."""
        for message in reversed(self.messages):
            blocks = content_blocks(message)
            if message.get("role") != "user" or any(block.get("type") == "tool_result" for block in blocks):
                continue
            texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
            plain = [text for text in texts if not REMINDER.match(text.lstrip())]
            if plain:
                return plain[-1]
        return ""

    @property
    def results_since_prompt(self) -> tuple[dict[str, Any], ...]:
        """All tool_result blocks since the newest prompt, oldest first: what the model has tried in this turn."""
        out: list[dict[str, Any]] = []
        for message in reversed(self.messages):
            if message.get("role") != "user":
                continue
            results = [block for block in content_blocks(message) if block.get("type") == "tool_result"]
            if not results:
                break
            out[:0] = results
        return tuple(out)

    def mentions(self, text: str) -> bool:
        """Whether `text` stands anywhere in the request's system prompt or messages."""
        return any(text in known for known in self.texts())

    def texts(self) -> tuple[str, ...]:
        """Every text of the system prompt and of the messages, results of tools included."""
        out = list(self.system_texts)
        for message in self.messages:
            out.extend(block_text(block) for block in content_blocks(message))
        return tuple(out)


def content_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The message's content blocks; a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def block_text(block: dict[str, Any]) -> str:
    """The text of a text, thinking, tool_use or tool_result block."""
    match block.get("type"):
        case "tool_result":
            return "\n".join(block_text(inner) for inner in content_blocks(block))
        case "tool_use":
            return orjson.dumps(block.get("input")).decode()
        case _:
            return str(block.get("text") or block.get("thinking") or "")

"""Bodies of the Messages API for tests of the proxy, as a client writes them and as the API answers."""

from __future__ import annotations

import json
from typing import Any

import orjson

AGENT_HEADERS = (
    "x-api-key: sk-ant-api03-" + "A" * 40,
    "anthropic-version: 2023-06-01",
    "content-type: application/json",
    "X-Claude-Code-Session-Id: 5f0c1a52-0000-4000-8000-000000000001",
    "x-claude-code-request-class: main",
    "User-Agent: claude-cli/2.1.332 (external, sdk-cli)",
)


def request_body(*said: str, **changes: Any) -> bytes:
    """A main-loop request; `said` alternates between user and assistant."""
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(said or ("say hello",))
    ]
    document: dict[str, Any] = {
        "model": "claude-opus-5-5",
        "messages": messages,
        "system": [{"type": "text", "text": "You are an agent."}],
        "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}],
        "max_tokens": 100,
        "stream": True,
    }
    return orjson.dumps({**document, **changes})


def message(text: str = "hello", message_id: str = "msg_1", **changes: Any) -> bytes:
    """A whole answer as JSON."""
    document = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    return json.dumps({**document, **changes}).encode()


def events(*texts: str, message_id: str = "msg_1") -> list[bytes]:
    """The same answer as server-sent events, one a text delta; each is one element."""
    start = json.loads(message("", message_id)) | {"content": [], "stop_reason": None}
    frames: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            for text in texts or ("hel", "lo")
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return [f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode() for frame in frames]

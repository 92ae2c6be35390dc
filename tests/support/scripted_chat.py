"""A model server that speaks OpenAI Chat Completions by a script, and counts a word as a token."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Policy = Callable[[dict[str, Any]], str]
"""The request's document → what the model says."""

_TOLD = re.compile(r"<spanlore-(memory|hint)\b.*?</spanlore-\1>", re.S)


def told(document: dict[str, Any], tag: str = "") -> list[str]:
    """What stands in back-ticks within what spanlore inserted (`memory`, `hint`, or both), in order."""
    text = "\n".join(str(message.get("content") or "") for message in document["messages"])
    parts = [found[0] for found in _TOLD.finditer(text) if tag in ("", found[1])]
    return [code for part in parts for code in re.findall(r"`([^`]+)`", part)]


def obeys(document: dict[str, Any]) -> str:
    """Says what the memory says last, wherever it stands; without one, the same again."""
    return f"I run `{told(document)[-1]}`." if told(document) else "make it so"


def obeys_hints(document: dict[str, Any]) -> str:
    """Reads only what stands beside a failure."""
    return told(document, "hint")[-1] if told(document, "hint") else "ls"


class ScriptedChat:
    """The server, for as long as the block lasts."""

    def __init__(self, policy: Policy, *, status: int = 200, answer: bytes = b"") -> None:
        """`answer` instead of what the policy says."""
        self.policy = policy
        self.status = status
        self.answer = answer
        self.received: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        chat = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers["content-length"])))
                chat.received.append({"path": self.path, **document})
                body = chat.answer or json.dumps(_completion(document, chat.policy(document))).encode()
                self.send_response(chat.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _completion(document: dict[str, Any], text: str) -> dict[str, Any]:
    words = sum(len(str(message.get("content") or "").split()) for message in document["messages"])
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": document["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": words, "completion_tokens": 1, "total_tokens": words + 1},
    }

"""A server that gives the answers it was handed, one after the other."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Upstream:
    """Answers in order; keeps the bodies that it was sent."""

    answers: list[tuple[str, bytes] | bytes] = field(default_factory=list)
    """(content type, body), or a body that says by itself whether it is JSON or events."""
    received: list[tuple[str, bytes]] = field(default_factory=list)
    """(path, body)."""
    port: int = 0

    def __enter__(self) -> Self:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                upstream.received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
                content_type, body = _typed(upstream.answers.pop(0))
                self.send_response(200)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _typed(answer: tuple[str, bytes] | bytes) -> tuple[str, bytes]:
    if isinstance(answer, tuple):
        return answer
    return "application/json" if answer[:1] == b"{" else "text/event-stream", answer

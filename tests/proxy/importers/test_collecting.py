"""The importer's way to the collector."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spanlore_proxy.importers.collecting import CollectorError, CollectorLink


class _Refusing(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.end_headers()
        self.wfile.write(b"who are you")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[int]:
    """A server that takes nothing."""
    server = HTTPServer(("127.0.0.1", 0), _Refusing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_a_refusal_is_told_with_its_reason(refusing: int) -> None:
    """What will not pass with time is not tried again."""
    with pytest.raises(CollectorError, match=r"401.*who are you"):
        CollectorLink(refusing, refusing, "t").known("s")

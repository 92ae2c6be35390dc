"""A client behind the proxy that has no opinion of its own: it sends the bytes it is given and reads what comes."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from spanlore.settings import Paths
from support.messages_api import Response, request_document

HOST = "api.anthropic.com"
MESSAGES = "/v1/messages?beta=true"


@dataclass
class ProxiedClient:
    """One session behind the proxy of a running daemon."""

    paths: Paths
    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    port: int = 0
    """Of the proxy, as an agent was told when it began; 0 looks it up each time."""
    patience_s: float = 120
    """How long it waits for anything at all; agents wait for minutes."""

    def connect(self) -> http.client.HTTPSConnection:
        """A connection to the API's host through the tunnel, trusting only the proxy's authority."""
        port = self.port or json.loads(self.paths.daemon_file.read_bytes())["proxy_port"]
        trust = ssl.create_default_context(cafile=str(self.paths.ca_cert))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=self.patience_s, context=trust)
        connection.set_tunnel(HOST)
        return connection

    def send(self, body: bytes | None, path: str = MESSAGES, **headers: str) -> Response:
        """One request, its answer read as far as it comes."""
        connection = self.connect()
        try:
            connection.request("POST" if body is not None else "GET", path, body, self.headers(**headers))
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, headers, *_read(response))
        finally:
            connection.close()

    def infer(self, *said: str, **changes: Any) -> Response:
        """One inference as an agent would ask for it."""
        return self.send(json.dumps(request_document(*said, **changes)).encode())

    def headers(self, **more: str) -> dict[str, str]:
        names = {name.replace("_", "-"): value for name, value in more.items()}
        return {
            "content-type": "application/json",
            "x-api-key": "sk-ant-api03-test-only",
            "user-agent": "claude-cli/2.1.332 (external, sdk-cli)",
            "x-claude-code-session-id": self.session_id,
            "x-claude-code-request-class": "main",
        } | names


def counted(paths: Paths, name: str, reason: str = "") -> int:
    """One of the proxy's counters (over all reasons if none is given), once its status file is newer than now."""
    asked_at_s = time.time()
    while paths.proxy_status_file.stat().st_mtime < asked_at_s:
        time.sleep(0.05)
    counters = json.loads(paths.proxy_status_file.read_bytes())["counters"]
    reasons = counters.get(name, {})
    return int(reasons.get(reason, 0)) if reason else sum(reasons.values())


def _read(response: http.client.HTTPResponse) -> tuple[bytes, bool]:
    """All of the body that comes before the end or a broken connection, and whether it was the end."""
    parts: list[bytes] = []
    while True:
        try:
            part = response.read1(65536)
        except (http.client.IncompleteRead, ConnectionError, ssl.SSLError, OSError):
            return b"".join(parts), False
        if not part:
            return b"".join(parts), not response.length
        parts.append(part)

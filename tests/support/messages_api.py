"""A minimal client of the Messages API for tests, over plain http to a model server."""

import http.client
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Response:
    """One answer, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool = True
    """It came to its end; False where the connection broke before."""

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[dict[str, Any]]:
        """The data of the server-sent events."""
        return [json.loads(line[5:]) for line in self.body.split(b"\n") if line.startswith(b"data:")]


def request_document(*said: str, **changes: Any) -> dict[str, Any]:
    """A small request: the texts alternate between user and assistant."""
    roles = ("user", "assistant")
    messages = [{"role": roles[index % 2], "content": text} for index, text in enumerate(said)]
    tool = {"name": "Bash", "description": "Runs a command", "input_schema": {"type": "object"}}
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages, "tools": [tool]} | changes


def send(port: int, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Response:
    """POST with a body, GET without. http.client reads cut streams as far as they came."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        connection.request("POST" if body is not None else "GET", path, body, headers or {})
        response = connection.getresponse()
        try:
            data = response.read()
        except http.client.IncompleteRead as error:
            data = error.partial
        except ConnectionResetError:
            data = b""
        return Response(response.status, {key.lower(): value for key, value in response.getheaders()}, data)
    finally:
        connection.close()


def infer(port: int, document: dict[str, Any]) -> Response:
    """One inference."""
    return send(port, "/v1/messages?beta=true", json.dumps(document).encode(), {"content-type": "application/json"})

"""Recorded traffic read back."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
import yaml

from spanlore_proxy.importers.cassettes import MalformedRecordingError, read_exchanges, recordings_below
from spanlore_proxy.wire.exchange import End
from support import recordings

ANSWER = recordings.anthropic("json_message").body
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "4+3"}]}


def cassette(folder: Path, document: object, name: str = "one.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(document))
    return path


def test_vcrpy(tmp_path: Path) -> None:
    """Python cassettes: binary gzip bodies, headers as lists, credentials stripped."""
    request = {
        "method": "POST",
        "uri": "https://API.anthropic.com/v1/messages?beta=true&key=AIzaX",
        "headers": {"X-Api-Key": ["sk-ant-x"], "Content-Type": ["application/json"]},
        "body": json.dumps(REQUEST),
    }
    response = {
        "status": {"code": 200, "message": "OK"},
        "headers": {"content-encoding": ["gzip"], "content-type": ["application/json"]},
        "body": {"string": gzip.compress(ANSWER)},
    }
    (exchange,) = read_exchanges(
        cassette(tmp_path, {"version": 1, "interactions": [{"request": request, "response": response}]})
    )

    assert (exchange.method, exchange.host, exchange.port) == ("POST", "api.anthropic.com", 443)
    assert exchange.path == "/v1/messages?beta=true&key=[credential:query]"
    assert exchange.header("x-api-key") == "[credential:x-api-key]"
    assert json.loads(exchange.request_body) == REQUEST
    assert exchange.response_body == ANSWER
    assert (exchange.status_code, exchange.end) == (200, End.COMPLETE)


def test_parsed_bodies(tmp_path: Path) -> None:
    """pydantic-ai's cassettes hold JSON already parsed."""
    interaction = {
        "request": {"method": "POST", "uri": "http://localhost:11434/v1/messages", "parsed_body": REQUEST},
        "response": {"status": {"code": 400}, "parsed_body": {"type": "error"}},
    }
    (exchange,) = read_exchanges(cassette(tmp_path, {"interactions": [interaction]}))

    assert json.loads(exchange.request_body) == REQUEST
    assert (exchange.response_body, exchange.status_code, exchange.port) == (b'{"type":"error"}', 400, 11434)


def test_ruby(tmp_path: Path) -> None:
    """Ruby's cassettes: `http_interactions`, and `!binary` with one mark."""
    text = f"""
http_interactions:
- request: {{method: post, uri: 'https://api.anthropic.com/v1/messages', headers: {{}}, body: {{encoding: UTF-8, string: '{{}}'}}}}
  response:
    status: {{code: 200}}
    headers: {{Content-Type: [application/json]}}
    body: {{encoding: ASCII-8BIT, string: !binary '{base64.b64encode(ANSWER).decode()}'}}
"""  # noqa: E501
    path = tmp_path / "ruby.yml"
    path.write_text(text)
    (exchange,) = read_exchanges(path)

    assert (exchange.method, exchange.response_body) == ("POST", ANSWER)


def test_a_recorder_that_decoded_and_left_the_header(tmp_path: Path) -> None:
    """A body that is not in its encoding is taken as it is."""
    interaction = {
        "request": {"method": "POST", "uri": "https://x/v1/messages", "body": None},
        "response": {"status": {"code": 200}, "headers": {"content-encoding": "br"}, "body": {"string": "{}"}},
    }
    (exchange,) = read_exchanges(cassette(tmp_path, {"interactions": [interaction]}))

    assert (exchange.request_body, exchange.response_body) == (b"", b"{}")


def test_chunk_dumps(tmp_path: Path) -> None:
    """A dump of several answers gives one exchange each, as event streams again."""
    folder = tmp_path / "anthropic"
    folder.mkdir()
    dump = folder / "two.1.chunks.txt"
    dump.write_text('{"type":"message_start"}\n{"type":"message_stop"}\n\n{"type":"message_start"}\n')
    first, second = read_exchanges(dump)

    assert (first.host, first.path) == ("api.anthropic.com", "/v1/messages")
    assert first.response_header("content-type") == "text/event-stream"
    assert first.response_body == (
        b'event: message_start\ndata: {"type":"message_start"}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    assert b"message_stop" not in second.response_body
    assert first.id != second.id


def test_websocket_recordings_hold_no_exchange(tmp_path: Path) -> None:
    """Messages of a WebSocket are no exchanges, and no error."""
    assert read_exchanges(cassette(tmp_path, {"interactions": [{"kind": "message", "data": "x"}]})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "just words"), ("b.yml", "{[" * 3), ("c.json", "{"), ("d.yaml", ""), ("e.yaml", 'a: !!int ""')],
)
def test_what_is_no_recording(tmp_path: Path, name: str, text: str) -> None:
    """A file of another kind is an error of that file."""
    (tmp_path / name).write_text(text)
    with pytest.raises(MalformedRecordingError):
        read_exchanges(tmp_path / name)


def test_which_files(tmp_path: Path) -> None:
    """Only files that may be recordings are listed, in a fixed order."""
    for name in ("b.yaml", "a.txt", "c.md", "d.json"):
        (tmp_path / name).touch()

    assert [path.name for path in recordings_below(tmp_path)] == ["a.txt", "b.yaml", "d.json"]

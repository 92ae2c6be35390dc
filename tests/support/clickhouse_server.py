"""`python -m support.clickhouse_server DIR PORT MODE_FILE`: a ClickHouse server over HTTP that misbehaves on command.

Behind it is the embedded engine, so that it takes the same SQL and keeps the same promises as a server, deduplication
tokens included. MODE_FILE holds one word: `well`; `refuse` answers 503; `slow` waits before each answer; `deaf` does
what it is told and then breaks the connection, so that the client never hears of it (inserts only). It answers one
request at a time; kill it and start it again for a restart. For tests.
"""

from __future__ import annotations

import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chdb

SLOW_S = 0.3
_SETTINGS = ("insert_deduplication_token", "exclude_materialize_skip_indexes_on_insert")
_INSERT = re.compile(rb"\s*INSERT INTO (.*?)FORMAT (\w+)\n", re.DOTALL)


class Engine:
    """The embedded engine, one query at a time."""

    def __init__(self, folder: Path) -> None:
        self._connection = chdb.connect(str(folder))
        self._lock = threading.Lock()

    def run(self, body: bytes, asked: dict[str, str]) -> bytes:
        """The answer to one request; raises `RuntimeError` with the engine's message."""
        with self._lock, tempfile.NamedTemporaryFile(suffix=".data") as file:
            self._connection.query(f"USE `{asked.get('database', 'default')}`")
            insert = _INSERT.match(body)
            if insert:
                file.write(body[insert.end() :])
                file.flush()
                named = ", ".join(f"{key} = '{asked[key]}'" for key in _SETTINGS if key in asked)
                settings = f" SETTINGS {named}" if named else ""
                target, form = insert[1].decode(), insert[2].decode()
                sql = f"INSERT INTO {target} FROM INFILE '{file.name}'{settings} FORMAT {form}"
            else:
                sql = body.decode()
            params = {key.removeprefix("param_"): value for key, value in asked.items() if key.startswith("param_")}
            answer: Any = self._connection.query(sql, asked.get("default_format", "TabSeparated"), params=params)
            return bytes(answer.bytes() or b"")


class Handler(BaseHTTPRequestHandler):
    """ClickHouse's HTTP interface, as far as clickhouse-connect needs it."""

    protocol_version = "HTTP/1.1"
    engine: Engine
    mode_file: Path

    def do_GET(self) -> None:
        """/ping, and queries in the address."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Queries and inserts in the body."""
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            self._answer(b"".join(self._chunks()))
        else:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, body: bytes) -> None:
        asked = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        query = asked.pop("query", "").encode()
        body = query + b"\n" + body if query and body else query or body
        mode = self.mode_file.read_text()
        if mode == "slow":
            time.sleep(SLOW_S)
        if mode == "refuse":
            self._send(503, b"Code: 210. DB::Exception: not now. (NETWORK_ERROR)", 210)
            return
        try:
            data = self.engine.run(body, asked)
        # The engine's binding raises several unrelated types; each is an answer.
        except Exception as error:
            code = re.search(r"Code: (\d+)", str(error))
            self._send(500, str(error).encode(), int(code[1]) if code else 1)
            return
        if mode == "deaf" and body.lstrip().startswith(b"INSERT"):
            self.close_connection = True
            self.connection.close()
            return
        self._send(200, data)

    def _send(self, status: int, data: bytes, code: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if code:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(data)


def main(folder: str, port: str, mode_file: str) -> None:
    """Serves until killed; prints a line when it listens."""
    Handler.engine, Handler.mode_file = Engine(Path(folder)), Path(mode_file)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

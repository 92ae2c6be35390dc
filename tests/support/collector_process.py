"""A real collector in a process of its own, on free ports, and HTTP to talk to it by the standard library alone."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from spanlore.otlp.codec import encode_request
from spanlore.settings import Paths, child_environment
from spanlore.spans.record import SpanRecord

START_TIMEOUT_S = 300
PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class CollectorProcess:
    """Starts where `state_dir` says; the same directory again is the same store."""

    def __init__(self, state_dir: Path, module: Sequence[str] = ("spanlore_collector",), **environment: str) -> None:
        """`module` is what is run, with its arguments."""
        self._module = module
        self.paths = Paths(state_dir / "config", state_dir)
        self._environment = child_environment(
            {
                "SPANLORE_CONFIG_DIR": str(self.paths.config_dir),
                "SPANLORE_STATE_DIR": str(self.paths.state_dir),
                "SPANLORE_COLLECTOR_PORT": "0",
                "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": "0",
                **environment,
            }
        )
        self.has_server = bool(environment.get("SPANLORE_CLICKHOUSE_URL"))
        """With a server of its own it has no ClickHouse interface."""
        self.token = self.paths.token()
        self.log: list[str] = []
        self.port = self.clickhouse_port = 0
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Of OTLP and the API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def clickhouse_url(self) -> str:
        """Of the read-only ClickHouse interface."""
        return f"http://127.0.0.1:{self.clickhouse_port}"

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process is not None
        return self._process.pid

    def launch(self) -> None:
        """Starts the process without waiting until it listens."""
        self.log, self.port, self.clickhouse_port = [], 0, 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", *self._module], env=self._environment, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def start(self) -> Self:
        """Starts the process and waits until it listens."""
        self.launch()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not (self.port and (self.clickhouse_port or self.has_server)):
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the collector did not start:\n" + "".join(self.log[-20:]))
            time.sleep(0.02)
        return self

    def _read_log(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.log.append(line)
                if found := re.search(r"OTLP and API on http://[\d.]+:(\d+)", line):
                    self.port = int(found[1])
                elif found := re.search(r"ClickHouse interface.* on http://[\d.]+:(\d+)", line):
                    self.clickhouse_port = int(found[1])

    def wait(self, timeout_s: float = 30) -> int:
        """The exit code, once it has ended."""
        assert self._process is not None and self._reader is not None
        code = self._process.wait(timeout_s)
        self._reader.join(5)
        return code

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """To the API, with the token unless `headers` has an Authorization of its own."""
        return send(self.url + path, method, body, {"Authorization": f"Bearer {self.token}", **(headers or {})})

    def post_spans(self, records: Sequence[SpanRecord]) -> Reply:
        """OTLP, protobuf."""
        return self.post_body(encode_request(records))

    def post_body(self, body: bytes, **headers: str) -> Reply:
        """OTLP with other headers."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return self.request("POST", "/v1/traces", body, {"Content-Type": PROTOBUF, **named})

    def query(self, sql: str, **params: str) -> Reply:
        """To the ClickHouse interface, as curl would; `params` go into the query string."""
        basic = base64.b64encode(f"spanlore:{self.token}".encode()).decode()
        path = f"/?{urllib.parse.urlencode(params)}" if params else "/"
        return send(self.clickhouse_url + path, "POST", sql.encode(), {"Authorization": f"Basic {basic}"})

    def rows(self, sql: str) -> list[Any]:
        """The rows of a query; of one column its values, of several lists."""
        reply = self.query(f"{sql} FORMAT JSONCompactEachRow")
        assert reply.status == 200, reply.body.decode()
        rows = [json.loads(line) for line in reply.body.splitlines()]
        return [row[0] if len(row) == 1 else row for row in rows]


def send(url: str, method: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
    """One request; an error status is an answer like any other."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return Reply(answer.status, dict(answer.headers), answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, dict(error.headers), error.read())

"""The web page's process, on a free port, and a plain HTTP client that keeps its cookie."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlencode

from spanlore.settings import Paths, child_environment
from support.collector_process import Reply

START_TIMEOUT_S = 300


class WebProcess:
    """Runs the page over the state directory of a collector that runs already (or not)."""

    def __init__(
        self, paths: Paths, collector_port: int = 0, clickhouse_port: int = 0, more: Mapping[str, str] | None = None
    ) -> None:
        """`more` is put into its environment."""
        self.paths = paths
        self.port = 0
        self.log: list[str] = []
        if collector_port:
            daemon = {"pid": 0, "collector_port": collector_port, "clickhouse_port": clickhouse_port, "processes": []}
            paths.daemon_file.write_text(json.dumps(daemon))
        environment = child_environment(
            {
                "SPANLORE_CONFIG_DIR": str(paths.config_dir),
                "SPANLORE_STATE_DIR": str(paths.state_dir),
                "SPANLORE_WEB_PORT": "0",
                "TZ": "UTC",
                **(more or {}),
            }
        )
        command = [sys.executable, "-m", "spanlore_dashboards.web"]
        self._process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        until = time.monotonic() + START_TIMEOUT_S
        while not self.port:
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the web page did not start:\n" + "".join(self.log[-20:]))
            time.sleep(0.02)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def login_url(self) -> str:
        return f"{self.url}/login?token={self.paths.web_login()}"

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.log.append(line)
                if found := re.search(r"listening on http://[\d.]+:(\d+)", line):
                    self.port = int(found[1])

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self._process.terminate()
        code = self._process.wait(20)
        self._reader.join(5)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def send(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Reply:
        """One request, redirects not followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    @property
    def cookie(self) -> dict[str, str]:
        """Of somebody who logged in."""
        made = self.send("GET", f"/login?token={self.paths.web_login()}").headers["Set-Cookie"]
        return {"Cookie": made.split(";")[0]}

    def get(self, path: str) -> str:
        """A page, seen by somebody who logged in."""
        reply = self.send("GET", path, self.cookie)
        assert reply.status == 200, (reply.status, reply.body.decode()[-2000:])
        return reply.body.decode()

    def post_form(self, path: str, **fields: str) -> Reply:
        """A form as the page's own browser sends it."""
        headers = {**self.cookie, "Content-Type": "application/x-www-form-urlencoded", "Origin": self.url}
        return self.send("POST", path, headers, urlencode(fields).encode())

    def api(self, path: str, method: str = "GET", body: object = None) -> Reply:
        """The API, with the installation's token."""
        headers = {"Authorization": f"Bearer {self.paths.token()}", "Content-Type": "application/json"}
        return self.send(method, f"/api/v1{path}", headers, None if body is None else json.dumps(body).encode())

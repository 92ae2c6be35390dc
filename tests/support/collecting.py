"""A real collector in a process of its own, on free ports and a store of its own, for tests that read or write it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spanlore.otlp.codec import encode_request
from spanlore.settings import Paths, Settings, child_environment
from spanlore.spans.record import SpanRecord
from spanlore_collector.store.api_client import MemoryClient, connect
from spanlore_collector.store.reader import Reader

START_WITHIN_S = 60.0


@dataclass
class Collecting:
    """The running collector, and both ways to it."""

    paths: Paths
    environment: dict[str, str]
    """For a `spanlore` command that is to find it."""
    url: str
    reader: Reader
    client: MemoryClient
    process: subprocess.Popen[bytes]

    def send(self, spans: Sequence[SpanRecord]) -> None:
        """Delivers spans; they are committed when this returns."""
        headers = {"Authorization": f"Bearer {self.paths.token()}", "Content-Type": "application/x-protobuf"}
        for low in range(0, len(spans), 500):
            body = encode_request(spans[low : low + 500])
            request = urllib.request.Request(f"{self.url}/v1/traces", data=body, headers=headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 200

    def spanlore(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command against it."""
        command = [sys.executable, "-m", "spanlore", *arguments]
        return subprocess.run(command, env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=60)


@contextmanager
def collecting(folder: Path) -> Iterator[Collecting]:
    """A collector whose state is below `folder`, until the block ends."""
    environment = child_environment(
        {
            "SPANLORE_STATE_DIR": str(folder / "state"),
            "SPANLORE_CONFIG_DIR": str(folder / "config"),
            "COLUMNS": "80",
        }
    )
    paths = Paths.from_environ(environment)
    paths.ensure()
    ports = _free_ports(2)
    environment["SPANLORE_COLLECTOR_PORT"] = str(ports[0])
    environment["SPANLORE_COLLECTOR_CLICKHOUSE_PORT"] = str(ports[1])
    with (folder / "collector.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "spanlore_collector"], env=environment, stderr=log)
    try:
        url = f"http://127.0.0.1:{ports[0]}"
        _wait(f"{url}/healthz", process, folder / "collector.log")
        paths.daemon_file.write_text(
            json.dumps({"pid": process.pid, "collector_port": ports[0], "clickhouse_port": ports[1]})
        )
        reader, client = connect(Settings(), paths)
        with reader:
            yield Collecting(paths, environment, url, reader, client, process)
        client.close()
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"the collector did not start: {log.read_text()[-2000:]}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(item.getsockname()[1]) for item in sockets]
    finally:
        for item in sockets:
            item.close()

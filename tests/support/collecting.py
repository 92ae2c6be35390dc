"""A real collector and both ways to it, for tests that write through its API and read through its reader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spanlore.settings import Paths, Settings, child_environment
from spanlore.spans.record import SpanRecord
from spanlore_collector.store.api_client import MemoryClient, connect
from spanlore_collector.store.reader import Reader
from support.collector_process import CollectorProcess


@dataclass
class Collecting:
    """The running collector, and both ways to it."""

    paths: Paths
    environment: dict[str, str]
    """For a `spanlore` command that is to find it."""
    reader: Reader
    client: MemoryClient
    process: CollectorProcess

    @property
    def url(self) -> str:
        """Of OTLP and the API."""
        return self.process.url

    def send(self, spans: Sequence[SpanRecord]) -> None:
        """Delivers spans; they are committed when this returns."""
        for low in range(0, len(spans), 500):
            reply = self.process.post_spans(spans[low : low + 500])
            assert reply.status == 200, reply.body

    def spanlore(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command against it."""
        command = [sys.executable, "-m", "spanlore", *arguments]
        return subprocess.run(command, env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=300)


@contextmanager
def collecting(folder: Path, **settings: str) -> Iterator[Collecting]:
    """A collector whose state is below `folder`, until the block ends. The daemon file names it, as if `up` ran."""
    with CollectorProcess(folder / "state", **settings) as process:
        paths = process.paths
        paths.daemon_file.write_text(
            json.dumps({"pid": process.pid, "collector_port": process.port, "clickhouse_port": process.clickhouse_port})
        )
        environment = child_environment(
            {
                "SPANLORE_STATE_DIR": str(paths.state_dir),
                "SPANLORE_CONFIG_DIR": str(paths.config_dir),
                "SPANLORE_COLLECTOR_PORT": str(process.port),
                "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": str(process.clickhouse_port),
                "COLUMNS": "80",
            }
        )
        reader, client = connect(Settings(), paths)
        with reader:
            yield Collecting(paths, environment, reader, client, process)
        client.close()

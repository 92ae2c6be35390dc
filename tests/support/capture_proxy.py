"""The real proxy on a free port, in the test's own event loop, and a collector that keeps what it is sent."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from spanlore.otlp.codec import decode_request
from spanlore.settings import Paths, Settings
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture.master import listen
from spanlore_proxy.capture.service import ProxyService, serving
from spanlore_proxy.launch.ca import ensure_ca
from support.capture_upstream import api_server

HOST = "api.anthropic.com"
RUN = "run-00000000aaaa"
TOKEN = "run-token"
CREDENTIALS = f"{RUN}:{TOKEN}"
REPOSITORY = "example.org/owner/repository"


@dataclass
class Collector:
    """Answers with `status`; keeps bodies it said 200 to."""

    port: int = 0
    status: int = 200
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    """(batch token, body)."""
    refused: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def spans(self) -> list[SpanRecord]:
        return [span for _, body in self.taken for span in decode_request(body)]

    async def chats(self, count: int, *, within_s: float = 60.0) -> list[SpanRecord]:
        """The chat spans, once there are that many."""
        await until(lambda: len(self._chats()) >= count, within_s)
        return self._chats()

    def _chats(self) -> list[SpanRecord]:
        return [span for span in self.spans if span.name.startswith("chat")]


@dataclass
class RunningProxy:
    """What a test needs of it."""

    service: ProxyService
    paths: Paths
    port: int
    collector: Collector

    @property
    def ca(self) -> Path:
        return self.paths.ca_cert


@asynccontextmanager
async def running_proxy(
    folder: Path,
    *,
    collector: Collector | None = None,
    listening: socket.socket | None = None,
    grace_s: float = 0.5,
    **settings: Any,
) -> AsyncIterator[RunningProxy]:
    """The proxy with these settings, one known run, and its state in `folder`. On a busy machine the deadlines of
    injection and of looking up a process would decide what a test sees; they have time here."""
    paths = state_in(folder)
    async with collecting(collector or Collector()) as collector:
        injection = {"deadline_ms": 10_000, **settings.pop("injection", {})}
        chosen = Settings.model_validate({"collector": {"port": collector.port}, "injection": injection, **settings})
        listening = listening or listen(0)
        port = listening.getsockname()[1]
        async with serving(chosen, paths, listening, grace_s=grace_s) as service:
            service._workplaces._lookup_s = 10.0
            yield RunningProxy(service, paths, port, collector)


@asynccontextmanager
async def collecting(collector: Collector) -> AsyncIterator[Collector]:
    """A collector that listens."""

    async def take(request: web.Request, body: bytes) -> web.StreamResponse:
        if request.path != "/v1/traces":
            return web.Response(status=503)  # the proxy keeps the snapshot that it found on disk
        where = collector.taken if collector.status == 200 else collector.refused
        where.append((request.headers["x-spanlore-batch"], body))
        return web.Response(status=collector.status)

    async with api_server(take) as server:
        collector.port = server.port
        yield collector


def state_in(folder: Path) -> Paths:
    """A state directory with a CA (made once for all tests) and the run `CREDENTIALS`."""
    paths = Paths(config_dir=folder / "config", state_dir=folder / "state")
    paths.ensure()
    shared = folder.parent / "shared-ca"
    if not shared.exists():
        ensure_ca(paths)
        shutil.copytree(paths.ca_dir, shared)
    shutil.copytree(shared, paths.ca_dir, dirs_exist_ok=True)
    run = {"run_id": RUN, "token": TOKEN, "harness": "claude-code", "cwd": "/w/repository", "repository": REPOSITORY}
    (paths.runs_dir / f"{RUN}.json").write_text(json.dumps({**run, "sub_path": "", "branch": "main"}))
    return paths


async def until(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    """Waits for something to become true; fails when it does not."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.01)

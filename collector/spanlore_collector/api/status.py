"""Routes that tell how the collector is."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict, dataclass

from aiohttp import web

import spanlore
from spanlore_collector.store.client import Store
from spanlore_collector.store.figures import figures_of
from spanlore_collector.store.memories import MemoryTable
from spanlore_collector.store.writer import Writer


@dataclass(frozen=True, slots=True)
class StatusRoutes:
    """GET /healthz and GET /v1/status."""

    store: Store
    writer: Writer
    table: MemoryTable
    started_at_ns: int

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/v1/status", self.status)

    async def health(self, request: web.Request) -> web.Response:
        """200 as long as the writer lives."""
        if not self.writer.is_alive:
            return web.json_response({"status": "the writer has ended"}, status=503)
        return web.json_response({"status": "ok", "version": spanlore.__version__})

    async def status(self, request: web.Request) -> web.Response:
        """Counters of this process, and what the store holds."""
        figures = await asyncio.wrap_future(self.writer.call(figures_of))
        return web.json_response(
            {
                "version": spanlore.__version__,
                "started_at_ns": self.started_at_ns,
                "store": {"url": self.store.label, "kind": "chdb" if self.store.path else "server", **figures},
                "ingest": {**asdict(self.writer.counters), "waiting_bytes": self.writer.waiting_bytes},
                "memories": dict(Counter(memory.status.value for memory in self.table.all())),
            }
        )

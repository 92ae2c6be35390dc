"""Routes that tidy the store while it is in use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from spanlore_collector.api.guard import problem
from spanlore_collector.store.client import Store
from spanlore_collector.store.retention import compact
from spanlore_collector.store.writer import Writer


@dataclass(slots=True)
class StoreRoutes:
    """POST /v1/store/compact."""

    store: Store
    writer: Writer
    cluster: str = ""
    _is_compacting: bool = False

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_post("/v1/store/compact", self.compact)

    async def compact(self, request: web.Request) -> web.Response:
        """{"tables": […], "too_large": […], "content_deleted": n} when all is merged; 409 while another request merges.

        Merges run on a connection of their own, so that ingest goes on; only the deletion waits in the writer's queue.
        """
        if self._is_compacting:
            return problem(409, "the store is being compacted already")
        self._is_compacting = True
        try:
            gone = await asyncio.wrap_future(self.writer.prune())
            left: list[str] = []
            tables = await asyncio.to_thread(self._merge, left)
        finally:
            self._is_compacting = False
        return web.json_response({"tables": tables, "too_large": left, "content_deleted": gone})

    def _merge(self, left: list[str]) -> list[str]:
        with self.store.connect() as client:
            return list(compact(client, self.cluster, left))

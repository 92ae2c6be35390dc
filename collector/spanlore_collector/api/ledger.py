"""Route of our own model calls."""

from __future__ import annotations

import asyncio

from aiohttp import web
from pydantic import ValidationError

from spanlore_collector.api.guard import misshapen
from spanlore_collector.store.ledger import InternalCalls, insert_calls
from spanlore_collector.store.writer import Writer


class LedgerRoutes:
    """Writes through the writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def add_to(self, app: web.Application) -> None:
        """Registers the route."""
        app.router.add_post("/v1/ledger", self.append)

    async def append(self, request: web.Request) -> web.Response:
        """Appends {"calls": […]}: {"appended": n}."""
        try:
            body = InternalCalls.model_validate_json(await request.read())
        except ValidationError as error:
            return misshapen(error)
        written = self._writer.call(lambda client: insert_calls(client, body.calls))
        return web.json_response({"appended": await asyncio.shield(asyncio.wrap_future(written))})

"""Route of sessions' summaries."""

from __future__ import annotations

import asyncio

from aiohttp import web
from pydantic import ValidationError

from spanlore_collector.api.guard import misshapen
from spanlore_collector.store.summaries import Summaries, insert_summaries
from spanlore_collector.store.writer import Writer


class SummaryRoutes:
    """Writes through the writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def add_to(self, app: web.Application) -> None:
        """Registers the route."""
        app.router.add_post("/v1/summaries", self.keep)

    async def keep(self, request: web.Request) -> web.Response:
        """Keeps {"summaries": […], "chapters": […]}: {"kept": n}."""
        try:
            body = Summaries.model_validate_json(await request.read())
        except ValidationError as error:
            return misshapen(error)
        written = self._writer.call(lambda client: insert_summaries(client, body))
        return web.json_response({"kept": await asyncio.shield(asyncio.wrap_future(written))})

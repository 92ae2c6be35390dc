"""Pages that are about all sessions: search, cost, health."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiohttp import web

from spanlore_collector.store.client import StoreUnavailableError
from spanlore_dashboards.web import health
from spanlore_dashboards.web.costs import CostFilter, by_day, read_costs, today
from spanlore_dashboards.web.searching import SearchFilter, is_there_anything, search
from spanlore_dashboards.web.site import TRY_AGAIN_S, Site, asked

WEEK_NS: Final = 7 * 86_400 * 10**9
PERIODS: Final = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"), (3650, "All time"))
DIMENSIONS: Final = (
    ("model", "Model"),
    ("repository", "Repository"),
    ("agent", "Agent"),
    ("call_class", "Kind of call"),
)
PLACES: Final = (
    ("", "Everywhere"),
    ("user", "You typed"),
    ("model", "Model said"),
    ("tool", "Tools"),
)


class BoardPages:
    """Routes of search, cost and health."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/search", self.search)
        app.router.add_get("/cost", self.cost)
        app.router.add_get("/health", self.health)

    async def search(self, request: web.Request) -> web.Response:
        """Where a text stands."""
        wanted = asked(SearchFilter, request.query)
        hits = await self._site.asking.read(lambda reader: search(reader, wanted))
        is_new = not wanted.q and not await self._site.asking.read(is_there_anything)
        return await self._site.page("search.html", "search", wanted=wanted, hits=hits, places=PLACES, is_new=is_new)

    async def cost(self, request: web.Request) -> web.Response:
        """What was spent."""
        wanted = asked(CostFilter, request.query)
        now = today(self._site.now_ns())
        costs = await self._site.asking.read(lambda reader: read_costs(reader, wanted, now))
        return await self._site.page(
            "cost.html",
            "cost",
            wanted=wanted,
            costs=costs,
            days=by_day(costs),
            periods=PERIODS,
            dimensions=DIMENSIONS,
        )

    async def health(self, request: web.Request) -> web.Response:
        """How spanlore itself is. Shown even when the store is away."""
        now_ns = self._site.now_ns()
        processes = await asyncio.to_thread(health.read_processes, self._site.paths)
        values: dict[str, Any] = {"trouble": "", "pace": [], "hours": [], "collector": {}, "overhead": {}}
        try:
            values["collector"], values["pace"], values["hours"], values["overhead"] = await asyncio.gather(
                self._site.asking.call(lambda client: client.status()),
                self._site.asking.read(lambda reader: health.read_pace(reader, now_ns - WEEK_NS)),
                self._site.asking.read(lambda reader: health.read_overhead_by_hour(reader, now_ns - WEEK_NS)),
                self._site.asking.read(lambda reader: health.read_overhead(reader, now_ns - WEEK_NS)),
            )
        except StoreUnavailableError as error:
            values["trouble"] = str(error)
        answer = await self._site.page(
            "health.html", "health", processes=processes, drop_names=health.DROPS, reasons=health.REASONS, **values
        )
        if values["trouble"]:
            answer.headers["Refresh"] = str(TRY_AGAIN_S)
        return answer

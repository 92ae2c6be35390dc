"""What every page needs: the store, the templates, the clock, and how a page becomes an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web
from jinja2 import Environment
from pydantic import BaseModel, ValidationError

import spanlore
from spanlore.settings import Paths, Settings
from spanlore_dashboards.web.asking import Asking
from spanlore_dashboards.web.effects import KEY, MemoryEffect, parse_effects
from spanlore_dashboards.web.guard import Keys
from spanlore_dashboards.web.health import read_capture
from spanlore_dashboards.web.rendering import environment

NAVIGATION: Final = (
    ("sessions", "Sessions", "/sessions"),
    ("memories", "Memories", "/memories"),
    ("search", "Search", "/search"),
    ("cost", "Cost", "/cost"),
    ("health", "Health", "/health"),
)
TRY_AGAIN_S: Final = 3
"""A page that found nobody to ask is loaded again."""


class Site:
    """The parts that pages share."""

    def __init__(self, settings: Settings, paths: Paths, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.settings = settings
        self.paths = paths
        self.now_ns = now_ns
        self.keys = Keys(paths.token(), paths.web_login())
        self.asking = Asking(settings, paths)
        self._templates: Environment = environment(now_ns)

    async def page(self, template: str, active: str, status: int = 200, **values: Any) -> web.Response:
        """A whole page, with the navigation around it."""
        around = await asyncio.to_thread(self._around)
        return self.fragment(template, status, active=active, navigation=NAVIGATION, **around, **values)

    def fragment(self, template: str, status: int = 200, **values: Any) -> web.Response:
        """A template by itself."""
        text = self._templates.get_template(template).render(csrf=self.keys.form, **values)
        return web.Response(text=text, status=status, content_type="text/html")

    @staticmethod
    def session_path(session_id: str) -> str:
        """The address of a session's page."""
        return f"/sessions/{quote(session_id, safe='')}"

    async def effects(self) -> dict[str, MemoryEffect]:
        """Memory id → what was last measured of it."""
        return parse_effects(await self.asking.call(lambda client: client.mining_state(KEY)))

    def _around(self) -> dict[str, Any]:
        return {
            "capture": read_capture(self.paths, self.now_ns()),
            "stopped": self.paths.kill_file.exists(),
            "version": spanlore.__version__,
        }


def asked[M: BaseModel](model: type[M], query: Mapping[str, str]) -> M:
    """The filter that a query string asks for; what is empty is left out.

    Raises:
        web.HTTPBadRequest: a value makes no sense. The text says which.
    """
    try:
        return model.model_validate({name: value for name, value in query.items() if value != ""})
    except ValidationError as error:
        raise web.HTTPBadRequest(text=told(error)) from None


def told(error: ValidationError) -> str:
    """What is wrong with a query string or a body, in one line."""
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors())

"""The web page as a whole: routes, who may, what goes wrong, and listening."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.reader import QueryFailedError
from spanlore_dashboards.web.api import Api
from spanlore_dashboards.web.board_pages import BoardPages
from spanlore_dashboards.web.guard import API, guard, is_logged_in, log_in, problem
from spanlore_dashboards.web.memory_pages import MemoryPages
from spanlore_dashboards.web.rendering import asset, static_files
from spanlore_dashboards.web.session_pages import SessionPages
from spanlore_dashboards.web.site import TRY_AGAIN_S, Site

HOST: Final = "127.0.0.1"
MAX_BODY_BYTES: Final = 64 * 1024

_OWN_PAGE: Final = re.compile(r"/(?![/\\])[^\x00-\x20\x7f]*")
"""A path on this host. No control characters: a browser leaves tabs and line ends out, and `/<tab>/x` becomes `//x`."""

log = logging.getLogger(__name__)


def application(site: Site) -> web.Application:
    """All routes, behind the guard."""
    entrance = _Entrance(site)
    guarded = guard(site.keys, entrance.logged_out)
    app = web.Application(middlewares=[guarded, _faults(site)], client_max_size=MAX_BODY_BYTES)
    app.router.add_get("/", entrance.root)
    app.router.add_get("/healthz", entrance.healthz)
    app.router.add_get("/favicon.ico", entrance.favicon)
    app.router.add_get("/static/{name:.+}", entrance.static)
    app.router.add_get("/login", entrance.login)
    app.router.add_post("/login", entrance.login)
    for pages in (SessionPages(site), MemoryPages(site), BoardPages(site), Api(site)):
        pages.add_to(app)
    app.on_cleanup.append(_closing(site))
    return app


async def listen(app: web.Application, port: int) -> tuple[web.AppRunner, int]:
    """Serves on loopback; (what to clean up at the end, the port).

    Raises:
        OSError: the port is taken.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, HOST, port)
    try:
        await site.start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, int(runner.addresses[0][1])


class _Entrance:
    """What needs no login, and the way to it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def root(self, request: web.Request) -> web.Response:
        return web.Response(status=303, headers={"Location": "/sessions"})

    async def healthz(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def favicon(self, request: web.Request) -> web.Response:
        return web.Response(status=303, headers={"Location": asset("mark.svg")})

    async def static(self, request: web.Request) -> web.Response:
        found = static_files().get(request.match_info["name"])
        if found is None:
            raise web.HTTPNotFound(text="There is no such file.")
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        charset = "utf-8" if found[1].startswith("text/") else None
        return web.Response(body=found[0], content_type=found[1], charset=charset, headers=headers)

    async def login(self, request: web.Request) -> web.Response:
        """With the token of the URL, or with one that was typed in: the installation's does too."""
        given = str(
            (await request.post()).get("token", "") if request.method == "POST" else request.query.get("token", "")
        )
        target = request.query.get("next", "/sessions")
        if not _OWN_PAGE.fullmatch(target):
            target = "/sessions"
        if is_logged_in(request, self._site.keys) or self._site.keys.opens(given.strip()):
            return log_in(self._site.keys, target)
        status = 403 if given else 200
        return self._page(status, target, wrong=bool(given))

    async def logged_out(self, request: web.Request) -> web.Response:
        """To a form, whose words are not lost."""
        return self._page(401, request.rel_url.raw_path, has_ended=True, typed=await _typed(request))

    def _page(
        self, status: int, target: str, *, wrong: bool = False, has_ended: bool = False, typed: str = ""
    ) -> web.Response:
        values = {"target": target, "wrong": wrong, "has_ended": has_ended, "typed": typed}
        return self._site.fragment("login.html", status=status, **values)


def _faults(site: Site) -> Middleware:
    """What goes wrong, as a page that says what to do, or as the API tells it."""

    @web.middleware
    async def tell(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_api = request.path.startswith(API)
        try:
            return await handler(request)
        except StoreUnavailableError as error:
            status, message = 503, str(error)
        except QueryFailedError as error:
            log.warning("%s %s: %s", request.method, request.path, error)
            status, message = 500, f"The store did not understand the question: {error}"
        except web.HTTPException as error:
            if is_api or error.status < 400:
                raise
            status, message = error.status, error.text or error.reason
        if is_api:
            return problem(status, message, {"Retry-After": str(TRY_AGAIN_S)} if status == 503 else None)
        is_unsure = status == 503 and request.method == "POST"
        sent = {
            "sent_to": request.rel_url.raw_path if is_unsure else "",
            "typed": await _typed(request) if is_unsure else "",
        }
        answer = await site.page("trouble.html", "", status=status, code=status, message=message, **sent)
        if status == 503 and not is_unsure:
            answer.headers["Refresh"] = str(TRY_AGAIN_S)
        return answer

    return tell


async def _typed(request: web.Request) -> str:
    """What a person wrote into the form that was sent."""
    return str((await request.post()).get("text", ""))


def _closing(site: Site) -> Callable[[web.Application], Awaitable[None]]:
    async def close(_: web.Application) -> None:
        site.asking.close()

    return close

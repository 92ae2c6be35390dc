"""Who may speak to the collector: whoever has the token, and only by a loopback name."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from pydantic import ValidationError

from spanlore.loopback import is_loopback_host, is_secret

OPEN_PATHS = frozenset({"/healthz"})


def guard(token: str) -> Middleware:
    """Middleware that asks for `Authorization: Bearer <token>` on all but `OPEN_PATHS`."""

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_loopback_host(request.headers.get("Host", "")):
            return problem(403, "the Host header must be a loopback name: 127.0.0.1, localhost or [::1]")
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if request.path not in OPEN_PATHS and not (scheme == "Bearer" and is_secret(given, token)):
            return problem(401, "give the token of this installation: `Authorization: Bearer <token>`")
        return await handler(request)

    return check


def problem(status: int, message: str) -> web.Response:
    """An error as this API tells it: {"message": …}."""
    return web.json_response({"message": message}, status=status)


def misshapen(error: ValidationError) -> web.Response:
    """400 with the first fault of a body and where it stands."""
    first = error.errors()[0]
    where = ".".join(str(word) for word in first["loc"])
    return problem(400, f"{where or 'the body'}: {first['msg']}")

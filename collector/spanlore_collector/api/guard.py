"""Who may speak to the collector: whoever has the token, and only by a loopback name.

The Host check is against DNS rebinding: a page in a browser can reach 127.0.0.1, but not under a loopback name.
"""

from __future__ import annotations

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN_PATHS = frozenset({"/healthz"})


def is_loopback_host(host: str) -> bool:
    """Whether a Host header names this machine by a loopback name, with any port."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not name:
        name = port
    return name.lower() in _LOOPBACK


def guard(token: str) -> Middleware:
    """Middleware that asks for `Authorization: Bearer <token>` on all but `OPEN_PATHS`."""
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_loopback_host(request.headers.get("Host", "")):
            return problem(403, "the Host header must be a loopback name: 127.0.0.1, localhost or [::1]")
        given = request.headers.get("Authorization", "").encode()
        if request.path not in OPEN_PATHS and not hmac.compare_digest(given, expected):
            return problem(401, "give the token of this installation: `Authorization: Bearer <token>`")
        return await handler(request)

    return check


def problem(status: int, message: str) -> web.Response:
    """An error as this API tells it: {"message": …}."""
    return web.json_response({"message": message}, status=status)

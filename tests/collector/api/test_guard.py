"""Who may speak to the collector. Whole requests are in tests/collector/test_service.py."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from spanlore_collector.api.guard import guard

TOKEN = "the-token"


async def status_of(path: str, headers: dict[str, str]) -> int:
    """What a request gets."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text="in")

    return (await guard(TOKEN)(make_mocked_request("GET", path, headers=headers), answer)).status


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/memories", {"Host": "127.0.0.1:7718", "Authorization": f"Bearer {TOKEN}"}, 200),
        ("/api/v1/memories", {"Host": "evil.example", "Authorization": f"Bearer {TOKEN}"}, 403),
        ("/api/v1/memories", {"Host": "127.0.0.1:7718"}, 401),
        ("/api/v1/memories", {"Host": "127.0.0.1:7718", "Authorization": TOKEN}, 401),
        ("/api/v1/memories", {"Host": "127.0.0.1:7718", "Authorization": "Bearer "}, 401),
        ("/api/v1/memories", {"Host": "127.0.0.1:7718", "Authorization": f"Basic {TOKEN}"}, 401),
        ("/healthz", {"Host": "127.0.0.1:7718"}, 200),
        ("/healthz", {"Host": "evil.example"}, 403),
    ],
)
async def test_who_gets_in(path: str, headers: dict[str, str], status: int) -> None:
    """Whoever has the token, by a loopback name; whether it lives is told without the token."""
    assert await status_of(path, headers) == status

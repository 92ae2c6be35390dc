"""The benchmark's LLM API."""

import time

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from spanlore_proxy.bench.upstream import MESSAGE, messages


async def _answer(kind: str) -> bytes:
    app = web.Application()
    app.router.add_post("/v1/messages", messages)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession() as session,
        session.post(server.make_url("/v1/messages"), data=b"{}", headers={"x-bench": kind}) as response,
    ):
        return await response.read()


async def test_json_is_one_small_message() -> None:
    """A request without a stream gets the same message each time."""
    assert await _answer("json") == MESSAGE


async def test_events_carry_the_time_they_were_sent() -> None:
    """Every event holds the sender's monotonic clock, so the receiver knows how long it was under way."""
    before_ns = time.monotonic_ns()
    body = await _answer("sse 3 0")
    stamps = [int(part.split(b'"')[0]) for part in body.split(b'"text":"')[1:]]

    assert len(stamps) == 3
    assert before_ns <= stamps[0] <= stamps[1] <= stamps[2] <= time.monotonic_ns()

"""The benchmark's client: interleaved requests, a burst at 20 connections, and streams.

All targets get the same bytes in turn within one loop, so that whatever else the machine does falls on all of them
alike. Compare inside one run only.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from spanlore_proxy.bench.bodies import Conversation

STAMP = re.compile(rb'"text":"(\d+) "')


@dataclass(frozen=True, slots=True)
class Target:
    """One way to the upstream."""

    name: str
    url: str
    proxy: str | None
    """http://user:password@host:port, None for direct."""
    ca: str
    """PEM file that vouches for what answers."""

    def session(self, connections: int) -> aiohttp.ClientSession:
        """A keep-alive client of this target."""
        context = ssl.create_default_context(cafile=self.ca)
        connector = aiohttp.TCPConnector(limit=connections, ssl=context)
        return aiohttp.ClientSession(connector=connector, auto_decompress=False)


async def latencies_ms(
    targets: Sequence[Target], conversations: dict[str, Conversation], warm: int
) -> dict[str, list[float]]:
    """Milliseconds of each request by target; request i of every conversation goes out before request i+1 of any."""
    out: dict[str, list[float]] = {target.name: [] for target in targets}
    sessions = {target.name: target.session(1) for target in targets}
    try:
        for target in targets:
            talk = conversations[target.name]
            await _post(sessions[target.name], target, talk.opening, talk.session_id)
        count = len(next(iter(conversations.values())).bodies)
        for index in range(count):
            for offset in range(len(targets)):
                target = targets[(index + offset) % len(targets)]
                talk = conversations[target.name]
                spent = await _post(sessions[target.name], target, talk.bodies[index], talk.session_id)
                if index >= warm:
                    out[target.name].append(spent)
    finally:
        for session in sessions.values():
            await session.close()
    return out


async def requests_per_s(target: Target, conversations: Sequence[Conversation]) -> float:
    """Rate over as many connections as there are conversations, each sending its bodies one after the other."""

    async def one(session: aiohttp.ClientSession, talk: Conversation) -> None:
        for body in talk.bodies:
            await _post(session, target, body, talk.session_id)

    async with target.session(len(conversations)) as session:
        await asyncio.gather(*(_post(session, target, talk.opening, talk.session_id) for talk in conversations))
        started = time.perf_counter()
        await asyncio.gather(*(one(session, talk) for talk in conversations))
        spent = time.perf_counter() - started
    return sum(len(talk.bodies) for talk in conversations) / spent


async def chunk_delays_ms(target: Target, body: bytes, streams: int, chunks: int, interval_ms: float) -> list[float]:
    """How long each streamed chunk was under way."""
    async with target.session(streams) as session:
        found = await asyncio.gather(
            *(_stream(session, target, body, f"sse {chunks} {interval_ms}", f"delay-{n}") for n in range(streams))
        )
    return [delay for delays in found for delay in delays]


async def chunks_per_s(target: Target, body: bytes, streams: int, chunks: int) -> float:
    """Chunks that arrive each second when the upstream writes without a pause."""
    async with target.session(streams) as session:
        started = time.perf_counter()
        found = await asyncio.gather(
            *(_stream(session, target, body, f"sse {chunks} 0", f"flat-{n}") for n in range(streams))
        )
        spent = time.perf_counter() - started
    return sum(len(delays) for delays in found) / spent


async def _post(session: aiohttp.ClientSession, target: Target, body: bytes, session_id: str) -> float:
    started = time.perf_counter()
    async with session.post(
        target.url, data=body, headers=_headers("json", session_id), proxy=target.proxy
    ) as response:
        await response.read()
        if response.status != 200:
            raise RuntimeError(f"{target.name} answered {response.status}")
    return (time.perf_counter() - started) * 1000


async def _stream(
    session: aiohttp.ClientSession, target: Target, body: bytes, kind: str, session_id: str
) -> list[float]:
    delays: list[float] = []
    headers = _headers(kind, session_id)
    async with session.post(target.url, data=body, headers=headers, proxy=target.proxy) as response:
        async for data in response.content.iter_any():
            now_ns = time.monotonic_ns()
            delays += [(now_ns - int(sent)) / 1e6 for sent in STAMP.findall(data)]
    return delays


def _headers(kind: str, session_id: str) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "x-api-key": "sk-ant-bench",
        "anthropic-version": "2023-06-01",
        "user-agent": "claude-cli/2.1.332 (external, bench)",
        "x-claude-code-session-id": session_id,
        "x-bench": kind,
    }

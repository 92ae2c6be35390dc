"""The benchmark's client: interleaved requests, a burst at many connections, and streams.

All targets get the same bytes in turn within one loop, so that whatever else the machine does falls on all of them
alike. Compare inside one run only.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, permutations
from typing import Final

import aiohttp

from spanlore_proxy.bench.bodies import Conversation

STAMP: Final = re.compile(rb'"text":"(\d+) "')


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


@dataclass(frozen=True, slots=True)
class Line:
    """A target and the connections to it, which are kept from round to round."""

    target: Target
    session: aiohttp.ClientSession

    @property
    def name(self) -> str:
        return self.target.name

    async def post(self, body: bytes, session_id: str) -> float:
        """Milliseconds of one request."""
        started = time.perf_counter()
        async with self._sent(body, "json", session_id) as response:
            await response.read()
            if response.status != 200:
                raise RuntimeError(f"{self.name} answered {response.status}")
        return (time.perf_counter() - started) * 1000

    async def stream(self, body: bytes, kind: str, session_id: str) -> list[float]:
        """Milliseconds that each chunk of an answer was under way."""
        delays: list[float] = []
        async with self._sent(body, kind, session_id) as response:
            async for data in response.content.iter_any():
                now_ns = time.monotonic_ns()
                delays += [(now_ns - int(sent)) / 1e6 for sent in STAMP.findall(data)]
        return delays

    def _sent(
        self, body: bytes, kind: str, session_id: str
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        target = self.target
        return self.session.post(target.url, data=body, headers=_headers(kind, session_id), proxy=target.proxy)


@contextlib.asynccontextmanager
async def lines(targets: Sequence[Target], connections: int) -> AsyncIterator[list[Line]]:
    """A line to each target, closed afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        yield [Line(target, await stack.enter_async_context(target.session(connections))) for target in targets]


def orders(count: int) -> Iterator[tuple[int, ...]]:
    """Every order of so many targets, again and again: each comes as often behind each other one."""
    return cycle(permutations(range(count)))


async def latencies_ms(
    open_lines: Sequence[Line], talk: Conversation, warm: int, order: Iterator[tuple[int, ...]] | None = None
) -> dict[str, list[float]]:
    """Milliseconds of each request by target; a body goes to all targets before the next one goes to any."""
    out: dict[str, list[float]] = {line.name: [] for line in open_lines}
    order = order or orders(len(open_lines))
    for line in open_lines:
        await line.post(talk.opening, talk.session_id)
    for index, body in enumerate(talk.bodies):
        for chosen in next(order):
            line = open_lines[chosen]
            spent = await line.post(body, talk.session_id)
            if index >= warm:
                out[line.name].append(spent)
    return out


async def requests_per_s(line: Line, conversations: Sequence[Conversation]) -> float:
    """Rate over as many connections as there are conversations, each sending its bodies one after the other."""

    async def one(talk: Conversation) -> None:
        for body in talk.bodies:
            await line.post(body, talk.session_id)

    await asyncio.gather(*(line.post(talk.opening, talk.session_id) for talk in conversations))
    started = time.perf_counter()
    await asyncio.gather(*(one(talk) for talk in conversations))
    return sum(len(talk.bodies) for talk in conversations) / (time.perf_counter() - started)


async def chunk_delays_ms(
    line: Line, body: bytes, name: str, streams: int, chunks: int, interval_ms: float
) -> list[float]:
    """How long each streamed chunk was under way. `name`: of the sessions."""
    found = await asyncio.gather(
        *(line.stream(body, f"sse {chunks} {interval_ms}", f"{name}-{n}") for n in range(streams))
    )
    return [delay for delays in found for delay in delays]


async def chunks_per_s(line: Line, body: bytes, name: str, streams: int, chunks: int) -> float:
    """Chunks that arrive each second when the upstream writes without a pause."""
    started = time.perf_counter()
    found = await asyncio.gather(*(line.stream(body, f"sse {chunks} 0", f"{name}-{n}") for n in range(streams)))
    return sum(map(len, found)) / (time.perf_counter() - started)


def _headers(kind: str, session_id: str) -> Mapping[str, str]:
    return {
        "content-type": "application/json",
        "x-api-key": "sk-ant-bench",
        "anthropic-version": "2023-06-01",
        "user-agent": "claude-cli/2.1.332 (external, bench)",
        "x-claude-code-session-id": session_id,
        "x-bench": kind,
    }

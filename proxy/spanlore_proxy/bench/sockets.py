"""WebSocket frames through each target: the Responses API as Codex speaks it, compressed, its history held upstream."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
import orjson

from spanlore_proxy.bench.load import Target

PATH: Final = "/v1/responses"
STAMP: Final = re.compile(r'"delta":"(\d+) "')


async def frame_delays_ms(target: Target, sockets: int, frames: int, interval_ms: float) -> list[float]:
    """How long each frame of the server was under way."""
    found = await _all(target, sockets, 1, frames, interval_ms)
    return [delay for delays in found for delay in delays]


async def frames_per_s(target: Target, sockets: int, messages: int, frames: int) -> float:
    """Frames of the server that arrive each second, when it answers each of so many messages without a pause."""
    started = time.perf_counter()
    found = await _all(target, sockets, messages, frames, 0)
    return sum(map(len, found)) / (time.perf_counter() - started)


async def _all(target: Target, sockets: int, messages: int, frames: int, interval_ms: float) -> list[list[float]]:
    return await asyncio.gather(
        *(_talk(target, f"socket-{time.monotonic_ns()}-{n}", messages, frames, interval_ms) for n in range(sockets))
    )


async def _talk(target: Target, session_id: str, messages: int, frames: int, interval_ms: float) -> list[float]:
    delays: list[float] = []
    async with _connected(target, session_id) as socket:
        previous: str | None = None
        for number in range(messages):
            await socket.send_str(orjson.dumps(_message(session_id, previous, number, frames, interval_ms)).decode())
            previous = await _answer(socket, delays)
    return delays


async def _answer(socket: aiohttp.ClientWebSocketResponse, delays: list[float]) -> str:
    async for message in socket:
        now_ns = time.monotonic_ns()
        delays += [(now_ns - int(sent)) / 1e6 for sent in STAMP.findall(message.data)]
        if '"response.completed"' in message.data:
            return str(orjson.loads(message.data)["response"]["id"])
    raise RuntimeError("the connection ended before the answer")


@asynccontextmanager
async def _connected(target: Target, session_id: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    headers = {"authorization": "Bearer bench", "session-id": session_id, "user-agent": "codex_exec/0.171.0 (bench)"}
    url = target.url.partition("/v1/")[0] + PATH
    async with (
        target.session(1) as session,
        session.ws_connect(url, headers=headers, proxy=target.proxy, compress=15, max_msg_size=0) as socket,
    ):
        yield socket


def _message(session_id: str, previous: str | None, number: int, frames: int, interval_ms: float) -> dict[str, Any]:
    """The first brings its whole input, the others what is new; `metadata` tells the upstream what to answer."""
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"step {number}"}]}
    system = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You code. " * 400}]}
    document: dict[str, Any] = {
        "type": "response.create",
        "model": "gpt-5.1-codex",
        "input": [said] if previous else [system, said],
    }
    document |= {"tools": [{"type": "function", "name": "exec_command"}], "prompt_cache_key": session_id}
    document |= {"metadata": {"bench": f"{frames} {interval_ms}"}}
    return document | ({"previous_response_id": previous} if previous else {})

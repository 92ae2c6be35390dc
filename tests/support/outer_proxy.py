"""A company's proxy, small: CONNECT only, perhaps with a password, and leads each name to a port of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class CompanyProxy:
    """What runs, and what it was asked for."""

    leads: Mapping[str, int]
    """`host:port` → the port on loopback where it really leads."""
    authorization: str = ""
    """Without which it answers 407."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """Targets, in order."""
    refused: int = 0


@asynccontextmanager
async def company_proxy(leads: Mapping[str, int], authorization: str = "") -> AsyncIterator[CompanyProxy]:
    """Runs one on a free port."""
    proxy = CompanyProxy(leads, authorization)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError):
            await _serve(proxy, reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(proxy: CompanyProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, target, _ = head[0].split()
    assert method == "CONNECT"
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    proxy.asked.append(target)
    if headers.get("proxy-authorization", "") != proxy.authorization:
        proxy.refused += 1
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        return
    if target not in proxy.leads:
        writer.write(b"HTTP/1.1 502 No Such Host\r\nContent-Length: 0\r\n\r\n")
        return
    there, out = await asyncio.open_connection("127.0.0.1", proxy.leads[target])
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    try:
        await asyncio.gather(_copy(reader, out), _copy(there, writer))
    finally:
        out.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()

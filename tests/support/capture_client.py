"""A client for tests of the proxy that decides about every byte it sends and sees every byte it gets."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """One HTTP/1.1 response as it arrived."""

    status: int
    head: bytes
    """Status line and header lines."""
    body: bytes
    """Without chunked framing."""
    is_whole: bool

    def header(self, name: str) -> str | None:
        lines = (line.partition(b":") for line in self.head.split(b"\r\n")[1:])
        return next((value.strip().decode() for key, _, value in lines if key.lower() == name.encode()), None)


class Connection:
    """One connection to the proxy, perhaps with a tunnel and TLS in it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, data: bytes) -> Answer:
        """Sends the bytes and reads one whole response, or what comes of it."""
        self.writer.write(data)
        return await self.answer()

    async def answer(self) -> Answer:
        """Reads one response."""
        head = await self.head()
        lines = head.lower().split(b"\r\n")
        status = int(head.split()[1])
        try:
            if b"transfer-encoding: chunked" in lines:
                return Answer(status, head, *await self._chunks())
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            return Answer(status, head, await self.reader.readexactly(length), True)
        except asyncio.IncompleteReadError as cut:
            return Answer(status, head, cut.partial, False)

    async def head(self) -> bytes:
        return (await self.reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n\r\n")

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body; b'' at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def _chunks(self) -> tuple[bytes, bool]:
        parts: list[bytes] = []
        try:
            while chunk := await self.chunk():
                parts.append(chunk)
        except (asyncio.IncompleteReadError, ConnectionError):
            return b"".join(parts), False
        return b"".join(parts), True

    def reset(self) -> None:
        """Goes away without a word."""
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (OSError, ssl.SSLError):
            pass  # the other side was faster


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    """A plain connection to the proxy."""
    connection = Connection(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def tunnelled(
    port: int, target: str, ca: Path | None, *, credentials: str = "", alpn: tuple[str, ...] = ()
) -> AsyncIterator[Connection]:
    """A tunnel to `host:port`, with TLS in it when there is a CA to trust."""
    async with connected(port) as connection:
        answer = await connection.ask(connect_request(target, credentials))
        assert answer.status == 200, answer
        if ca is not None:
            context = ssl.create_default_context(cafile=str(ca))
            if alpn:
                context.set_alpn_protocols(list(alpn))
            await connection.writer.start_tls(context, server_hostname=target.rpartition(":")[0])
        yield connection


def connect_request(target: str, credentials: str = "") -> bytes:
    """A CONNECT, with `user:password` if given."""
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if credentials:
        lines.append("Proxy-Authorization: Basic " + base64.b64encode(credentials.encode()).decode())
    return "\r\n".join([*lines, "", ""]).encode()


def post(body: bytes, *headers: str, target: str = "/v1/messages?beta=true", host: str = "api.anthropic.com") -> bytes:
    """A POST as an agent sends it; header lines stand before Content-Length, in their order."""
    lines = [f"POST {target} HTTP/1.1", f"Host: {host}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body

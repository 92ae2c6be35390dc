"""A small real API server for tests of the proxy: keeps the bytes it was sent, answers as told, over http or https."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

type Answer = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    """In order, spelled as sent."""
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value.decode() for key, value in self.headers if key.lower() == name.encode()), None)


@dataclass
class ApiServer:
    """What runs, and what it got."""

    port: int
    received: list[Received] = field(default_factory=list)
    deserted: list[str] = field(default_factory=list)
    """Paths of requests whose client went away before the answer was whole."""
    answer: Answer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def api_server(answer: Answer, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[ApiServer]:
    """A running server; `answer` may be changed while it runs."""
    server = ApiServer(0, answer=answer)

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        server.received.append(Received(request.method, request.raw_path, tuple(request.raw_headers), body))
        assert server.answer is not None
        try:
            return await server.answer(request, body)
        except (asyncio.CancelledError, ConnectionResetError):
            server.deserted.append(request.raw_path)
            raise

    app = web.Application(client_max_size=1024**3)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, auto_decompress=False, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    assert site._server is not None
    server.port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # of asyncio.Server
    try:
        yield server
    finally:
        await runner.cleanup()


def answering(body: bytes, *, status: int = 200, content_type: str = "application/json", **headers: str) -> Answer:
    """The same whole answer to every request."""

    async def answer(request: web.Request, _: bytes) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers={"Content-Type": content_type, **headers})

    return answer


def streaming(
    *chunks: bytes, pause_s: float = 0.0, ending: str = "complete", gate: asyncio.Event | None = None
) -> Answer:
    """An event stream. `ending`: complete, or cut (the connection is broken after the last chunk). Between the first
    chunk and the others it waits for the `gate`."""

    async def answer(request: web.Request, _: bytes) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for number, chunk in enumerate(chunks):
            if number:
                await asyncio.sleep(pause_s)
                if gate is not None:
                    await gate.wait()
            await response.write(chunk)
        if ending == "cut":
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write_eof()
        return response

    return answer


def server_tls(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """A self-signed certificate for `host`: the server's context and the PEM file that clients may trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / f"{host}.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / f"{host}.key"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem, private)
    return context, pem


@dataclass
class RawServer:
    """What runs, and the bytes it got."""

    port: int
    connections: int = 0
    data: bytes = b""


@asynccontextmanager
async def raw_server(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], host: str = "127.0.0.1"
) -> AsyncIterator[RawServer]:
    """A TCP server whose every byte the test decides about. Its connections are closed when `talk` returns."""
    state = RawServer(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state.connections += 1
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client was faster
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        server.close_clients()
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """All bytes of one request with a Content-Length (or none)."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    return head + await reader.readexactly(int(lengths[0]) if lengths else 0)

"""What the agent must not notice: bytes and chunks as they come, and hosts that are none of our business."""

from __future__ import annotations

import asyncio
import datetime
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore_proxy.bench.certificate import write_certificate
from spanlore_proxy.demo.stage import Stage
from support.messages_api import request_document
from support.model_server import ModelServer, Reply, Say
from support.proxied import ProxiedClient, counted

EVENTS = 40
DELAY_S = 0.02


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    slow = Reply((Say("x" * 24 * EVENTS),), event_delay_s=DELAY_S)
    packed = Reply((Say("Packed. " * 50),), is_compressed=True)
    with ModelServer(lambda request: slow if request.mentions("slowly") else packed) as server:
        yield server


@pytest.fixture(scope="module")
def stage(server: ModelServer) -> Iterator[Stage]:
    with Stage(server.url) as stage:
        stage.up()
        yield stage


def test_chunks_arrive_as_they_are_sent(stage: Stage) -> None:
    """A slow stream reaches the client as slowly as it was sent, not all at once at its end."""
    client = ProxiedClient(stage.paths)
    connection = client.connect()
    connection.request("POST", "/v1/messages", json.dumps(request_document("slowly", stream=True)), client.headers())
    response = connection.getresponse()
    times, received = [], b""
    while part := response.read1(65536):
        times.append(time.monotonic())
        received += part
    connection.close()

    assert b"message_stop" in received
    assert len(times) > EVENTS / 2
    assert times[-1] - times[0] > EVENTS * DELAY_S / 2


def test_compressed_answers_stay_compressed(stage: Stage, server: ModelServer) -> None:
    """An answer's encoding, headers and bytes are the provider's, whether it is streamed or not."""
    client = ProxiedClient(stage.paths)
    body = json.dumps(request_document("quickly")).encode()
    response = client.send(body, accept_encoding="gzip")

    assert response.headers["content-encoding"] == "gzip"
    assert response.body.startswith(b"\x1f\x8b")
    assert response.headers["request-id"] == server.inferences[-1].request_id


def test_request_headers_arrive_but_for_our_own(stage: Stage, server: ModelServer) -> None:
    """Credentials and unknown headers reach the provider as they are; what is addressed to the proxy does not."""
    client = ProxiedClient(stage.paths)
    client.infer("hello")
    request = next(request for request in server.requests if request.session_id == client.session_id)

    assert request.header("x-api-key") == "sk-ant-api03-test-only"
    assert request.header("user-agent") == client.headers()["user-agent"]
    assert request.header("proxy-authorization") is None
    assert request.header("host") == "api.anthropic.com"


def test_other_hosts_are_tunnelled_undecrypted(stage: Stage, tmp_path: Path) -> None:
    """A host that is no LLM API shows its own certificate through the proxy, and is only counted."""
    certificate = tmp_path / "server.pem"
    write_certificate(certificate, datetime.datetime.now(datetime.UTC))
    before = counted(stage.paths, "tunnelled")
    with TLSEcho(certificate) as port:
        daemon = json.loads(stage.paths.daemon_file.read_bytes())
        with socket.create_connection(("127.0.0.1", daemon["proxy_port"]), timeout=300) as plain:
            plain.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
            assert b" 200 " in plain.recv(4096)
            trust = ssl.create_default_context(cafile=str(certificate))
            with trust.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(b"ping")
                answer = secure.recv(100)

    assert answer == b"ping"
    assert counted(stage.paths, "tunnelled") == before + 1


class TLSEcho:
    """A TLS server on loopback that sends back what it gets, in a thread of its own."""

    def __init__(self, certificate: Path) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(certificate)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> int:
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._echo, "127.0.0.1", 0, ssl=self._context), self._loop
        )
        self._server = started.result(10)
        return int(self._server.sockets[0].getsockname()[1])

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    @staticmethod
    async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from mitmproxy import http
from OpenSSL import SSL

from spanlore.semconv import gen_ai, lore
from spanlore_proxy.capture.addon import CaptureAddon
from spanlore_proxy.capture.interception import PIECE_BYTES, OpenedHosts
from support.capture_client import connect_request, connected, post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, RUN, running_proxy, until
from support.capture_upstream import answering, api_server, raw_server, server_tls, streaming
from support.http2_client import Http2Client


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks first, as ssh and smtp servers do, then sends back what it gets."""
    writer.write(b"220 hello\r\n")
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_other_hosts_are_tunnelled_as_they_are(tmp_path: Path, host: str) -> None:
    """Any port, any address family, any protocol: also one whose server speaks first, and one that looks like HTTP."""
    if host == "::1" and not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    async with raw_server(echo, host) as server, running_proxy(tmp_path) as proxy:
        name = f"[{host}]" if ":" in host else host
        async with tunnelled(proxy.port, f"{name}:{server.port}", None) as connection:
            greeting = await asyncio.wait_for(connection.reader.readline(), 60)
            said = b"POST /v1/messages HTTP/1.1\r\nProxy-Authorization: Basic eDp5\r\n\r\n" + bytes(range(256)) * 500
            connection.writer.write(said)
            heard = await connection.reader.readexactly(len(said))

    assert (greeting, heard) == (b"220 hello\r\n", said)
    assert proxy.service.counts.count("tunnelled") == 1
    assert proxy.service.counts.count("captured") == 0


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


async def test_other_hosts_show_their_own_certificate(tmp_path: Path) -> None:
    """TLS to a host that is no LLM API is never opened: the client sees the server's certificate, not ours."""
    tls, pem = server_tls(tmp_path, "localhost")
    async with api_server(answering(b"page"), tls=tls) as other, running_proxy(tmp_path) as proxy:
        async with tunnelled(proxy.port, f"localhost:{other.port}", pem) as connection:
            answer = await connection.ask(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(ssl.SSLCertVerificationError):
            async with tunnelled(proxy.port, f"localhost:{other.port}", proxy.ca):
                pass

    assert answer.body == b"page"


async def test_a_tunnel_that_cannot_be_dug_is_told(tmp_path: Path) -> None:
    """A dead host is answered with 502, as by any proxy, and not with a connection that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with running_proxy(tmp_path) as proxy, connected(proxy.port) as connection:
        answer = await connection.ask(connect_request(f"127.0.0.1:{port}", CREDENTIALS))

    assert answer.status == 502


async def test_both_ends_of_a_tunnel_can_close_it(tmp_path: Path) -> None:
    """A half-close goes through: what the server still has to say arrives."""

    async def last_word(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()
        writer.write(b"got " + data)

    async with (
        raw_server(last_word) as server,
        running_proxy(tmp_path) as proxy,
        tunnelled(proxy.port, f"127.0.0.1:{server.port}", None) as connection,
    ):
        connection.writer.write(b"all")
        connection.writer.write_eof()
        heard = await asyncio.wait_for(connection.reader.read(), 60)

    assert heard == b"got all"


def test_which_hosts_are_opened() -> None:
    """LLM APIs, what the user adds, and what the user sends elsewhere; nothing else, however often it is asked."""
    opened = OpenedHosts(["*.corp.example"], ["Local.Model"])

    for _ in range(2):
        assert all(map(opened, ("api.anthropic.com", "API.OPENAI.COM", "llm.corp.example", "local.model")))
        assert not any(map(opened, ("github.com", "corp.example", "api.anthropic.com.evil.example", "")))


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_a_large_body_leaves_in_pieces_and_is_let_go_of(
    tmp_path: Path, framing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS never gets more than a piece at once, since OpenSSL keeps a buffer of that size while the connection is open;
    every byte arrives; and while the answer is waited for, mitmproxy's flow does not hold on to the body."""
    body = request_body("x" * (3 * PIECE_BYTES + 17))
    gate, given = asyncio.Event(), []
    send = SSL.Connection.sendall

    def sendall(self: SSL.Connection, data: bytes, flags: int = 0) -> int:
        given.append(len(data))
        return send(self, data, flags)

    monkeypatch.setattr(SSL.Connection, "sendall", sendall)
    flows: list[http.HTTPFlow] = []
    keep = CaptureAddon.requestheaders

    def requestheaders(self: CaptureAddon, flow: http.HTTPFlow) -> None:
        flows.append(flow)
        keep(self, flow)

    monkeypatch.setattr(CaptureAddon, "requestheaders", requestheaders)
    tls, pem = server_tls(tmp_path, "localhost")
    said = post(body)
    if framing == "chunked":
        head, _, _ = said.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        said = b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b"%x" % len(body), body, b"0", b"", b""])
    async with (
        api_server(streaming(b"a", b"b", gate=gate), tls=tls) as api,
        running_proxy(
            tmp_path, upstreams={HOST: f"https://localhost:{api.port}"}, proxy={"upstream_ca": str(pem)}
        ) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        connection.writer.write(said)
        await until(lambda: bool(api.received))
        held = [flow.request.raw_content for flow in flows]
        gate.set()
        answer = await connection.answer()
        await proxy.collector.chats(1)

    assert answer.status == 200
    assert [received.body for received in api.received] == [body]
    assert max(given) <= PIECE_BYTES + 16  # the chunk's own frame
    assert held == [None]


async def test_http2_streams_side_by_side(tmp_path: Path) -> None:
    """More parallel requests on one HTTP/2 connection than mitmproxy's limit of five servers are all served at once."""
    gate = asyncio.Event()
    async with (
        api_server(streaming(*events("a", "b"), gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS, alpn=("h2",)) as connection,
    ):
        client = Http2Client(connection)
        streams = [client.post("/v1/messages", AGENT_HEADERS, request_body(f"say {n}")) for n in range(12)]
        while not all(client.data.values()):
            await asyncio.wait_for(client.receive(), 60)
        gate.set()
        while len(client.ended) < 12:
            await asyncio.wait_for(client.receive(), 60)
        chats = await proxy.collector.chats(12)

    assert all(client.data[stream] == b"".join(events("a", "b")) for stream in streams)
    assert {chat.attributes[lore.RUN_ID] for chat in chats} == {RUN}


async def test_a_cancelled_http2_stream_is_recorded(tmp_path: Path) -> None:
    """Codex resets its stream once it has read the last event; the answer is whole and counts as such."""
    gate = asyncio.Event()
    frames = events("all of it")
    async with (
        # The last event arrives, but the server keeps the stream open.
        api_server(streaming(b"".join(frames), b"", gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS, alpn=("h2",)) as connection,
    ):
        client = Http2Client(connection)
        stream = client.post("/v1/messages", AGENT_HEADERS, request_body())
        while b"message_stop" not in client.data[stream]:
            await asyncio.wait_for(client.receive(), 60)
        client.cancel(stream)
        (chat,) = await proxy.collector.chats(1)
        await until(lambda: bool(api.deserted), 3)
        second = client.post("/v1/messages", AGENT_HEADERS, request_body("again"))
        api.answer = answering(message())
        while second not in client.ended:
            await asyncio.wait_for(client.receive(), 60)
        await proxy.collector.chats(2)
        gate.set()

    assert chat.attributes[lore.COMPLETE] is True
    assert gen_ai.ERROR_TYPE not in chat.attributes
    assert proxy.service.counts.count("captured") == 2

"""What clients, servers and networks do to a connection: the real proxy, raw sockets on both sides."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from aiohttp import web

from spanlore.semconv import gen_ai, lore
from support.capture_client import Connection, connected, post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, RunningProxy, running_proxy, until
from support.capture_upstream import answering, api_server, raw_server, read_request, streaming
from support.http2_client import Http2Client

SILENCE_S = 1.0
"""Of an answer. Sixty seconds were tried by hand; nothing in the proxy counts them."""
SESSIONS = 20
TURNS = 3


def agent(proxy: RunningProxy, *, alpn: tuple[str, ...] = ()) -> AbstractAsyncContextManager[Connection]:
    """A connection as the agent makes it."""
    return tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS, alpn=alpn)


def response(body: bytes) -> bytes:
    """As the API sends it."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def said_back(request: web.Request, body: bytes) -> web.StreamResponse:
    """Answers with the newest message's text."""
    text = json.loads(body)["messages"][-1]["content"][0]["text"]
    return web.json_response(json.loads(message(f"you said {text}", f"msg_{text}")))


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    """A client that does not wait (side calls on the main loop's connection) gets each answer, and each is recorded."""
    async with (
        api_server(said_back) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        connection.writer.write(b"".join(post(request_body(f"n{n}"), *AGENT_HEADERS) for n in range(4)))
        answers = [await asyncio.wait_for(connection.answer(), 60) for _ in range(4)]
        chats = await proxy.collector.chats(4)

    assert [json.loads(answer.body)["id"] for answer in answers] == ["msg_n0", "msg_n1", "msg_n2", "msg_n3"]
    assert {chat.attributes[gen_ai.RESPONSE_ID] for chat in chats} == {"msg_n0", "msg_n1", "msg_n2", "msg_n3"}


async def test_expect_100_continue(tmp_path: Path) -> None:
    """The client is told to go on before it sends its body, as curl wants it for large ones."""
    body = request_body("x" * 4096)
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        head = post(body, *AGENT_HEADERS, "Expect: 100-continue").removesuffix(body)
        connection.writer.write(head)
        go_on = await asyncio.wait_for(connection.head(), 60)
        answer = await connection.ask(body)
        (chat,) = await proxy.collector.chats(1)

    assert go_on.startswith(b"HTTP/1.1 100 ")
    assert (answer.status, api.received[0].body) == (200, body)
    assert chat.attributes[lore.COMPLETE] is True


@pytest.mark.parametrize("is_tunnelled", [True, False], ids=["in a tunnel", "without one"])
async def test_absolute_targets(tmp_path: Path, is_tunnelled: bool) -> None:
    """`POST https://host/path`, as to a proxy: outside a tunnel the server gets the path, inside one what the client
    sent (every server takes it, RFC 9112 §3.2.2); the exchange is recorded either way."""
    scheme = "https" if is_tunnelled else "http"
    target = f"{scheme}://{HOST}/v1/messages"
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) if is_tunnelled else connected(proxy.port) as connection,
    ):
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS, target=target))
        await proxy.collector.chats(1)

    assert answer.status == 200
    (received,) = api.received
    assert received.path == (f"http://{HOST}/v1/messages" if is_tunnelled else "/v1/messages")
    assert received.body == request_body()


async def test_a_client_that_closes_its_half(tmp_path: Path) -> None:
    """For a proxy it is gone, as for most (no agent does this): both connections end at once, and it is recorded."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        connection.writer.write(post(request_body(), *AGENT_HEADERS, target=f"http://{HOST}/v1/messages"))
        connection.writer.write_eof()
        answered = await asyncio.wait_for(connection.reader.read(), 60)
        chats = await proxy.collector.chats(1)
        await until(lambda: proxy.service.addon.running == 0)

    assert answered == b""
    assert chats[0].attributes[gen_ai.ERROR_TYPE] == "client_gone"


async def test_a_client_that_vanishes_between_requests(tmp_path: Path) -> None:
    """A connection that nobody uses any more costs the proxy nothing once it is reset, and others go on."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        for _ in range(3):
            async with agent(proxy) as connection:
                assert (await connection.ask(post(request_body(), *AGENT_HEADERS))).status == 200
                reset(connection)
        await until(lambda: proxy.service._proxy.connections == 0)
        await proxy.collector.chats(3)

    assert proxy.service.addon.running == 0


def reset(connection: Connection) -> None:
    """RST in place of FIN."""
    raw = connection.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.reset()


@pytest.mark.parametrize(
    "sent", [b"", b"HTTP/1.1 200 OK\r\n", b"stream"], ids=["at once", "in the head", "in the body"]
)
async def test_a_server_that_resets(tmp_path: Path, sent: bytes) -> None:
    """RST, wherever it comes: the client learns of it at once, what came is recorded, and the next request works."""
    frames = events("partial ", "answer")[:4]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    whole = head + b"".join(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if server.connections > 1:
            writer.write(response(message()))
            await writer.drain()
            return
        writer.write(whole if sent == b"stream" else sent)
        await writer.drain()
        await asyncio.sleep(0.1)  # let what was written arrive
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with (
        raw_server(talk) as server,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{server.port}"}) as proxy,
    ):
        async with agent(proxy) as connection:
            first = await asyncio.wait_for(connection.ask(post(request_body("one"), *AGENT_HEADERS)), 60)
        async with agent(proxy) as connection:
            second = await asyncio.wait_for(connection.ask(post(request_body("two"), *AGENT_HEADERS)), 60)
        chats = await proxy.collector.chats(2)
    broken = min(chats, key=lambda chat: chat.start_time_ns)

    assert (first.status, first.is_whole) == ((200, False) if sent == b"stream" else (502, True))
    assert (second.status, second.body) == (200, message())
    assert broken.attributes[lore.COMPLETE] is False and gen_ai.ERROR_TYPE in broken.attributes
    assert ("partial answer" in str(broken.attributes.get(gen_ai.OUTPUT_MESSAGES))) is (sent == b"stream")


async def test_a_long_silence(tmp_path: Path) -> None:
    """Before the head and in the middle of the answer; both sides stay connected, and the answer is whole."""
    chunks = events("a", "b")

    async def slow(request: web.Request, body: bytes) -> web.StreamResponse:
        await asyncio.sleep(SILENCE_S)
        return await streaming(*chunks[:3], b"".join(chunks[3:]), pause_s=SILENCE_S)(request, body)

    async with (
        api_server(slow) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1, within_s=10 + 5 * SILENCE_S)

    assert (answer.is_whole, answer.body) == (True, b"".join(chunks))
    assert chat.attributes[lore.COMPLETE] is True
    waited_s = chat.attributes[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK]
    assert isinstance(waited_s, float) and waited_s >= SILENCE_S


async def test_cancelled_streams_beside_others(tmp_path: Path) -> None:
    """On one HTTP/2 connection every other stream is cancelled in the middle; the rest get all of theirs, and each is
    recorded for what it was."""
    gate = asyncio.Event()
    async with (
        api_server(streaming(*events("so far", " and on"), gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy, alpn=("h2",)) as connection,
    ):
        client = Http2Client(connection)
        streams = [client.post("/v1/messages", AGENT_HEADERS, request_body(f"say {n}")) for n in range(8)]
        while not all(client.data.values()):
            await asyncio.wait_for(client.receive(), 60)
        for stream in streams[::2]:
            client.cancel(stream)
        await until(lambda: len(api.deserted) == 4)
        gate.set()
        while len(client.ended) < 4:
            await asyncio.wait_for(client.receive(), 60)
        chats = await proxy.collector.chats(8)

    assert all(client.data[stream] == b"".join(events("so far", " and on")) for stream in streams[1::2])
    errors = [chat.attributes.get(gen_ai.ERROR_TYPE, "") for chat in chats]
    assert sorted(errors) == [""] * 4 + ["client_gone"] * 4
    assert proxy.service.addon.running == 0


async def test_twenty_sessions_at_once(tmp_path: Path) -> None:
    """Each on a connection of its own, its requests in between the others': twenty sessions, nobody's words in
    another's."""

    async def play(proxy: RunningProxy, number: int) -> list[int]:
        headers = tuple(
            f"X-Claude-Code-Session-Id: 5f0c1a52-0000-4000-8000-{number:012}" if "Session-Id" in line else line
            for line in AGENT_HEADERS
        )
        statuses, said = [], []
        async with agent(proxy) as connection:
            for turn in range(TURNS):
                said.append(f"s{number}t{turn}")
                answer = await connection.ask(post(request_body(*said), *headers))
                statuses.append(answer.status)
                said.append(json.loads(answer.body)["content"][0]["text"])
        return statuses

    async with (
        api_server(said_back) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        statuses = await asyncio.gather(*(play(proxy, number) for number in range(SESSIONS)))
        chats = await proxy.collector.chats(SESSIONS * TURNS, within_s=20)
        turns = [span for span in proxy.collector.spans if span.name.startswith("invoke_agent")]

    assert statuses == [[200] * TURNS] * SESSIONS
    by_session: dict[object, set[str]] = {}
    for chat in chats:
        by_session.setdefault(chat.attributes[lore.SESSION_ID], set()).add(str(chat.attributes[gen_ai.RESPONSE_ID]))
    numbers = {str(session)[-12:].lstrip("0") or "0": ids for session, ids in by_session.items()}
    assert numbers == {str(n): {f"msg_s{n}t{turn}" for turn in range(TURNS)} for n in range(SESSIONS)}
    assert len(turns) == SESSIONS * TURNS
    assert all(span.attributes[lore.TURN_INFERENCES] == 1 for span in turns)

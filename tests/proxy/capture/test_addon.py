import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from aiohttp import web

from spanlore.semconv import gen_ai, lore
from spanlore_proxy.capture import addon as addon_module
from spanlore_proxy.injection.injector import Prepared
from support.capture_client import Answer, Connection, connected, post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, RUN, RunningProxy, running_proxy, until
from support.capture_upstream import answering, api_server, raw_server, read_request, server_tls, streaming
from support.socket_client import give_memory

TARGET = f"{HOST}:443"


def agent(proxy: RunningProxy, **options: Any) -> Any:
    """A connection of the known run."""
    return tunnelled(proxy.port, TARGET, proxy.ca, **{"credentials": CREDENTIALS, **options})


ALWAYS_SHOW: dict[str, Any] = {"injection": {"withhold_share": 0}}


# --- identity ------------------------------------------------------------------------------------------------------


async def test_bytes_are_the_same_both_ways(tmp_path: Path) -> None:
    """With nothing to inject neither side can tell the proxy from the wire: order, case and spacing stay."""
    sent = post(request_body(), "X-oDD:  two  spaces", *AGENT_HEADERS, "Accept-Encoding: gzip, br", "x-odd: again")
    body = message()
    reply = b"HTTP/1.1 200 Fine\r\nX-A: 1\r\nrequest-ID: r\r\nx-a: 2\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    got: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await read_request(reader))
        writer.write(reply)
        await reader.read()

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        agent(proxy) as connection,
    ):
        connection.writer.write(sent)
        answered = await connection.reader.readexactly(len(reply))

    # Optional white space around a value is no part of it (RFC 9110 §5.5); mitmproxy normalises it.
    assert got == [sent.replace(b"X-oDD:  two  spaces", b"X-oDD: two  spaces")]
    assert answered == reply


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"not json", b'{"model":1,"messages":"x"}', b"\xff\xfe\x00", request_body(system=None), b"[1,2,3]"],
    ids=["empty", "cut", "text", "wrong types", "binary", "null system", "list"],
)
async def test_bodies_nobody_understands_go_through(tmp_path: Path, body: bytes) -> None:
    """What the API may make of a body is the API's business: it goes out as it came, and is recorded."""
    async with (
        api_server(answering(b'{"type":"error"}', status=400)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        answer = await connection.ask(post(body, *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert (answer.status, answer.body) == (400, b'{"type":"error"}')
    assert api.received[0].body == body
    assert chat.attributes[lore.HTTP_STATUS] == 400
    assert proxy.service.counts.count("lost") == 0


async def test_a_conversation_is_remembered(tmp_path: Path) -> None:
    """A history that is sent again is parsed once; the bytes that go out and what is recorded do not depend on it."""
    give_memory(tmp_path)
    said = [f"{number} " + "words " * 400 for number in range(9)]
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, **ALWAYS_SHOW) as proxy,
        agent(proxy) as connection,
    ):
        for count in (1, 5, 7, 9):
            await connection.ask(post(request_body(*said[:count]), *AGENT_HEADERS))
        chats = await proxy.collector.chats(4)
        remembered = len(proxy.service.addon._histories)
    blocks = [json.loads(request.body)["system"][-1] for request in api.received]

    assert [json.loads(request.body)["messages"] for request in api.received] == [
        json.loads(request_body(*said[:count]))["messages"] for count in (1, 5, 7, 9)
    ]
    assert blocks == blocks[:1] * 4
    assert (remembered, len(chats)) == (1, 4)


async def test_large_bodies_go_through(tmp_path: Path) -> None:
    """There is no limit that an agent could run into."""
    body = request_body("some words of text " * 250_000)
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        answer = await connection.ask(post(body, *AGENT_HEADERS))

    assert answer.body == message()
    assert api.received[0].body == body


async def test_other_endpoints_of_the_host_go_through(tmp_path: Path) -> None:
    """Telemetry and settings calls are neither recorded nor held back, and are counted."""
    async with (
        api_server(answering(b"{}")) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        await connection.ask(post(b"x" * 200_000, target="/api/event_logging/v2/batch"))
        await connection.ask(post(b"{}", target="/v1/messages/batches"))

    assert [received.path for received in api.received] == ["/api/event_logging/v2/batch", "/v1/messages/batches"]
    assert proxy.service.counts.snapshot()["requests"] == {"other": 1, "unknown_endpoint": 1}
    assert proxy.service.counts.count("captured") == 0


async def test_a_connection_serves_many_requests(tmp_path: Path) -> None:
    """Keep-alive works, and each request is captured."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        answers = [await connection.ask(post(request_body(f"say {n}"), *AGENT_HEADERS)) for n in range(5)]
        chats = await proxy.collector.chats(5)

    assert [answer.status for answer in answers] == [200] * 5
    assert len({chat.span_id for chat in chats}) == 5
    assert proxy.service.counts.count("captured") == 5


# --- streaming -----------------------------------------------------------------------------------------------------


async def test_chunks_come_as_they_are_sent(tmp_path: Path) -> None:
    """The first chunk is with the client while the server still holds the others back; the time to it is recorded."""
    gate = asyncio.Event()
    chunks = events("a", "b", "c")
    async with (
        api_server(streaming(*chunks, gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        connection.writer.write(post(request_body(), *AGENT_HEADERS))
        await connection.head()
        first = await asyncio.wait_for(connection.chunk(), 60)
        gate.set()
        rest = [chunk async for chunk in remaining(connection)]
        (chat,) = await proxy.collector.chats(1)

    assert first == chunks[0]
    assert first + b"".join(rest) == b"".join(chunks)
    assert chat.attributes[lore.COMPLETE] is True
    waited_s = chat.attributes[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK]
    assert isinstance(waited_s, float)
    assert 0 < waited_s < (chat.end_time_ns - chat.start_time_ns) / 1e9


async def remaining(connection: Connection) -> Any:
    while chunk := await connection.chunk():
        yield chunk


async def test_a_cut_stream_is_cut_and_kept(tmp_path: Path) -> None:
    """When the server breaks off, the client sees it, and the partial answer is recorded."""
    async with (
        api_server(streaming(*events("partial ", "answer")[:4], ending="cut")) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        async with asyncio.timeout(60):
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert (answer.status, answer.is_whole) == (200, False)
    assert answer.body == b"".join(events("partial ", "answer")[:4])
    assert chat.attributes[lore.COMPLETE] is False
    assert chat.attributes[gen_ai.ERROR_TYPE] == "stream_cut"
    assert "partial answer" in str(chat.attributes[gen_ai.OUTPUT_MESSAGES])


async def test_a_client_that_goes_is_gone_upstream_too(tmp_path: Path) -> None:
    """When the client disconnects, the server's connection is closed at once and what came so far is recorded, once."""
    gate = asyncio.Event()
    async with (
        api_server(streaming(*events("so far", "never"), gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        async with agent(proxy) as connection:
            connection.writer.write(post(request_body(), *AGENT_HEADERS))
            await connection.head()
            await connection.chunk()
            connection.reset()
        await until(lambda: bool(api.deserted), 3)
        (chat,) = await proxy.collector.chats(1)
        await asyncio.sleep(0.2)

    assert chat.attributes[gen_ai.ERROR_TYPE] == "client_gone"
    assert proxy.service.counts.count("captured") == 1
    assert proxy.service.addon.running == 0


async def test_a_client_that_goes_before_the_answer(tmp_path: Path) -> None:
    """The same while the server has not said a word yet."""

    async def never(request: web.Request, body: bytes) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    async with api_server(never) as api, running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        async with agent(proxy) as connection:
            connection.writer.write(post(request_body(), *AGENT_HEADERS))
            await until(lambda: bool(api.received))
        await until(lambda: bool(api.deserted), 3)
        (chat,) = await proxy.collector.chats(1)

    assert chat.attributes[gen_ai.ERROR_TYPE] == "client_gone"
    assert lore.HTTP_STATUS not in chat.attributes


async def test_an_unreachable_server_is_told(tmp_path: Path) -> None:
    """The client gets 502 at once, the exchange is recorded as failed, the next one can succeed."""
    async with api_server(answering(message())) as api:
        pass
    async with running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        async with agent(proxy) as connection:
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert answer.status == 502
    assert gen_ai.ERROR_TYPE in chat.attributes
    assert chat.attributes[lore.COMPLETE] is False


async def test_silence_is_no_timeout(tmp_path: Path) -> None:
    """Nothing ends an exchange but its two sides: mitmproxy's ten minutes do not apply."""
    async with running_proxy(tmp_path) as proxy:
        options = proxy.service._proxy._master.options

    assert options.tcp_timeout >= 24 * 3600


# --- injection -----------------------------------------------------------------------------------------------------

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("encoding", list(ENCODERS))
async def test_a_memory_is_one_insertion(tmp_path: Path, encoding: str) -> None:
    """The forwarded body is the client's plus the block, in the client's own encoding, with the right length."""
    memory = give_memory(tmp_path)
    body = request_body()
    headers = [*AGENT_HEADERS, *([f"Content-Encoding: {encoding}"] if encoding else [])]
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, **ALWAYS_SHOW) as proxy,
        agent(proxy) as connection,
    ):
        await connection.ask(post(ENCODERS[encoding](body), *headers))
        (chat,) = await proxy.collector.chats(1)
    received = api.received[0]
    forwarded = DECODERS[encoding](received.body)
    at = next(index for index, (a, b) in enumerate(zip(forwarded, body, strict=False)) if a != b)
    added = len(forwarded) - len(body)

    assert added > 0
    assert forwarded[:at] + forwarded[at + added :] == body
    assert memory.id.encode() in forwarded[at : at + added]
    assert int(received.header("content-length") or 0) == len(received.body)
    assert [name for name, _ in received.headers] == [
        b"Host", *(header.partition(":")[0].encode() for header in headers), b"Content-Length",
    ]  # fmt: skip
    assert chat.attributes[lore.INJECTED_MEMORY_IDS] == (memory.id,)
    assert isinstance(chat.attributes[lore.OVERHEAD_NS], int)


async def test_many_large_requests_at_once_are_not_kept_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder reads them again, and says the same of them."""
    give_memory(tmp_path)
    told = []
    for bound in (addon_module.MAX_PARSED_BYTES, 0):
        monkeypatch.setattr(addon_module, "MAX_PARSED_BYTES", bound)
        async with (
            api_server(answering(message(message_id=f"msg_{bound}"))) as api,
            running_proxy(tmp_path / str(bound), upstreams={HOST: api.url}, **ALWAYS_SHOW) as proxy,
            agent(proxy) as connection,
        ):
            await connection.ask(post(request_body("one", "hello", "two"), *AGENT_HEADERS))
            (chat,) = await proxy.collector.chats(1)
        told.append([chat.attributes[key] for key in (gen_ai.CONVERSATION_ID, gen_ai.INPUT_MESSAGES, lore.REPOSITORY)])

    assert told[0] == told[1]


async def test_the_block_is_the_same_in_every_request_and_after_a_restart(tmp_path: Path) -> None:
    """A conversation's forwarded bodies share their prefix for as long as it lives."""
    give_memory(tmp_path)
    async with api_server(answering(message())) as api:
        for history in (("one",), ("one", "hello", "two"), ("one", "hello", "two", "hello", "three")):
            async with (
                running_proxy(tmp_path, upstreams={HOST: api.url}, **ALWAYS_SHOW) as proxy,
                agent(proxy) as connection,
            ):
                await connection.ask(post(request_body(*history), *AGENT_HEADERS))
    systems = [json.loads(received.body)["system"] for received in api.received]

    assert len(systems[0]) == 2
    assert systems[0] == systems[1] == systems[2]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "klingon"])
async def test_an_undecodable_body_goes_out_untouched(tmp_path: Path, encoding: str) -> None:
    """A body that is not in the encoding it claims is forwarded as it is, and that is counted."""
    give_memory(tmp_path)
    async with (
        api_server(answering(b"{}", status=400)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, **ALWAYS_SHOW) as proxy,
        agent(proxy) as connection,
    ):
        answer = await connection.ask(post(b"nonsense", *AGENT_HEADERS, f"Content-Encoding: {encoding}"))
        await proxy.collector.chats(1)

    assert (answer.status, api.received[0].body) == (400, b"nonsense")
    assert proxy.service.counts.count("skipped", "undecodable") == 1


class BrokenPreparer:
    """Fails after it has changed what it could reach."""

    def prepare(self, *arguments: object) -> Prepared:
        raise RuntimeError("on purpose")


async def test_a_fault_of_ours_is_pass_through(tmp_path: Path) -> None:
    """An exception on the request path costs the agent nothing, and is counted with its type."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy) as connection,
    ):
        proxy.service.addon._injector = BrokenPreparer()
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert (answer.body, api.received[0].body) == (message(), request_body())
    assert proxy.service.counts.snapshot()["passthrough"] == {"request:RuntimeError": 1}
    assert chat.attributes[lore.INJECTION_SKIPPED] == "error:RuntimeError"


@pytest.mark.parametrize("hook", ["_begin", "_introduce", "_sink.begin", "_sink.hold", "_sink.submit"])
async def test_faults_in_other_hooks_are_pass_through(tmp_path: Path, hook: str) -> None:
    """The same for every other hook of ours: the request goes where it has to, and its answer comes."""

    def broken(*arguments: object) -> None:
        raise RuntimeError("on purpose")

    async with api_server(answering(message())) as api, running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        *way, name = hook.split(".")
        setattr(reduce(getattr, way, proxy.service.addon), name, broken)
        async with agent(proxy) as connection:
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS))

    assert (answer.body, api.received[0].body) == (message(), request_body())
    assert proxy.service.counts.count("passthrough") >= 1


# --- who is it -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("credentials", [CREDENTIALS, "", f"{RUN}:wrong", "someone:else"])
async def test_credentials_name_the_run_and_are_never_needed(tmp_path: Path, credentials: str) -> None:
    """With its token a run is known; without, or with a wrong one, nothing is refused."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        agent(proxy, credentials=credentials) as connection,
    ):
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert answer.status == 200
    assert chat.attributes.get(lore.RUN_ID) == (RUN if credentials == CREDENTIALS else None)


async def test_plain_requests_carry_their_credentials_no_further(tmp_path: Path) -> None:
    """Over plain http the proxy's credentials stand in the request itself, and end at the proxy."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        authorization = "Proxy-Authorization: Basic " + base64_of(CREDENTIALS)
        headers = (*AGENT_HEADERS, authorization, "x-spanlore-bypass: 1")
        answer = await connection.ask(post(request_body(), *headers, target=f"http://{HOST}/v1/messages"))
        (chat,) = await proxy.collector.chats(1)
    names = {name.lower() for name, _ in api.received[0].headers}

    assert answer.status == 200
    assert chat.attributes[lore.RUN_ID] == RUN
    assert not names & {b"proxy-authorization", b"x-spanlore-bypass"}


async def test_plain_requests_to_other_hosts_only_lose_the_credentials(tmp_path: Path) -> None:
    """A request that is none of ours goes through, streamed, with no copy kept."""
    async with (
        api_server(answering(b"page")) as other,
        running_proxy(tmp_path) as proxy,
        connected(proxy.port) as agent,
    ):
        authorization = "Proxy-Authorization: Basic " + base64_of(CREDENTIALS)
        answer = await agent.ask(post(b"x", authorization, target=f"{other.url}/v1/messages", host="h"))

    assert answer.body == b"page"
    assert [name for name, _ in other.received[0].headers] == [b"Host", b"Content-Length"]
    assert proxy.service.counts.count("captured") == 0


def base64_of(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"capture": {"mode": "off"}}, "mode_off"), ({"capture": {"off_repositories": [REPOSITORY]}}, "off_repository")],
)
async def test_what_is_off_is_not_recorded(tmp_path: Path, settings: dict[str, Any], reason: str) -> None:
    """Nothing is recorded of it, nothing is put into it, and that it happened is counted."""
    give_memory(tmp_path)
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}, **settings) as proxy,
        agent(proxy) as connection,
    ):
        await connection.ask(post(request_body(), *AGENT_HEADERS))
        await until(lambda: proxy.service.counts.count("not_captured", reason) == 1)

    assert proxy.service.counts.count("captured") == 0
    assert (api.received[0].body == request_body()) is (reason == "off_repository")


async def test_metadata_mode_keeps_no_words(tmp_path: Path) -> None:
    """Only numbers and names leave the process or reach the disk."""
    async with (
        api_server(answering(message("the model's words"))) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, capture={"mode": "metadata"}) as proxy,
        agent(proxy) as connection,
    ):
        await connection.ask(post(request_body("the user's words"), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)
        exists = proxy.paths.wire_log.exists()

    assert b"words" not in b"".join(body for _, body in proxy.collector.taken)
    assert chat.attributes[gen_ai.USAGE_OUTPUT_TOKENS] == 5
    assert not exists


# --- where it goes -------------------------------------------------------------------------------------------------


async def test_an_overridden_host_is_never_contacted(tmp_path: Path) -> None:
    """Whatever a client speaks inside its tunnel, the real host of an override gets no connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))

    async with (
        raw_server(talk) as real,
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={"localhost": api.url}) as proxy,
    ):
        async with tunnelled(proxy.port, f"localhost:{real.port}", None) as connection:
            connection.writer.write(b"\x00\x01\x02 no http at all\r\n\r\n")
            rest = await connection.reader.read()
        async with tunnelled(proxy.port, f"localhost:{real.port}", None) as connection:
            answer = await connection.ask(post(b"{}", target="/anything", host=f"localhost:{real.port}"))

    assert (rest, real.connections) == (b"", 0)
    assert (answer.status, api.received[0].header("host")) == (200, f"localhost:{real.port}")


async def test_upstream_certificates_are_verified(tmp_path: Path) -> None:
    """A server with a certificate nobody vouches for is refused; with `upstream_ca` it is believed."""
    tls, pem = server_tls(tmp_path, "localhost")
    async with api_server(answering(message()), tls=tls) as api:
        answers: list[Answer] = []
        for trusted in ("", str(pem)):
            proxy_settings = {"upstream_ca": trusted}
            upstreams = {HOST: f"https://localhost:{api.port}/gateway"}
            async with (
                running_proxy(tmp_path, upstreams=upstreams, proxy=proxy_settings) as proxy,
                agent(proxy) as connection,
            ):
                answers.append(await connection.ask(post(request_body(), *AGENT_HEADERS)))

    assert [answer.status for answer in answers] == [502, 200]
    assert [(got.path, got.header("host")) for got in api.received] == [
        ("/gateway/v1/messages?beta=true", f"localhost:{api.port}")
    ]


async def test_a_request_to_the_proxy_itself_is_answered(tmp_path: Path) -> None:
    """It does not go round in circles."""
    async with running_proxy(tmp_path) as proxy, connected(proxy.port) as connection:
        answer = await connection.ask(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\n\r\n".encode())

    assert answer.status == 404


async def test_websockets_pass_as_they_are(tmp_path: Path) -> None:
    """After 101 both sides exchange bytes that are none of ours; of what nobody can read that is counted."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
        while data := await reader.read(100):
            writer.write(data.upper())

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        agent(proxy) as connection,
    ):
        upgrade = b"GET /v1/realtime HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        connection.writer.write(upgrade + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n\r\n")
        head = await connection.head()
        hello = await connection.reader.readexactly(5)
        connection.writer.write(b"\x81\x03abc")
        echo = await connection.reader.readexactly(5)

    assert (head.split()[1], hello, echo) == (b"101", b"hello", b"\x81\x03ABC")
    assert proxy.service.counts.count("not_captured", "websocket") == 1

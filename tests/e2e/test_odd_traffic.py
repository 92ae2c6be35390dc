"""Unusual and legal, or plainly broken: what an agent sends reaches the API byte for byte, but for the one insertion,
and is recorded. The real proxy, with a memory that wants to be inserted."""

from __future__ import annotations

import asyncio
import bisect
import gzip
import itertools
import json
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import zstandard

from spanlore.memory.memory import memory_to_json
from spanlore.semconv import gen_ai, lore
from support.capture_client import Connection, post, tunnelled
from support.capture_messages import AGENT_HEADERS, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, RunningProxy, running_proxy, state_in, until
from support.capture_upstream import ApiServer, answering, api_server, raw_server
from support.injecting import make_memory

PLAIN = request_body("say hello")
DEEP = 10_000
LARGE = 60_000_000
MUTATIONS = 60


@asynccontextmanager
async def remembering(folder: Path, url: str) -> AsyncIterator[RunningProxy]:
    """The proxy, which knows something for every request of the repository."""
    memory = make_memory(scope=REPOSITORY)
    state_in(folder).snapshot_file.write_text(json.dumps({"memories": [memory_to_json(memory)]}))
    async with running_proxy(folder, upstreams={HOST: url}) as proxy:
        yield proxy


@asynccontextmanager
async def behind(folder: Path) -> AsyncIterator[tuple[ApiServer, RunningProxy]]:
    """The proxy and an API that takes everything."""
    async with api_server(answering(message())) as api, remembering(folder, api.url) as proxy:
        yield api, proxy


def agent(proxy: RunningProxy) -> AbstractAsyncContextManager[Connection]:
    return tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS)


def inserted(sent: bytes, arrived: bytes) -> bytes | None:
    """What stands in the one and not in the other, if it stands at one place; None when more is different."""
    begin = bisect.bisect_left(range(len(sent)), True, key=lambda at: sent[: at + 1] != arrived[: at + 1])
    end = len(arrived) - (len(sent) - begin)
    return arrived[begin:end] if end >= begin and arrived[end:] == sent[begin:] else None


def is_as_sent(sent: bytes, arrived: bytes) -> bool:
    """All of it arrived, and nothing else but a block of ours."""
    more = inserted(sent, arrived)
    return more is not None and (more == b"" or b"<spanlore-memory" in more)


def told(text: bytes) -> bytes:
    """The request with these bytes as what the user says."""
    return PLAIN.replace(b"say hello", text)


BODIES = {
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "model twice": PLAIN.replace(b"{", b'{"model":"claude-other",', 1),
    "messages twice": PLAIN.replace(b"{", b'{"messages":[],', 1),
    "system twice": PLAIN[:-1] + b',"system":"You are another."}',
    "message keys twice": PLAIN.replace(b'"role":"user"', b'"role":"user","role":"user"'),
    "half a character": told(rb"\ud83d and \udc00\ud800"),
    "escaped zero": told(rb"a\u0000b"),
    "escapes": told(rb"\u0073\u0061y \/ \"hello\""),
    "not a number": PLAIN[:-1] + b',"temperature":NaN,"top_p":-Infinity}',
    "huge number": PLAIN[:-1] + b',"max_tokens":' + b"9" * 400 + b',"temperature":1e999}',
    "nested arrays": PLAIN[:-1] + b',"metadata":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "nested objects": PLAIN[:-1] + b',"metadata":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "nested message": told(b'x"},{"type":"tool_use","id":"t","name":"n","input":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP
                          + b'},{"type":"text","text":"y'),
    "not UTF-8": told(b"\xff\xfe \x80 caf\xe9"),
    "control characters": told(b"a\x01b\tc"),
    "UTF-16": PLAIN.decode().encode("utf-16"),
    "something behind": PLAIN + b"\n{}",
    "line ends": b" \r\n\t" * 50_000 + PLAIN + b"\r\n" * 1000,
    "pretty": json.dumps(json.loads(PLAIN), indent=8).encode(),
    "many keys": PLAIN[:-1] + b"".join(b',"k%d":%d' % (n, n) for n in range(20_000)) + b"}",
    "empty": b"",
    "null": b"null",
    "wrong types": b'{"model":[],"messages":{"a":[1,null]},"system":7,"tools":"x"}',
    "empty messages": b'{"model":"m","messages":[],"system":[]}',
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
async def test_bodies(tmp_path: Path, name: str) -> None:
    """It arrives as it was sent, the answer comes back, and it is recorded, once."""
    async with behind(tmp_path) as (api, proxy), agent(proxy) as connection:
        answer = await asyncio.wait_for(connection.ask(post(BODIES[name], *AGENT_HEADERS)), 60)
        chats = await proxy.collector.chats(1, within_s=60)

    assert (answer.status, answer.body) == (200, message())
    assert is_as_sent(BODIES[name], api.received[0].body)
    assert [chat.attributes[gen_ai.RESPONSE_ID] for chat in chats] == ["msg_1"]
    assert proxy.service.counts.count("lost") == 0


async def test_the_plain_one_gets_its_block(tmp_path: Path) -> None:
    """Else the other tests would show nothing."""
    async with behind(tmp_path) as (api, proxy), agent(proxy) as connection:
        await connection.ask(post(PLAIN, *AGENT_HEADERS))

    assert b"<spanlore-memory" in (inserted(PLAIN, api.received[0].body) or b"")


def mutated(lots: random.Random) -> bytes:
    """The request with some bytes gone, doubled or made up."""
    body = bytearray(PLAIN)
    for _ in range(lots.randrange(1, 5)):
        at, size = lots.randrange(len(body)), lots.randrange(1, 12)
        piece = lots.choice([b"", bytes(body[at : at + size]) * 2, lots.randbytes(size), b'"', b"}", b"],[", b"\\u00"])
        body[at : at + size] = piece
    return bytes(body)


async def test_mutations(tmp_path: Path) -> None:
    """One connection, one broken body after the other."""
    bodies = [mutated(random.Random(number)) for number in range(MUTATIONS)]
    async with behind(tmp_path) as (api, proxy), agent(proxy) as connection:
        for body in bodies:
            answer = await asyncio.wait_for(connection.ask(post(body, *AGENT_HEADERS)), 60)
            assert answer.status == 200
        await proxy.collector.chats(MUTATIONS, within_s=60)

    assert [is_as_sent(*pair) for pair in zip(bodies, (one.body for one in api.received), strict=True)].count(
        False
    ) == 0
    assert proxy.service.counts.count("lost") == 0


CODINGS = {
    "not packed at all": ("gzip", PLAIN),
    "cut": ("gzip", gzip.compress(PLAIN)[:-20]),
    "something behind": ("gzip", gzip.compress(PLAIN) + b"junk"),
    "two members": ("gzip", gzip.compress(PLAIN[:50]) + gzip.compress(PLAIN[50:])),
    "twice": ("gzip, zstd", zstandard.ZstdCompressor().compress(gzip.compress(PLAIN))),
    "unknown": ("snappy", b"\x00\x01" + PLAIN),
    "empty": ("zstd", b""),
    "wrong name": ("br", zstandard.ZstdCompressor().compress(PLAIN)),
}


@pytest.mark.parametrize("name", CODINGS)
async def test_content_codings(tmp_path: Path, name: str) -> None:
    """What can't be unpacked goes out as it came; what can may be packed anew around the block."""
    coding, body = CODINGS[name]
    async with behind(tmp_path) as (api, proxy), agent(proxy) as connection:
        headers = (*AGENT_HEADERS, f"Content-Encoding: {coding}")
        answer = await asyncio.wait_for(connection.ask(post(body, *headers)), 60)
        await proxy.collector.chats(1, within_s=60)
    received = api.received[0]

    assert answer.status == 200 and received.header("content-encoding") == coding
    if received.body != body:
        assert name in ("two members", "something behind", "twice")
        unpacked = received.body
        for one in reversed(coding.split(", ")):
            unpacked = gzip.decompress(unpacked) if one == "gzip" else zstandard.ZstdDecompressor().decompress(unpacked)
        assert is_as_sent(PLAIN, unpacked)


async def test_sixty_megabytes(tmp_path: Path) -> None:
    """One tool result; it is forwarded whole, and the proxy goes on."""
    body = told(b"x" * LARGE)
    async with behind(tmp_path) as (api, proxy), agent(proxy) as connection:
        answer = await asyncio.wait_for(connection.ask(post(body, *AGENT_HEADERS)), 180)
        again = await asyncio.wait_for(connection.ask(post(PLAIN, *AGENT_HEADERS)), 60)
        await until(lambda: proxy.service.addon.running == 0)

    assert (answer.status, again.status) == (200, 200)
    assert is_as_sent(body, api.received[0].body) and is_as_sent(PLAIN, api.received[1].body)


# --- framing --------------------------------------------------------------------------------------------------------

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
REPLY = JSON + b"Content-Length: %d\r\n\r\n" % len(message()) + message()


async def read_whole(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """(head, body) of one request, framed by length or in chunks."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line.lower().replace(b" ", b"") for line in head.split(b"\r\n")]
    if b"transfer-encoding:chunked" not in lines:
        lengths = [line[15:] for line in lines if line.startswith(b"content-length:")]
        return head, await reader.readexactly(int(lengths[0]) if lengths else 0)
    parts: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return head, b"".join(parts)


async def exchanged(folder: Path, sent: bytes, reply: bytes = REPLY) -> tuple[bytes, bytes, bytes, int]:
    """(head and body as the server got them, all the client got, chats recorded) of one raw request."""
    got: list[tuple[bytes, bytes]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await read_whole(reader))
        writer.write(reply)
        await reader.read()

    async with (
        raw_server(talk) as server,
        remembering(folder, f"http://127.0.0.1:{server.port}") as proxy,
        agent(proxy) as connection,
    ):
        connection.writer.write(sent)
        answered = await asyncio.wait_for(connection.answer(), 60)
        chats = await proxy.collector.chats(1, within_s=60)
        assert chats[0].attributes[lore.COMPLETE] is True
    return *got[0], answered.body, answered.status


def chunked(body: bytes, sizes: Iterator[int], trailer: bytes = b"", extension: bytes = b"") -> bytes:
    out, at = [], 0
    while at < len(body):
        part = body[at : at + next(sizes)]
        out.append(b"%x%s\r\n%s\r\n" % (len(part), extension, part))
        at += len(part)
    return b"".join([*out, b"0\r\n", trailer, b"\r\n"])


HEAD = "\r\n".join(["POST /v1/messages?beta=true HTTP/1.1", f"Host: {HOST}", *AGENT_HEADERS]).encode()


@pytest.mark.parametrize("more", ["", "extension", "trailer"])
async def test_a_request_in_chunks(tmp_path: Path, more: str) -> None:
    """Of any size, with an extension, with a trailer."""
    lots = random.Random(7)
    sizes = iter(lambda: lots.randrange(1, 40), 0)
    trailer, extension = (b"x-sum: 1\r\n" if more == "trailer" else b""), (b";a=1" if more == "extension" else b"")
    head = HEAD + b"\r\nTransfer-Encoding: chunked" + (b"\r\nTrailer: x-sum" if trailer else b"") + b"\r\n\r\n"
    _, body, answered, status = await exchanged(tmp_path, head + chunked(PLAIN, sizes, trailer, extension))

    assert is_as_sent(PLAIN, body)
    assert (status, answered) == (200, message())


async def test_an_answer_with_a_trailer(tmp_path: Path) -> None:
    """The trailer is left out, as an intermediary may; the answer is whole."""
    reply = JSON + b"Trailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply += chunked(message(), itertools.repeat(7), b"x-sum: 1\r\n")
    _, _, answered, status = await exchanged(tmp_path, post(PLAIN, *AGENT_HEADERS), reply)

    assert (status, answered) == (200, message())


async def test_http_1_0(tmp_path: Path) -> None:
    """As old clients speak it: one request a connection."""
    sent = post(PLAIN, *AGENT_HEADERS).replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
    _, body, answered, status = await exchanged(tmp_path, sent)

    assert is_as_sent(PLAIN, body)
    assert (status, answered) == (200, message())


@pytest.mark.parametrize(
    "lines",
    [["x-large: " + "v" * 30_000], [f"x-many-{n}: {n}" for n in range(400)], ["x-empty:"], ["x-odd: caf\u00e9 \u00ff"]],
    ids=["large", "many", "empty", "not ASCII"],
)
async def test_headers(tmp_path: Path, lines: list[str]) -> None:
    """They reach the server in their order, whatever their number, size and letters."""
    sent = b"\r\n".join(line.encode("latin-1") for line in [HEAD.decode(), *lines, f"Content-Length: {len(PLAIN)}"])
    head, body, answered, status = await exchanged(tmp_path, sent + b"\r\n\r\n" + PLAIN)
    arrived = [line.rstrip() for line in head.split(b"\r\n") if line.startswith(b"x-") and b"claude" not in line]

    assert [line for line in arrived if not line.startswith(b"x-api-key")] == [
        line.encode("latin-1").rstrip() for line in lines
    ]
    assert is_as_sent(PLAIN, body) and (status, answered) == (200, message())

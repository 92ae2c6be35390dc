import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionType
from wsproto.events import Ping, TextMessage

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture.wire_log import WireLogReader
from spanlore_proxy.wire import websocket as frames_module
from support.capture_client import tunnelled
from support.capture_proxy import CREDENTIALS, REPOSITORY, RunningProxy, running_proxy, until
from support.capture_upstream import raw_server, read_request
from support.responses_socket import (
    MODEL,
    SESSION,
    UPGRADE_HEADERS,
    call_item,
    create,
    events,
    output,
    playing,
    preamble,
    said_item,
    socket_server,
    text_item,
)
from support.socket_client import ANSWERS, HOST, SWITCHED, ask, by_response, codex, raw, session, text


def tokens(span: SpanRecord) -> tuple[Any, Any]:
    return span.attributes[gen_ai.USAGE_INPUT_TOKENS], span.attributes[gen_ai.USAGE_OUTPUT_TOKENS]


@pytest.mark.parametrize("is_compressed", [True, False], ids=["compressed", "plain"])
@pytest.mark.parametrize("is_listed", [True, False], ids=["items listed", "items in events only"])
async def test_a_session_is_one_conversation(tmp_path: Path, is_compressed: bool, is_listed: bool) -> None:
    """Each message is an inference of one conversation, with its turn, its tool and its tokens; nothing is told twice,
    and the prewarm stands aside."""
    answers = ANSWERS if is_listed else tuple(events(f"resp_{n}", [
        one["item"] for one in answer if one["type"] == "response.output_item.done"
    ], is_listed=False) for n, answer in enumerate(ANSWERS))  # fmt: skip
    async with (
        socket_server(playing(*answers), is_compressed=is_compressed) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy, is_compressed=is_compressed) as socket,
    ):
        assert bool(socket.compress) is is_compressed
        got = await session(socket)
        chats = by_response(await proxy.collector.chats(4))
        spans = proxy.collector.spans
    tools = [span for span in spans if span.name.startswith("execute_tool")]
    main = [chats[f"resp_{n}"] for n in (1, 2, 3)]

    assert got == list(answers)
    assert [one["input"] for one in api.received] == [
        [], [*preamble(), text_item("user", "Run the tests.")], [output(3, "call_1", "1 failed")],
        [text_item("user", "Fix them.")],
    ]  # fmt: skip
    assert len({span.attributes[gen_ai.CONVERSATION_ID] for span in main}) == 1
    assert {span.attributes[lore.SESSION_ID] for span in chats.values()} == {SESSION}
    assert [span.attributes[lore.TURN] for span in main] == [0, 0, 1]
    assert [span.attributes[lore.STEP] for span in main] == [0, 1, 2]
    assert chats["resp_0"].trace_id not in {span.trace_id for span in main}
    assert [(span.attributes[gen_ai.TOOL_CALL_ID], span.attributes[gen_ai.TOOL_NAME]) for span in tools] == [
        ("call_1", "exec_command")
    ]
    told = [str(span.attributes.get(gen_ai.INPUT_MESSAGES, "")) for span in main]
    assert ["Run the tests." in one for one in told] == [True, False, False]
    assert ["1 failed" in one for one in told] == [False, True, False]
    assert ["Fix them." in one for one in told] == [False, False, True]
    assert all(span.attributes[lore.REPOSITORY] == REPOSITORY for span in main)
    assert all(span.attributes[lore.HTTP_STATUS] == 101 for span in main)
    assert all(span.attributes[lore.COMPLETE] is True for span in main)
    assert all(span.attributes[gen_ai.REQUEST_MODEL] == MODEL for span in main)
    if is_listed:
        assert [tokens(span) for span in main] == [(1000, 20), (1100, 30), (1200, 40)]
    counted = proxy.service.counts.snapshot()
    assert counted["requests"] == {"websocket": 1, "websocket_message": 4}
    assert counted["skipped"]["side_call"] == 1
    assert sum(counted["skipped"].values()) == 4
    assert not counted.keys() & {"lost", "degraded", "passthrough", "not_captured"}


async def test_a_reconnected_session_goes_on(tmp_path: Path) -> None:
    """After a break the client sends its whole input again; that is no new conversation, and nothing is told twice."""
    history = [*preamble(), text_item("user", "Run the tests.")]
    async with (
        socket_server(playing(*ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        async with codex(proxy) as socket:
            await ask(socket, create(history))
        history += [said_item("I will run them."), call_item("call_1", "pytest"), output(3, "call_1", "1 failed")]
        async with codex(proxy) as socket:
            await ask(socket, create(history))
            await ask(socket, create([text_item("user", "Fix them.")], "resp_2"))
        chats = by_response(await proxy.collector.chats(3))

    main = [chats[f"resp_{n}"] for n in (1, 2, 3)]
    assert len({span.attributes[gen_ai.CONVERSATION_ID] for span in main}) == 1
    assert "Run the tests." not in str(main[1].attributes[gen_ai.INPUT_MESSAGES])
    assert [span.attributes[lore.STEP] for span in main] == [0, 1, 2]


async def test_a_compaction_stays_in_its_conversation(tmp_path: Path) -> None:
    """The summariser's call is one of its own with the whole history; after it the connection begins a new input."""
    summary = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA" + "B" * 200}
    answers = (ANSWERS[1], ANSWERS[2], events("resp_c", [summary]), events("resp_4", [said_item("Going on.")]))
    async with (
        socket_server(playing(*answers)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await ask(socket, create([*preamble(), text_item("user", "Run the tests.")]))
        await ask(socket, create([output(3, "call_1", "1 failed")], "resp_1"))
        await ask(socket, create([{"type": "compaction_trigger"}], "resp_2", kind="compaction"))
        await ask(socket, create([*preamble(), text_item("user", "Run the tests."), summary]))
        chats = by_response(await proxy.collector.chats(4))
        spans = proxy.collector.spans

    assert chats["resp_c"].attributes[lore.CALL_CLASS] == "compaction"
    assert (
        len({chats[name].attributes[gen_ai.CONVERSATION_ID] for name in ("resp_1", "resp_2", "resp_c", "resp_4")}) == 1
    )
    assert chats["resp_4"].attributes[lore.CALL_CLASS] == "main"
    assert "1 failed" not in str(chats["resp_c"].attributes.get(gen_ai.INPUT_MESSAGES))
    assert len([span for span in spans if span.name.startswith("execute_tool")]) == 1


async def test_the_log_shows_the_whole_request(tmp_path: Path) -> None:
    """`spanlore explain` finds the request with the input that the server had, not only what was sent last."""
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await session(socket)
        chats = by_response(await proxy.collector.chats(4))
    reader = WireLogReader(proxy.paths.wire_log)
    found = reader.request(str(chats["resp_3"].attributes[lore.REQUEST_ID]))
    reader.close()

    assert found is not None
    document = json.loads(found.body)
    assert document["input"] == [
        *preamble(), text_item("user", "Run the tests."), said_item("I will run them."), call_item("call_1", "pytest"),
        output(3, "call_1", "1 failed"), said_item("They fail."), text_item("user", "Fix them."),
    ]  # fmt: skip


async def test_bytes_are_the_same_both_ways(tmp_path: Path) -> None:
    """Fragments, pings within them, binary frames, reserved bits, garbage: each byte arrives as it was sent."""
    client = Frames(ConnectionType.CLIENT)
    sent = client.send(TextMessage(data='{"type":', message_finished=False)) + client.send(Ping(payload=b"x"))
    sent += client.send(TextMessage(data=f'"response.create","input":"hi","model":"{MODEL}"}}'))
    sent += b"\x82\x83abcd\x00\x01\x02" + b"\xff\xf0 no frame at all \r\n\r\n"
    server = Frames(ConnectionType.SERVER)
    reply = server.send(TextMessage(data='{"type":"response.in', message_finished=False)) + b"\x89\x01p"
    reply += (
        server.send(TextMessage(data='complete","response":{"id":"r","output":[]}}')) + b"\x82\x01\x00" + b"\x83\x7f"
    )
    arrived = b""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal arrived
        await read_request(reader)
        writer.write(SWITCHED)
        arrived = await reader.readexactly(len(sent))
        for at in range(len(reply)):
            writer.write(reply[at : at + 1])
            await asyncio.sleep(0)
        await reader.read()

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        head = await raw(connection)
        for at in range(0, len(sent), 7):
            connection.writer.write(sent[at : at + 7])
            await connection.writer.drain()
        answered = await connection.reader.readexactly(len(reply))
        (chat,) = await proxy.collector.chats(1)

    assert (head + b"\r\n\r\n", arrived, answered) == (SWITCHED, sent, reply)
    assert chat.attributes[lore.COMPLETE] is False
    assert proxy.service.counts.count("lost", "websocket") == 1


async def test_large_messages_go_through(tmp_path: Path) -> None:
    """A history of megabytes, an answer of a megabyte, compressed and not."""
    said = "words of a large history " * 50_000
    for is_compressed in (True, False):
        async with (
            socket_server(playing(events("resp_1", [said_item(said)])), is_compressed=is_compressed) as api,
            running_proxy(tmp_path / str(is_compressed), upstreams={HOST: api.url}) as proxy,
            codex(proxy, is_compressed=is_compressed) as socket,
        ):
            got = await ask(socket, create([text_item("user", said)]))
            (chat,) = await proxy.collector.chats(1)

        assert got == events("resp_1", [said_item(said)])
        assert api.received[0]["input"] == [text_item("user", said)]
        assert said[-1000:] in str(chat.attributes[gen_ai.OUTPUT_MESSAGES])


async def test_events_come_as_they_are_sent(tmp_path: Path) -> None:
    """The first event is with the client while the server holds the others back; its time is recorded."""
    gate = asyncio.Event()
    first, *rest = events("resp_1", [said_item("hello")])

    async def answer(socket: web.WebSocketResponse, _: dict[str, Any]) -> None:
        await socket.send_str(json.dumps(first))
        await gate.wait()
        for event in rest:
            await socket.send_str(json.dumps(event))

    async with (
        socket_server(answer) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await socket.send_str(json.dumps(create([text_item("user", "hi")])))
        got = json.loads(await asyncio.wait_for(socket.receive_str(), 60))
        assert proxy.service.addon.running == 1
        await asyncio.sleep(0.05)
        gate.set()
        (chat,) = await proxy.collector.chats(1)
        await until(lambda: proxy.service.addon.running == 0)

    assert got == first
    waited_s = chat.attributes[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK]
    assert isinstance(waited_s, float)
    assert 0 < waited_s < (chat.end_time_ns - chat.start_time_ns) / 1e9 - 0.04


async def test_pings_are_answered_by_the_other_side(tmp_path: Path) -> None:
    """The proxy has no part in it."""
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        await raw(connection)
        connection.writer.write(Frames(ConnectionType.CLIENT).send(Ping(payload=b"still there")))
        pong = await asyncio.wait_for(connection.reader.readexactly(13), 60)

    assert pong == b"\x8a\x0bstill there"


async def test_a_client_that_vanishes(tmp_path: Path) -> None:
    """The server is told at once (1006), and what came so far is recorded as left by the client."""
    first = events("resp_1", [said_item("so far")])[:4]

    async def answer(socket: web.WebSocketResponse, _: dict[str, Any]) -> None:
        for event in first:
            await socket.send_str(json.dumps(event))

    async with socket_server(answer) as api, running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        async with tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection:
            await raw(connection)
            connection.writer.write(text(create([text_item("user", "hi")])))
            await connection.reader.read(10)
            await until(lambda: any(live.tap for lives in proxy.service.addon._live.values() for live in lives))
            await asyncio.sleep(0.1)
            connection.reset()
        await until(lambda: bool(api.ended), 60)
        (chat,) = await proxy.collector.chats(1)

    assert api.ended == [1006]
    assert chat.attributes[gen_ai.ERROR_TYPE] == "client_gone"
    assert "so far" in str(chat.attributes[gen_ai.OUTPUT_MESSAGES])
    assert proxy.service.addon.running == 0


async def test_a_client_that_ends_between_requests(tmp_path: Path) -> None:
    """As Codex does, without a close handshake: nothing is lost, nothing is recorded twice."""
    async with socket_server(playing(*ANSWERS[1:])) as api, running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        async with tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection:
            await raw(connection)
            connection.writer.write(text(create([text_item("user", "hi")])))
            (chat,) = await proxy.collector.chats(1)
        await until(lambda: bool(api.ended), 10)

    assert api.ended == [1006]
    assert chat.attributes[lore.COMPLETE] is True
    assert proxy.service.counts.count("captured") == 1


async def test_a_server_that_vanishes(tmp_path: Path) -> None:
    """The client sees the end at once, and the partial answer is recorded as cut."""

    async def answer(socket: web.WebSocketResponse, _: dict[str, Any]) -> None:
        for event in events("resp_1", [said_item("so far")])[:4]:
            await socket.send_str(json.dumps(event))
        await asyncio.sleep(0.05)
        assert socket._req is not None
        assert socket._req.transport is not None
        socket._req.transport.abort()

    async with (
        socket_server(answer) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await socket.send_str(json.dumps(create([text_item("user", "hi")])))
        kinds = [(await asyncio.wait_for(socket.receive(), 60)).type for _ in range(5)]
        (chat,) = await proxy.collector.chats(1)

    assert kinds[-1] in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    assert socket.close_code == 1006
    assert chat.attributes[gen_ai.ERROR_TYPE] == "stream_cut"
    assert "so far" in str(chat.attributes[gen_ai.OUTPUT_MESSAGES])


async def test_a_close_handshake_is_the_two_sides_own(tmp_path: Path) -> None:
    """Code and reason arrive, and the answer to them too."""

    async def answer(socket: web.WebSocketResponse, _: dict[str, Any]) -> None:
        await socket.close(code=4000, message=b"limit reached")

    async with (
        socket_server(answer) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await socket.send_str(json.dumps(create([text_item("user", "hi")])))
        closed = await asyncio.wait_for(socket.receive(), 60)
        (chat,) = await proxy.collector.chats(1)

    assert (closed.type, closed.data, closed.extra) == (aiohttp.WSMsgType.CLOSE, 4000, "limit reached")
    assert chat.attributes[lore.COMPLETE] is False


@pytest.mark.parametrize("status", [426, 403, 500])
async def test_a_refused_upgrade_is_refused(tmp_path: Path, status: int) -> None:
    """The client gets the status and may fall back; it is counted."""
    async with (
        socket_server(playing([]), refusal=status) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with codex(proxy):
                pass

    assert refused.value.status == status
    assert api.upgrades[0]["openai-beta"] == UPGRADE_HEADERS["openai-beta"]
    assert "proxy-authorization" not in api.upgrades[0]
    assert proxy.service.counts.snapshot()["not_captured"] == {"websocket_refused": 1}


async def test_errors_are_answers(tmp_path: Path) -> None:
    """An error event ends its request with the status it names; the connection goes on."""
    refusal = {"type": "error", "status": 429, "error": {"type": "rate_limit_exceeded", "message": "slow down"}}
    failed = {"id": "resp_f", "status": "failed", "error": {"code": "server_error", "message": "oops"}, "output": []}
    answers = ([refusal], [{"type": "response.failed", "response": failed}], ANSWERS[2])
    async with (
        socket_server(playing(*answers)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        for _ in range(3):
            await ask(socket, create([text_item("user", "hi")]))
        chats = await proxy.collector.chats(3)

    assert [chat.attributes[lore.HTTP_STATUS] for chat in chats] == [429, 101, 101]
    assert [gen_ai.ERROR_TYPE in chat.attributes for chat in chats] == [True, True, False]
    assert "rate_limit" in str(chats[0].attributes[gen_ai.ERROR_TYPE])


async def test_two_connections_at_once(tmp_path: Path) -> None:
    """Each has its own chain, though both servers use the same ids."""

    async def answer(socket: web.WebSocketResponse, message: dict[str, Any]) -> None:
        number = int(str(message.get("previous_response_id", "resp_0")).removeprefix("resp_")) + 1
        for event in events(f"resp_{number}", [said_item(f"answer {message['client_metadata']['thread_id']}")]):
            await socket.send_str(json.dumps(event))
            await asyncio.sleep(0.001)

    async def talk(proxy: RunningProxy, name: str) -> None:
        metadata = {"session_id": name, "thread_id": name}
        async with codex(proxy) as socket:
            await ask(socket, create([text_item("user", f"one {name}")], client_metadata=metadata))
            await ask(socket, create([text_item("user", f"two {name}")], "resp_1", client_metadata=metadata))

    async with socket_server(answer) as api, running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy:
        await asyncio.gather(talk(proxy, "anna"), talk(proxy, "bert"))
        chats = await proxy.collector.chats(4)

    for name in ("anna", "bert"):
        mine = [chat for chat in chats if chat.attributes[lore.SESSION_ID] == name]
        assert len(mine) == 2
        assert len({chat.attributes[gen_ai.CONVERSATION_ID] for chat in mine}) == 1
        assert all(name in str(chat.attributes[gen_ai.OUTPUT_MESSAGES]) for chat in mine)


async def test_other_messages_pass(tmp_path: Path) -> None:
    """Binary messages and events that ask for nothing go through, counted, and harm nothing."""
    async with (
        socket_server(playing(ANSWERS[1])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await socket.send_bytes(b"\x00\x01 binary")
        echo = await socket.receive_bytes()
        got = await ask(socket, create([text_item("user", "hi")]))
        await proxy.collector.chats(1)

    assert (echo, api.binary, got) == (b"\x00\x01 binary", [b"\x00\x01 binary"], ANSWERS[1])
    assert proxy.service.counts.snapshot()["not_captured"] == {"websocket_message": 1}


async def test_a_past_that_nobody_saw_is_counted(tmp_path: Path) -> None:
    """A request that goes on from an unknown answer is recorded with what it says."""
    async with (
        socket_server(playing(ANSWERS[1])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        await ask(socket, create([text_item("user", "and now?")], "resp_of_another_life"))
        (chat,) = await proxy.collector.chats(1)

    assert "and now?" in str(chat.attributes[gen_ai.INPUT_MESSAGES])
    assert proxy.service.counts.count("degraded", "websocket_chain") == 1


async def test_a_fault_of_ours_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks in the reading, the bytes go on, and it is counted."""

    def broken(reader: object, data: bytes) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(frames_module.MessageReader, "feed", broken)
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        codex(proxy) as socket,
    ):
        got = await session(socket)

    assert got == list(ANSWERS)
    assert proxy.service.counts.count("lost", "websocket") == 1
    assert proxy.service.counts.snapshot()["passthrough"] == {"websocket:RuntimeError": 1}


async def test_a_server_that_nobody_can_read(tmp_path: Path) -> None:
    """What its client still sends goes on, though it comes in pieces, and is recorded no more."""
    said = text(create([text_item("user", "hi")]))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(SWITCHED + b"no frame")
        writer.write((await reader.readexactly(len(said) * 2))[-5:])
        await reader.read()

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        await raw(connection)
        assert await connection.reader.readexactly(8) == b"no frame"
        connection.writer.write(said[:50])
        await connection.writer.drain()
        await asyncio.sleep(0.05)
        connection.writer.write(said[50:] + said)
        echo = await asyncio.wait_for(connection.reader.readexactly(5), 60)

    assert echo == said[-5:]
    assert proxy.service.addon.running == 0
    assert proxy.service.counts.count("requests", "websocket_message") == 0


async def test_an_unknown_extension_is_left_alone(tmp_path: Path) -> None:
    """What cannot be read is not guessed at: the connection passes, counted."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(SWITCHED[:-2] + b"Sec-WebSocket-Extensions: x-snappy\r\n\r\n")
        while data := await reader.read(100):
            writer.write(data)

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        await raw(connection)
        connection.writer.write(b"\xf1\x01a")
        echo = await connection.reader.readexactly(3)

    assert echo == b"\xf1\x01a"
    assert proxy.service.counts.snapshot()["passthrough"] == {"websocket:WebSocketError": 1}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"mode": "off"}, "websocket"), ({"off_repositories": [REPOSITORY]}, "off_repository")],
    ids=["off", "off here"],
)
async def test_what_is_not_wanted_is_not_recorded(tmp_path: Path, settings: dict[str, Any], reason: str) -> None:
    """Neither where capture is off nor where the repository is."""
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, capture=settings) as proxy,
        codex(proxy) as socket,
    ):
        got = await session(socket)
        await asyncio.sleep(0.1)

    assert got == list(ANSWERS)
    assert proxy.service.counts.count("captured") == 0
    assert proxy.service.counts.count("not_captured", reason) > 0

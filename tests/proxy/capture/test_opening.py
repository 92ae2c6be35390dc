import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import Ping, TextMessage

from spanlore.semconv import gen_ai, lore
from spanlore_proxy.capture.opening import Opening
from spanlore_proxy.capture.wire_log import WireLogReader
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.wire.websocket import PING, TEXT, MessageReader, SocketMessage
from support.capture_proxy import running_proxy
from support.responses_socket import (
    call_item,
    create,
    output,
    playing,
    preamble,
    prewarm,
    said_item,
    socket_server,
    text_item,
)
from support.socket_client import ANSWERS, HOST, ask, by_response, codex, give_memory, session

type Opened = Callable[[SocketMessage, bytes | None], bytes | None]


def stream(messages: list[list[str]], *, has_pings: bool) -> bytes:
    """Messages in fragments, with pings between the fragments."""
    client = Connection(ConnectionType.CLIENT)
    out = b""
    for pieces in messages:
        for number, piece in enumerate(pieces):
            out += client.send(TextMessage(data=piece, message_finished=number == len(pieces) - 1))
            out += client.send(Ping(payload=b"x")) if has_pings else b""
    return out


def chunks(data: bytes, seed: int) -> list[bytes]:
    cuts = random.Random(seed)
    out = []
    while data:
        size = cuts.randint(1, 30)
        out.append(data[:size])
        data = data[size:]
    return out


def passed(opening: Opening, data: list[bytes]) -> tuple[bytes, list[Exception]]:
    """What went on, and the faults."""
    sent, faults = b"", []
    for chunk in data:
        if opening.is_over:
            sent += chunk
            continue
        more, fault = opening.take(chunk)
        sent += more
        faults += [fault] if fault is not None else []
    return sent + opening.rest(), faults


@given(
    messages=st.lists(st.lists(st.text(max_size=200), min_size=1, max_size=3), max_size=4),
    has_pings=st.booleans(),
    garbage=st.binary(max_size=20),
    cut=st.integers(0, 50),
    seed=st.integers(0, 2**32),
)
def test_no_byte_is_lost(messages: list[list[str]], has_pings: bool, garbage: bytes, cut: int, seed: int) -> None:
    """With nothing to insert all bytes go on, in their order, whatever they are and however they come."""
    data = stream(messages, has_pings=has_pings) + garbage
    data = data[: len(data) - cut] if cut < len(data) else data
    sent, _ = passed(Opening(MessageReader(False), lambda message, raw: None), chunks(data, seed))

    assert sent == data


@given(seed=st.integers(0, 2**32))
def test_a_message_is_replaced_whole(seed: int) -> None:
    """It alone: what stands before and behind it goes on as it came."""
    first, second, third = (stream([[word, word]], has_pings=False) for word in ("one", "two", "three"))

    def opened(message: SocketMessage, raw: bytes | None) -> bytes | None:
        return b"<new>" if message.data == b"twotwo" and raw == second else None

    sent, faults = passed(Opening(MessageReader(False), opened), chunks(first + second + third, seed))

    assert (sent, faults) == (first + b"<new>" + third, [])


def test_a_message_with_a_ping_in_it_stays() -> None:
    """Its bytes can't be told from the ping's; it is told, and nothing is held from there on."""
    told: list[tuple[int, bool]] = []

    def opened(message: SocketMessage, raw: bytes | None) -> bytes | None:
        told.append((message.opcode, raw is not None))
        return b"<new>"

    data = stream([["a", "b"]], has_pings=True)
    opening = Opening(MessageReader(False), opened)

    assert opening.take(data) == (data, None)
    assert told == [(PING, False), (TEXT, False), (PING, False)]
    assert opening.is_over


@pytest.mark.parametrize("size", [1, 1000])
def test_a_fault_ends_the_opening(size: int) -> None:
    """What was held goes on; the fault is told once."""

    def opened(message: SocketMessage, raw: bytes | None) -> bytes | None:
        raise RuntimeError("on purpose")

    data = stream([["a"], ["b"]], has_pings=False)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    sent, faults = passed(Opening(MessageReader(False), opened), pieces)

    assert sent == data
    assert [str(fault) for fault in faults] == ["on purpose"]


def test_after_the_end_bytes_go_on_as_they_come() -> None:
    """Half a message that was held goes on with the next bytes."""
    data = stream([["hello"]], has_pings=False)
    opening = Opening(MessageReader(False), lambda message, raw: None)
    first, _ = opening.take(data[:4])
    opening.end()

    assert (first, opening.take(data[4:6])[0]) == (b"", data[:6])


# --- injection -----------------------------------------------------------------------------------------------------

LONG = text_item("user", "A long task. " * 3_000)
"""More than a window of compressed text."""


@pytest.mark.parametrize("is_compressed", [True, False], ids=["compressed", "plain"])
async def test_a_memory_is_one_item_of_the_first_input(tmp_path: Path, is_compressed: bool) -> None:
    """Behind the client's own instructions, once a connection; everything else arrives as it was sent, also what the
    client's compression says by referring to what it sent before."""
    memory = give_memory(tmp_path)
    sent = [
        prewarm(),
        create([*preamble(), LONG], "resp_0"),
        create([output(3, "call_1", "1 failed")], "resp_1"),
        create([text_item("user", "A long task. Fix them.")], "resp_2"),
    ]
    async with (
        socket_server(playing(*ANSWERS), is_compressed=is_compressed) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy, is_compressed=is_compressed) as socket,
    ):
        got = [await ask(socket, message) for message in sent]
        chats = by_response(await proxy.collector.chats(4))
    before, (block, *after) = api.received[1]["input"][:2], api.received[1]["input"][2:]
    reader = WireLogReader(proxy.paths.wire_log)
    logged = reader.request(str(chats["resp_1"].attributes[lore.REQUEST_ID]))
    reader.close()

    assert got == list(ANSWERS)
    assert {**api.received[1], "input": [*before, *after]} == sent[1]
    assert (block["role"], memory.id in json.dumps(block)) == ("developer", True)
    assert [api.received[n] for n in (0, 2, 3)] == [sent[n] for n in (0, 2, 3)]
    assert chats["resp_1"].attributes[lore.INJECTED_MEMORY_IDS] == (memory.id,)
    assert memory.id not in str(chats["resp_1"].attributes[gen_ai.INPUT_MESSAGES])
    assert len({chats[f"resp_{n}"].attributes[gen_ai.CONVERSATION_ID] for n in (1, 2, 3)}) == 1
    assert logged is not None
    assert json.loads(logged.body) == sent[1]
    assert memory.id in str(logged)
    assert proxy.service.counts.count("injected") == 1


async def test_a_connection_warmed_up_with_instructions(tmp_path: Path) -> None:
    """As Codex 0.171 does with its older models: the instructions come with the prewarm, the memory with the prompt,
    and the log shows both in one request, with the place of the memory in it."""
    memory = give_memory(tmp_path)
    base, *rest = preamble()
    prompt = create([*rest, LONG], "resp_0")
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy) as socket,
    ):
        await ask(socket, create([base], kind="prewarm", generate=False))
        await ask(socket, prompt)
        await ask(socket, create([output(3, "call_1", "1 failed")], "resp_1"))
        chats = by_response(await proxy.collector.chats(3))
    received = api.received[1]["input"]
    reader = WireLogReader(proxy.paths.wire_log)
    logged = reader.request(str(chats["resp_1"].attributes[lore.REQUEST_ID]))
    reader.close()

    assert [memory.id in json.dumps(one) for one in received] == [False, True, False, False]
    assert [received[0], *received[2:]] == prompt["input"]
    assert api.received[0]["input"] == [base]
    assert "You are Codex" in str(chats["resp_1"].attributes[gen_ai.SYSTEM_INSTRUCTIONS])
    assert chats["resp_1"].attributes[gen_ai.CONVERSATION_ID] == chats["resp_2"].attributes[gen_ai.CONVERSATION_ID]
    assert logged is not None
    (insertion,) = logged.insertions
    body = logged.body.encode()
    whole = json.loads(body[: insertion.offset] + insertion.data.encode() + body[insertion.offset :])
    assert whole["input"] == [base, *received]


async def test_no_memory_where_the_compression_would_break(tmp_path: Path) -> None:
    """With less than a window behind the place, the client's bytes stay its own; the ledger promises nothing."""
    give_memory(tmp_path)
    sent = [create([*preamble(), text_item("user", "Hi.")]), create([text_item("user", "Hi. And?")], "resp_1")]
    async with (
        socket_server(playing(*ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy) as socket,
    ):
        for message in sent:
            await ask(socket, message)
        chats = await proxy.collector.chats(2)

    assert api.received == sent
    assert [chat.attributes[lore.INJECTION_SKIPPED] for chat in chats] == ["websocket", "websocket"]
    assert proxy.service.counts.count("injected") == 0


async def test_a_reconnection_gets_the_same_bytes(tmp_path: Path) -> None:
    """The block stands where it stood, and nowhere else."""
    give_memory(tmp_path)
    history = [*preamble(), LONG]
    async with (
        socket_server(playing(*ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
    ):
        async with codex(proxy) as socket:
            await ask(socket, create(history))
        history += [said_item("I will run them."), call_item("call_1", "pytest"), output(3, "call_1", "1 failed")]
        async with codex(proxy) as socket:
            await ask(socket, create(history))
        await proxy.collector.chats(2)
    first, second = (one["input"] for one in api.received)

    assert len(first) == 5
    assert second[:5] == first
    assert second[5:] == history[4:]


class BrokenPreparer:
    """Fails."""

    def prepare(self, *arguments: object) -> Prepared:
        raise RuntimeError("on purpose")


async def test_a_fault_in_the_opening_costs_nothing(tmp_path: Path) -> None:
    """What was held goes on as it came."""
    async with (
        socket_server(playing(*ANSWERS)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        proxy.service.addon._injector = BrokenPreparer()
        async with codex(proxy, is_compressed=False) as socket:
            got = await session(socket)

    assert got == list(ANSWERS)
    assert len(api.received) == 4
    assert proxy.service.counts.snapshot()["passthrough"] == {"websocket:RuntimeError": 1}

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import Ping, TextMessage
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import Opcode

from spanlore.memory.memory import Trigger
from spanlore.semconv import gen_ai, lore
from spanlore.signature.failure import failure_signature
from spanlore_proxy.capture.outgoing import Outgoing
from spanlore_proxy.capture.wire_log import WireLogReader
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.ledger import Entry, Settled
from spanlore_proxy.wire.websocket import TEXT, Agreed, MessageReader, SocketMessage
from support.capture_proxy import running_proxy
from support.responses_socket import (
    call_item,
    create,
    events,
    output,
    playing,
    preamble,
    prewarm,
    said_item,
    socket_server,
    text_item,
)
from support.socket_client import ANSWERS, HOST, ask, by_response, codex, give_memory, session

type Changed = Callable[[SocketMessage, bool], bytes | None]

PLAIN = Agreed()
DEFLATED = Agreed(is_deflated=True)


def client(*, is_deflated: bool = False) -> Connection:
    """A client's side, whose messages refer to earlier ones where it may compress."""
    extension = PerMessageDeflate()
    extension._enabled = True
    extension._compressible_opcodes = (Opcode.TEXT, Opcode.BINARY)  # type: ignore[attr-defined]  # as after a handshake
    return Connection(ConnectionType.CLIENT, extensions=[extension] if is_deflated else [])


def stream(messages: list[list[str]], *, has_pings: bool, by: Connection | None = None) -> bytes:
    """Messages in fragments, with pings between the fragments."""
    by = by or client()
    out = b""
    for pieces in messages:
        for number, piece in enumerate(pieces):
            out += by.send(TextMessage(data=piece, message_finished=number == len(pieces) - 1))
            out += by.send(Ping(payload=b"x")) if has_pings else b""
    return out


def chunks(data: bytes, seed: int) -> list[bytes]:
    cuts = random.Random(seed)
    out = []
    while data:
        size = cuts.randint(1, 30)
        out.append(data[:size])
        data = data[size:]
    return out


def passed(outgoing: Outgoing, data: list[bytes]) -> tuple[bytes, list[Exception]]:
    """What went on, and the faults."""
    sent, faults = b"", []
    for chunk in data:
        if outgoing.is_over:
            sent += chunk
            continue
        more, fault = outgoing.take(chunk)
        sent += more
        faults += [fault] if fault is not None else []
    return sent + outgoing.rest(), faults


def unchanged(message: SocketMessage, may_change: bool) -> bytes | None:
    return None


def heard(data: bytes, *, is_deflated: bool) -> list[tuple[int, bytes]]:
    """What a server understands, control frames too."""
    return [(message.opcode, message.data) for message in MessageReader(is_deflated).feed(data)]


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
    sent, _ = passed(Outgoing(MessageReader(False), PLAIN, unchanged), chunks(data, seed))

    assert sent == data


@given(
    messages=st.lists(st.lists(st.text(max_size=200), min_size=1, max_size=3), min_size=1, max_size=6),
    changed=st.sets(st.integers(0, 5)),
    is_deflated=st.booleans(),
    has_pings=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_what_a_server_hears(
    messages: list[list[str]], changed: set[int], is_deflated: bool, has_pings: bool, seed: int
) -> None:
    """Each message as the client sent it, but for those that were changed, whatever the client's compression refers to
    and wherever pings stand; every ping once."""
    number = iter(range(len(messages)))
    wanted = []

    def change(message: SocketMessage, may_change: bool) -> bytes | None:
        if message.opcode != TEXT:
            wanted.append((message.opcode, message.data))
            return None
        is_mine = next(number) in changed and may_change
        text = b"<new>" + message.data if is_mine else message.data
        wanted.append((TEXT, text))
        return text if is_mine else None

    data = stream(messages, has_pings=has_pings, by=client(is_deflated=is_deflated))
    outgoing = Outgoing(MessageReader(is_deflated), DEFLATED if is_deflated else PLAIN, change)
    sent, faults = passed(outgoing, chunks(data, seed))

    assert faults == []
    assert heard(sent, is_deflated=is_deflated) == wanted
    assert len([one for one in wanted if one[0] == TEXT]) == len(messages)


def test_what_is_not_changed_stays_the_very_bytes() -> None:
    """Before anything was changed, and where nothing refers to earlier messages, also after it."""
    by = client()
    first, second, third = (stream([[word, word]], has_pings=False, by=by) for word in ("one", "two", "three"))

    def change(message: SocketMessage, may_change: bool) -> bytes | None:
        return b"new" if message.data == b"twotwo" and may_change else None

    sent, _ = passed(Outgoing(MessageReader(False), PLAIN, change), [first + second + third])

    assert sent.startswith(first) and sent.endswith(third)
    assert heard(sent, is_deflated=False) == [(TEXT, b"oneone"), (TEXT, b"new"), (TEXT, b"threethree")]


def test_a_window_that_nobody_can_write_is_sent_plain() -> None:
    """zlib has no window of 2^8; a message may always leave uncompressed."""
    data = stream([["hello"], ["hello hello"]], has_pings=False, by=client(is_deflated=True))
    outgoing = Outgoing(MessageReader(True), Agreed(True, client_bits=8), lambda message, may: message.data + b"!")
    sent, _ = passed(outgoing, [data])

    assert heard(sent, is_deflated=False) == [(TEXT, b"hello!"), (TEXT, b"hello hello!")]


@pytest.mark.parametrize("size", [1, 1000])
def test_a_fault_ends_the_holding(size: int) -> None:
    """What was held goes on; the fault is told once."""

    def change(message: SocketMessage, may_change: bool) -> bytes | None:
        raise RuntimeError("on purpose")

    data = stream([["a"], ["b"]], has_pings=False)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    sent, faults = passed(Outgoing(MessageReader(False), PLAIN, change), pieces)

    assert sent == data
    assert [str(fault) for fault in faults] == ["on purpose"]


def test_after_the_end_bytes_go_on_as_they_come() -> None:
    """Half a message that was held goes on with the next bytes."""
    data = stream([["hello"]], has_pings=False)
    outgoing = Outgoing(MessageReader(False), PLAIN, unchanged)
    first, _ = outgoing.take(data[:4])
    outgoing.end()

    assert (first, outgoing.take(data[4:6])[0]) == (b"", data[:6])


# --- injection -----------------------------------------------------------------------------------------------------

LONG = text_item("user", "A long task. " * 3_000)


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


FAILED = failure_signature("exec_command", "pytest", "1 failed", 3)
TRIGGER = Trigger((FAILED.hash,), FAILED.program, FAILED.error_class)


@pytest.mark.parametrize("is_compressed", [True, False], ids=["compressed", "plain"])
async def test_a_hint_stands_beside_the_failure(tmp_path: Path, is_compressed: bool) -> None:
    """In a message that holds nothing but a tool's output, once; the block is where it was, and what comes later
    arrives as it was sent."""
    memory = give_memory(tmp_path, TRIGGER)
    sent = [
        create([*preamble(), text_item("user", "Hi.")]),
        create([output(3, "call_1", "1 failed")], "resp_1"),
        create([text_item("user", "Hi. And 1 failed?")], "resp_2"),
    ]
    async with (
        socket_server(playing(*ANSWERS[1:]), is_compressed=is_compressed) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy, is_compressed=is_compressed) as socket,
    ):
        got = [await ask(socket, message) for message in sent]
        chats = by_response(await proxy.collector.chats(3))
    first, second, third = api.received
    reader = WireLogReader(proxy.paths.wire_log)
    logged = reader.request(str(chats["resp_2"].attributes[lore.REQUEST_ID]))
    reader.close()

    assert got == list(ANSWERS[1:])
    assert [memory.id in json.dumps(one) for one in first["input"]] == [False, False, True, False, False]
    assert second["input"][0]["output"].startswith(sent[1]["input"][0]["output"] + "\n\n<spanlore-")
    assert json.dumps(second).count(memory.id) == 1
    assert {**second, "input": sent[1]["input"]} == sent[1]
    assert third == sent[2]
    assert chats["resp_2"].attributes[lore.INJECTED_MEMORY_IDS] == (memory.id,)
    assert chats["resp_2"].attributes[lore.INJECTED_BYTES] == len(json.dumps(second)) - len(json.dumps(sent[1]))
    assert memory.id not in str([span.attributes.get(gen_ai.TOOL_CALL_RESULT) for span in proxy.collector.spans])
    assert logged is not None
    (insertion,) = logged.insertions
    body = logged.body.encode()
    whole = json.loads(body[: insertion.offset] + insertion.data.encode() + body[insertion.offset :])
    assert whole["input"][-1] == second["input"][0]
    assert proxy.service.counts.count("injected") == 2


async def test_a_new_input_gets_what_stands_in_it(tmp_path: Path) -> None:
    """After a compaction the client begins a new input on the same connection: the block stands in it again."""
    memory = give_memory(tmp_path)
    summary = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA" + "B" * 200}
    answers = (ANSWERS[1], ANSWERS[2], events("resp_c", [summary]), ANSWERS[3])
    async with (
        socket_server(playing(*answers)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy) as socket,
    ):
        await ask(socket, create([*preamble(), text_item("user", "Run the tests.")]))
        await ask(socket, create([output(3, "call_1", "1 failed")], "resp_1"))
        await ask(socket, create([{"type": "compaction_trigger"}], "resp_2", kind="compaction"))
        await ask(socket, create([*preamble(), text_item("user", "Run the tests."), summary]))
        await proxy.collector.chats(4)

    assert [json.dumps(one).count(memory.id) for one in api.received] == [1, 0, 0, 1]
    assert api.received[3]["input"][:5] == api.received[0]["input"]
    assert api.received[3]["input"][5] == summary


async def test_what_is_spelled_in_another_way_gets_nothing(tmp_path: Path) -> None:
    """No place in it is certain then."""
    give_memory(tmp_path, TRIGGER)
    async with (
        socket_server(playing(*ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
        codex(proxy) as socket,
    ):
        await ask(socket, create([*preamble(), text_item("user", "Hi.")]))
        await socket.send_str(json.dumps(create([output(3, "call_1", "1 failed")], "resp_1"), indent=1))
        chats = by_response(await proxy.collector.chats(2))

    assert api.received[1] == create([output(3, "call_1", "1 failed")], "resp_1")
    assert chats["resp_2"].attributes[lore.INJECTION_SKIPPED] == "websocket"


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


async def test_a_fault_of_ours_costs_nothing(tmp_path: Path) -> None:
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


class Forgetful:
    """A ledger that loses what it was given."""

    def load(self, conversation: str) -> Entry | None:
        return None

    def save(self, entry: Entry) -> None:
        pass

    def settled(self, conversation: str) -> Settled | None:
        return None

    def settle(self, conversation: str, settled: Settled) -> None:
        pass


async def test_a_changed_prefix_is_counted_on_a_socket_too(tmp_path: Path) -> None:
    """A history that comes again on another connection, and the ledger has lost what stood in it: the request goes out
    as the client sent it, the alarm is counted, and injection is off for that conversation."""
    give_memory(tmp_path)
    history = [*preamble(), LONG]
    async with (
        socket_server(playing(*ANSWERS[1:], *ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
    ):
        async with codex(proxy) as socket:
            await ask(socket, create(history))
        proxy.service._injector._ledger = Forgetful()
        history += [said_item("I will run them."), call_item("call_1", "pytest"), output(3, "call_1", "1 failed")]
        for _ in range(2):
            async with codex(proxy) as socket:
                await ask(socket, create(history))
        counted = proxy.service.counts.snapshot()

    assert [len(one["input"]) for one in api.received] == [5, 7, 7]
    assert counted["prefix_changed"] == {"system": 1}
    assert counted["skipped"]["alarm"] == 2


async def test_what_a_socket_carries_goes_on_from_what_it_carried(tmp_path: Path) -> None:
    """Messages that go on from what the server holds, a failure's hint among them, and then the whole history on
    another connection: nothing before the tail is seen to change."""
    failed = failure_signature("exec_command", "pytest", "boom", 3)
    give_memory(tmp_path, Trigger((failed.hash,), failed.program, failed.error_class))
    async with (
        socket_server(playing(*ANSWERS, *ANSWERS[1:])) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, injection={"withhold_share": 0}) as proxy,
    ):
        async with codex(proxy) as socket:
            await session(socket)
        history = [*preamble(), text_item("user", "fix it"), said_item("Running."), call_item("call_1", "pytest")]
        async with codex(proxy) as socket:
            await ask(socket, create([*history, output(3, "call_1", "boom")]))
        await proxy.collector.chats(4)
        counted = proxy.service.counts.snapshot()

    assert api.received
    assert counted["injected"]["total"] >= 2
    assert "prefix_changed" not in counted

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage
from wsproto.extensions import PerMessageDeflate

from spanlore_proxy.wire.websocket import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    Agreed,
    MessageReader,
    SocketMessage,
    WebSocketError,
    agreed,
    client_frame,
)

PIECES = st.lists(st.text(max_size=300), min_size=1, max_size=4)


def sender(is_client: bool, is_compressed: bool, keeps_context: bool = True) -> Connection:
    """Another implementation of the other side, which writes the frames."""
    deflate = PerMessageDeflate()
    if is_compressed:
        deflate.finalize("" if keeps_context else "; client_no_context_takeover; server_no_context_takeover")
    kind = ConnectionType.CLIENT if is_client else ConnectionType.SERVER
    return Connection(kind, [deflate] if is_compressed else [])


def text_of(connection: Connection, pieces: list[str]) -> bytes:
    """One message, a frame a piece."""
    last = len(pieces) - 1
    return b"".join(
        connection.send(TextMessage(data=piece, message_finished=number == last)) for number, piece in enumerate(pieces)
    )


def chunked(data: bytes, seed: int) -> list[bytes]:
    cuts = random.Random(seed)
    out = []
    while data:
        size = cuts.randint(1, 40)
        out.append(data[:size])
        data = data[size:]
    return out


@given(
    messages=st.lists(PIECES, min_size=1, max_size=5),
    is_client=st.booleans(),
    is_compressed=st.booleans(),
    keeps_context=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_messages_are_what_was_sent(
    messages: list[list[str]], is_client: bool, is_compressed: bool, keeps_context: bool, seed: int
) -> None:
    """Masked or not, compressed or not, with or without context, in any frames and any chunks."""
    connection = sender(is_client, is_compressed, keeps_context)
    data = b"".join(text_of(connection, pieces) for pieces in messages)
    reader = MessageReader(is_compressed)
    got = [message for chunk in chunked(data, seed) for message in reader.feed(chunk)]

    assert got == [SocketMessage(TEXT, "".join(pieces).encode()) for pieces in messages]


def test_a_ping_between_fragments_costs_nothing() -> None:
    """A control frame may come within a compressed message, which goes on after it."""
    connection = sender(True, True)
    first = connection.send(TextMessage(data="hello " * 50, message_finished=False))
    ping = connection.send(Ping(payload=b"alive"))
    rest = connection.send(TextMessage(data="world", message_finished=True))

    got = list(MessageReader(True).feed(first + ping + rest))

    assert got == [SocketMessage(PING, b"alive"), SocketMessage(TEXT, b"hello " * 50 + b"world")]


def test_binary_messages_and_the_end() -> None:
    """All kinds of messages are told apart."""
    connection = sender(True, False)
    data = connection.send(BytesMessage(data=b"\x00\xff")) + connection.send(CloseConnection(code=1000, reason="bye"))

    assert list(MessageReader(False).feed(bytes(data))) == [
        SocketMessage(BINARY, b"\x00\xff"), SocketMessage(CLOSE, b"\x03\xe8bye"),
    ]  # fmt: skip


def test_a_large_message() -> None:
    """A frame of megabytes, in the chunks of a socket."""
    text = "words of a large history " * 100_000
    connection = sender(True, True)
    data = text_of(connection, [text])
    reader = MessageReader(True)
    got = [one for at in range(0, len(data), 65_536) for one in reader.feed(data[at : at + 65_536])]

    assert got == [SocketMessage(TEXT, text.encode())]


def test_a_bomb_ends_the_reading() -> None:
    """What inflates beyond the bound is an error, and is not inflated any further."""
    data = text_of(sender(False, True), ["0" * 1_000_000])

    assert len(data) < 2_000
    with pytest.raises(WebSocketError, match="inflated"):
        list(MessageReader(True, max_bytes=100_000).feed(data))


def test_streams_that_end_within_a_message_cost_what_they_hold() -> None:
    """A sender may end its stream and begin anew; eight times as many take no sixty-four times as long."""

    def cost_s(count: int) -> float:
        payload = b"\x03\x00" * count  # an empty stream (RFC 1951 §3.2.6)
        frame = b"\xc1\x7f" + len(payload).to_bytes(8) + payload
        began_s = time.thread_time()
        assert list(MessageReader(True).feed(frame)) == [SocketMessage(TEXT, b"")]
        return time.thread_time() - began_s

    assert min(cost_s(80_000) for _ in range(3)) < 30 * min(cost_s(10_000) for _ in range(3))


@pytest.mark.parametrize(
    "data",
    [
        b"\xb1\x00", b"\x83\x00", b"\x80\x01a", b"\x09\x00", b"\x89\x7e\x00\x80" + b"a" * 128, b"\xc1\x01a",
        b"\x01\x01a\x01\x01a", b"\x82\x7f\xff" + b"\x00" * 7,
    ],
    ids=["reserved bit", "opcode", "continues nothing", "ping in pieces", "long ping", "compressed", "two at once",
         "huge"],
)  # fmt: skip
def test_what_is_no_frame_is_an_error(data: bytes) -> None:
    """Each rule of RFC 6455 §5 that a reader depends on."""
    with pytest.raises(WebSocketError):
        list(MessageReader(False).feed(data))


def test_what_came_before_is_told() -> None:
    """Messages before the first broken frame are messages."""
    reader = MessageReader(False).feed(b"\x81\x01a\xff\xff")

    assert next(reader) == SocketMessage(TEXT, b"a")
    with pytest.raises(WebSocketError):
        next(reader)


def test_broken_compression_is_an_error() -> None:
    """Not an exception of zlib's."""
    with pytest.raises(WebSocketError, match="deflated"):
        list(MessageReader(True).feed(b"\xc1\x03\xff\xff\xff"))


@given(data=st.binary(max_size=200), is_deflated=st.booleans())
def test_nothing_else_is_raised(data: bytes, is_deflated: bool) -> None:
    """Any bytes are messages, the beginning of one, or a WebSocketError."""
    try:
        list(MessageReader(is_deflated).feed(data))
    except WebSocketError:
        pass


@pytest.mark.parametrize(
    ("extensions", "expected"),
    [
        ("", Agreed()),
        ("permessage-deflate", Agreed(True)),
        ("permessage-deflate; server_no_context_takeover", Agreed(True)),
        ("Permessage-Deflate; client_no_context_takeover; client_max_window_bits=12", Agreed(True, 12, False)),
        ('permessage-deflate; client_max_window_bits="10"', Agreed(True, 10)),
    ],
)
def test_the_extension_that_was_agreed_upon(extensions: str, expected: Agreed) -> None:
    """Only what a client's message depends on."""
    assert agreed(extensions) == expected


def test_an_unknown_extension_is_an_error() -> None:
    """It may change what frames mean."""
    with pytest.raises(WebSocketError, match="x-snappy"):
        agreed("permessage-deflate, x-snappy")


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("bits", [None, 9, 15])
def test_a_frame_of_ours_is_read_by_others(size: int, bits: int | None) -> None:
    """Every length, compressed and not."""
    data = (b"some words of a text, and more of them " * 6000)[:size]
    deflate = PerMessageDeflate()
    deflate.finalize(f"; client_max_window_bits={bits or 15}")
    server = Connection(ConnectionType.SERVER, [deflate])
    server.receive_data(client_frame(data, b"\x01\x80\xff\x00", bits))
    said = "".join(str(event.data) for event in server.events() if isinstance(event, TextMessage))

    assert said.encode() == data


@given(before=st.text(max_size=500), after=st.lists(st.text(max_size=500), max_size=3), seed=st.integers(0, 99))
def test_the_clients_context_survives(before: str, after: list[str], seed: int) -> None:
    """A message may be replaced by one of ours that ends with the same 32 KiB: what the client says later, referring to
    its own bytes, is still understood."""
    text = "".join(random.Random(seed).choices("abcdefgh ", k=40_000))
    client = sender(True, True)
    first, _ = text_of(client, [before]), text_of(client, [text])
    later = b"".join(text_of(client, [one + text[:300] + text[-300:]]) for one in after)
    reader = MessageReader(True)
    said = [*reader.feed(first), *reader.feed(client_frame(b"inserted" + text.encode(), b"mask", 15))]
    said += reader.feed(later)

    assert [one.data.decode() for one in said] == [
        before, "inserted" + text, *(one + text[:300] + text[-300:] for one in after)
    ]  # fmt: skip

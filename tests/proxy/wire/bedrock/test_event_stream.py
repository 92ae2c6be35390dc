"""AWS event streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.bedrock.event_stream import EventMessage, EventStreamDecoder
from support import recordings
from support.event_stream import encode_message

STREAMS = [name for name in recordings.names_of("bedrock") if recordings.of("bedrock", name).content_type[-1] == "m"]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_recorded_streams(name: str, size: int) -> None:
    """Checksums of real streams agree, whatever the chunks, and nothing is left over."""
    decoder = EventStreamDecoder()
    messages = [message for chunk in recordings.of("bedrock", name).chunks(size) for message in decoder.feed(chunk)]

    assert messages
    assert all(message.headers[":message-type"] in ("event", "exception") for message in messages)
    assert (decoder.is_broken, decoder.has_rest) == (False, False)


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3), st.binary(max_size=50), st.integers(1, 9))
def test_there_and_back(headers: dict[str, str], payload: bytes, size: int) -> None:
    """What is encoded is decoded, in any chunking."""
    names = {name.encode("ascii", "ignore").decode() or "n": value for name, value in headers.items()}
    data = encode_message({name: value.encode("ascii", "ignore").decode() for name, value in names.items()}, payload)
    decoder = EventStreamDecoder()
    (message,) = [one for start in range(0, len(data), size) for one in decoder.feed(data[start : start + size])]

    assert message == EventMessage({k: v.encode("ascii", "ignore").decode() for k, v in names.items()}, payload)


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_flipped_bit(position: int, change: int) -> None:
    """Every changed byte is noticed; nothing after it is believed."""
    data = bytearray(encode_message({":event-type": "chunk"}, b"{}") * 3)
    data[position % len(data)] ^= change
    decoder = EventStreamDecoder()
    count = len(decoder.feed(bytes(data)))

    assert count < 3
    assert decoder.is_broken or decoder.has_rest
    assert decoder.feed(b"more") == [] or not decoder.is_broken


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    """No bytes raise."""
    EventStreamDecoder().feed(data)


def test_a_cut_stream() -> None:
    """The whole messages come, the rest is known to be one."""
    message = encode_message({":event-type": "chunk"}, b"{}")
    decoder = EventStreamDecoder()

    assert len(decoder.feed(message + message[:-1])) == 1
    assert decoder.has_rest and not decoder.is_broken

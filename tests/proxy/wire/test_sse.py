"""Server-sent events."""

from __future__ import annotations

import itertools
import time

from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.sse import ServerSentEvent, SSEDecoder

LINES = st.sampled_from(
    ["data: a", "data:b", "data", "event: e", "event: ", "id: 7", ": note", "", "", "retry: 3", "data: ☃😀", "x: y"]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def events_of(chunks: list[bytes]) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish()


@given(st.lists(st.tuples(LINES, ENDS), max_size=30), st.lists(st.integers(0, 200), max_size=20))
def test_any_chunking_gives_the_same_events(lines: list[tuple[str, str]], cuts: list[int]) -> None:
    """However a stream is cut, its events are the same."""
    data = "".join(line + end for line, end in lines).encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    chunks = [data[start:end] for start, end in itertools.pairwise(edges)]

    assert events_of(chunks) == events_of([data])
    assert events_of([bytes([byte]) for byte in data]) == events_of([data])


def test_fields() -> None:
    """Event, data lines and id are read as the standard says; comments and unknown fields are passed over."""
    data = b"\xef\xbb\xbf: hello\nid: 1\nevent: delta\ndata: one\ndata:two\nretry: 5\n\ndata: three\n\n"

    assert events_of([data]) == [ServerSentEvent("delta", "one\ntwo", "1"), ServerSentEvent("message", "three", "1")]


def test_an_event_without_data_is_none() -> None:
    """A block with no data line dispatches nothing, and its name does not leak into the next."""
    assert events_of([b"event: ping\n\ndata: x\n\n"]) == [ServerSentEvent("message", "x")]


def test_an_open_event_is_handed_out_at_the_end() -> None:
    """What a cut stream had begun is given by `finish`, half as it is."""
    decoder = SSEDecoder()

    assert decoder.feed(b'event: delta\ndata: {"half') == []
    assert decoder.finish() == [ServerSentEvent("delta", '{"half')]
    assert decoder.finish() == []


def test_a_carriage_return_at_a_chunks_end_waits() -> None:
    """CRLF split between two chunks is one line end, not two."""
    assert events_of([b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]) == [ServerSentEvent("message", "a\nb")]


def test_one_long_line_byte_by_byte_is_linear() -> None:
    """A line of a megabyte that comes in single bytes takes seconds at most, not minutes."""
    decoder = SSEDecoder()
    begin_s = time.thread_time()
    for _ in range(300_000):
        decoder.feed(b"x")

    assert time.thread_time() - begin_s < 5

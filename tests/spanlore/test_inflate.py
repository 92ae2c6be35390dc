"""Inflating within a bound."""

from __future__ import annotations

import gzip
import random
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.inflate import ANY, GZIP, GZIP_MAGIC, RAW, Inflater


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(0, 2000))
def test_members_are_one_text_up_to_the_bound(texts: list[bytes], most_bytes: int) -> None:
    """Members follow each other; of what is too much exactly one byte more than the bound comes out."""
    whole, data = b"".join(texts), b"".join(map(gzip.compress, texts))
    inflater = Inflater(GZIP)

    out = inflater.inflate_all(data, most_bytes)

    assert out == whole[: most_bytes + 1]
    assert len(whole) > most_bytes or inflater.is_finished


def test_a_member_of_many_pieces_among_short_ones() -> None:
    """Pieces that are fed grow and begin anew: nothing is lost or doubled at their borders."""
    noise = random.Random(1).randbytes(700_000)
    data = gzip.compress(b"a") * 3 + gzip.compress(noise) + gzip.compress(b"") * 3 + gzip.compress(noise)

    assert Inflater(ANY).inflate_all(data, 10**7) == b"aaa" + noise + noise


def test_a_bomb_costs_its_bound() -> None:
    """A gigabyte of zeros stops at the bound, in one member or in many."""
    part = gzip.compress(bytes(8 * 1024**2))
    for data in (zlib.compress(bytes(2**30 // 16)), part * 128):
        assert len(Inflater(ANY).inflate_all(data, 1024**2)) == 1024**2 + 1


@pytest.mark.parametrize("text", [b"", b"x"])
def test_members_cost_what_they_hold(text: bytes) -> None:
    """Eight times as many members take no sixty-four times as long, empty ones and those of a byte."""

    def cost_s(count: int) -> float:
        data = gzip.compress(text) * count
        began_s = time.thread_time()
        assert Inflater(ANY).inflate_all(data, 10**6) == text * count
        return time.thread_time() - began_s

    assert min(cost_s(40_000) for _ in range(3)) < 30 * min(cost_s(5_000) for _ in range(3))


def test_what_follows_the_last_stream() -> None:
    """Left out where further streams are told by how they begin, else an error; a cut stream has no end."""
    data = gzip.compress(b"text")
    assert Inflater(GZIP, GZIP_MAGIC).inflate_all(data + b"more", 100) == b"text"
    with pytest.raises(zlib.error):
        Inflater(ANY).inflate_all(data + b"more", 100)
    cut = Inflater(ANY)
    assert cut.inflate_all(data[:-3], 100) == b"text"
    assert not cut.is_finished


def test_a_stream_goes_on_over_several_pieces_of_data() -> None:
    """What a stream said before is still known when its next bytes come, as in a connection's messages."""
    state = zlib.compressobj(wbits=RAW)
    said = [b"the same words again " * 9, b"the same words again and others"]
    data = [state.compress(text) + state.flush(zlib.Z_SYNC_FLUSH) for text in said]
    inflater = Inflater(RAW)

    assert [inflater.inflate_all(one, 1000) for one in data] == said

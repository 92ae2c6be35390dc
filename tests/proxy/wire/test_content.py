"""Content-Encoding."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.content import Decoded, decode, encode

TEXT = b"".join(b"line %d of something\n" % number for number in range(3000))
ENCODINGS = ["gzip", "x-gzip", "deflate", "br", "zstd", "gzip, br", "br,gzip,zstd"]


@pytest.mark.parametrize("encoding", ["", "identity", *ENCODINGS])
def test_round_trip(encoding: str) -> None:
    """What `encode` writes `decode` reads, alone or stacked."""
    assert decode(encode(TEXT, encoding), encoding, 10**6) == Decoded(TEXT, True)


@given(st.binary(max_size=2000), st.sampled_from(ENCODINGS))
def test_round_trip_of_any_bytes(data: bytes, encoding: str) -> None:
    """Any bytes survive."""
    assert decode(encode(data, encoding), encoding, 10**6) == Decoded(data, True)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_cut_body_gives_what_it_has(encoding: str) -> None:
    """A body that was cut gives a beginning of the text and says so; nothing raises at any cut."""
    whole = encode(TEXT, encoding)
    for size in range(1, len(whole), 97):
        decoded = decode(whole[:size], encoding, 10**6)
        assert TEXT.startswith(decoded.data)
        assert decoded.error == "truncated"
    assert len(decode(whole[: len(whole) * 9 // 10], "gzip" if encoding == "gzip" else encoding, 10**6).data) >= 0


def test_a_cut_gzip_body_gives_most_of_it() -> None:
    """Not only the error but the text itself comes out of a cut body."""
    whole = encode(TEXT, "gzip")

    assert len(decode(whole[: len(whole) // 2], "gzip", 10**6).data) > len(TEXT) // 4


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_is_something_else(encoding: str) -> None:
    """A wrong Content-Encoding is an error with a name, not an exception; JSON and events that claim one are kept."""
    for plain in (b'{"plain": "json"}' * 20, b' [{"plain": 1}]', b"event: ping\ndata: {}\n\n"):
        assert decode(plain, encoding, 10**6) == Decoded(plain, False, f"mislabelled:{encoding}")
    assert not decode(b"\x00\x01\x02\x03" * 20, encoding, 10**6).is_complete


def test_unknown_encoding() -> None:
    """An encoding nobody knows gives nothing, and its name."""
    assert decode(b"abc", "gzip, lzma", 10**6) == Decoded(b"", False, "unsupported:lzma")
    with pytest.raises(ValueError, match="lzma"):
        encode(b"abc", "lzma")


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate", "br", "zstd", "zstd, gzip"])
def test_a_bomb_is_bounded(encoding: str) -> None:
    """No more than the limit comes out, however much was packed."""
    decoded = decode(encode(bytes(50_000_000), encoding), encoding, 100_000)

    assert (len(decoded.data), decoded.is_complete, decoded.error) == (100_000, False, "too_large")


def test_members_and_frames() -> None:
    """gzip members and zstd frames may follow each other, empty ones too."""
    members = gzip.compress(b"one ") + gzip.compress(b"") * 2000 + gzip.compress(b"two")
    frames = zstandard.compress(b"one ") + zstandard.compress(b"") + zstandard.compress(b"two")

    assert decode(members, "gzip", 100) == Decoded(b"one two", True)
    assert decode(frames, "zstd", 100) == Decoded(b"one two", True)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_members_without_end_cost_what_they_hold(encoding: str) -> None:
    """Eight times as many empty members and frames take no sixty-four times as long."""

    def cost_s(count: int) -> float:
        body = encode(b"", encoding) * count
        began_s = time.thread_time()
        assert decode(body, encoding, 100) == Decoded(b"", True)
        return time.thread_time() - began_s

    assert min(cost_s(40_000) for _ in range(3)) < 30 * min(cost_s(5_000) for _ in range(3))


def test_raw_deflate() -> None:
    """`deflate` without zlib's header, as some servers send it, is read too."""
    state = zlib.compressobj(wbits=-15)

    assert decode(state.compress(TEXT) + state.flush(), "deflate", 10**6) == Decoded(TEXT, True)


def test_no_body() -> None:
    """A response without a body is whole, whatever its headers say."""
    assert decode(b"", "gzip", 100) == Decoded(b"", True)

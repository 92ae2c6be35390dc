"""Request bodies."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest

from spanlore_collector.ingest.bodies import BadBodyError, BodyTooLargeError, decompress, rpc_status

DATA = b"spans " * 1000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", DATA),
        ("identity", DATA),
        ("gzip", gzip.compress(DATA)),
        ("gzip", gzip.compress(DATA[:1000]) + gzip.compress(DATA[1000:])),
        ("deflate", zlib.compress(DATA)),
        ("gzip", b""),
    ],
)
def test_bodies_come_out_as_they_went_in(encoding: str, body: bytes) -> None:
    """None, gzip with one or more members, and deflate."""
    assert decompress(body, encoding) == (DATA if body else b"")


@pytest.mark.parametrize(
    ("encoding", "body"), [("gzip", DATA), ("gzip", gzip.compress(DATA)[:-9]), ("br", DATA), ("gzip, gzip", DATA)]
)
def test_bodies_that_are_not_what_they_say(encoding: str, body: bytes) -> None:
    """Not compressed, cut off, or compressed in another way."""
    with pytest.raises(BadBodyError):
        decompress(body, encoding)


@pytest.mark.parametrize(
    ("encoding", "body"), [("", DATA), ("gzip", gzip.compress(DATA)), ("deflate", zlib.compress(DATA))]
)
def test_the_bound_holds_after_decompression(encoding: str, body: bytes) -> None:
    """Exactly the bound is taken, one byte more is not."""
    assert decompress(body, encoding, len(DATA)) == DATA
    with pytest.raises(BodyTooLargeError):
        decompress(body, encoding, len(DATA) - 1)


def test_a_bomb_is_not_unpacked() -> None:
    """A gigabyte of zeros in a megabyte stops at the bound."""
    bomb = gzip.compress(bytes(8 * 1024**2)) * 128

    with pytest.raises(BodyTooLargeError):
        decompress(bomb, "gzip", 1024**2)


def test_empty_members_cost_what_they_hold() -> None:
    """Eight times as many empty members take no sixty-four times as long."""

    def cost_s(count: int) -> float:
        body = gzip.compress(b"") * count
        began_s = time.thread_time()
        assert decompress(body, "gzip") == b""
        return time.thread_time() - began_s

    assert min(cost_s(40_000) for _ in range(3)) < 30 * min(cost_s(5_000) for _ in range(3))


def test_status_in_both_encodings() -> None:
    """Fields 1 (int32) and 2 (string) of google.rpc.Status, with lengths beyond one byte too."""
    assert rpc_status(3, "no", is_json=False) == b"\x08\x03\x12\x02no"
    assert rpc_status(14, "x" * 200, is_json=False)[:5] == b"\x08\x0e\x12\xc8\x01"
    assert rpc_status(3, "no", is_json=True) == b'{"code":3,"message":"no"}'

"""Compression both ways, against the libraries' own and the engine's own."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import lz4.frame
import pytest
import zstandard

from spanlore_collector.clickhouse_http.compression import (
    BLOCK_BYTES,
    CompressionError,
    block_encoder,
    compressed_block,
    decompress,
    decompress_blocks,
    encoder,
    encoding_for,
)
from spanlore_collector.store.client import Store

TEXT = b"a row of text that repeats\n" * 20_000
MOST = 10_000_000
DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "lz4": lz4.frame.decompress,
    "": bytes,
}
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}


@pytest.mark.parametrize("encoding", sorted(DECODERS))
def test_answers_in_pieces(encoding: str) -> None:
    """The pieces together are one body of that encoding; what was fed can be read before the end."""
    compress = encoder(encoding)
    pieces = [compress.feed(TEXT), compress.feed(b""), compress.feed(b"end"), compress.finish()]

    assert DECODERS[encoding](b"".join(pieces)) == TEXT + b"end"
    assert encoding == "" or len(pieces[0]) < len(TEXT) / 5


def test_an_empty_answer_is_a_whole_body() -> None:
    """Nothing fed still ends well."""
    for encoding, decode in DECODERS.items():
        assert decode(encoder(encoding).finish()) == b""


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", "gzip"),
        ("lz4,zstd,br,gzip,deflate", "lz4"),
        ("gzip, deflate, br", "gzip"),
        ("br;q=1.0, gzip;q=0.5", "br"),
        ("gzip;q=0", ""),
        ("snappy", ""),
        ("gzip;q=x", ""),
        ("", ""),
    ],
)
def test_the_encoding_the_client_likes_best(accepted: str, expected: str) -> None:
    """By its weights, then by cost."""
    assert encoding_for(accepted) == expected


@pytest.mark.parametrize("encoding", sorted(ENCODERS))
def test_bodies_of_requests(encoding: str) -> None:
    """Read back whole; refused when cut, when something else, and when they grow beyond the bound."""
    packed = ENCODERS[encoding](TEXT)

    assert decompress(packed, encoding.upper(), MOST) == TEXT
    with pytest.raises(CompressionError, match="more than"):
        decompress(packed, encoding, 1000)
    with pytest.raises(CompressionError, match=r"is not|cut off"):
        decompress(b"no such thing at all", encoding, MOST)
    for cut in (packed[:-9], packed[:5], b""):
        with pytest.raises(CompressionError, match=r"is not|cut off"):
            decompress(cut, encoding, MOST)


def test_members_of_gzip() -> None:
    """All of them are read, thousands of empty ones in between, and what is too much over all of them is refused."""
    body = gzip.compress(TEXT) + gzip.compress(b"") * 20_000 + gzip.compress(TEXT)

    assert decompress(body, "gzip", MOST) == TEXT * 2
    with pytest.raises(CompressionError, match="more than"):
        decompress(body, "gzip", len(TEXT) * 2 - 1)


def test_an_unknown_encoding_is_refused() -> None:
    """With what to use instead."""
    with pytest.raises(CompressionError, match="use gzip"):
        decompress(b"x", "snappy", MOST)


def test_blocks_come_back() -> None:
    """Several blocks, and none."""
    data = TEXT * 5
    packed = block_encoder().feed(data)

    assert len(data) > BLOCK_BYTES
    assert decompress_blocks(packed, MOST) == data
    assert decompress_blocks(b"", MOST) == b""
    assert block_encoder().feed(b"") == block_encoder().finish() == b""


def test_the_engines_own_blocks(store: Store) -> None:
    """A column's file that the engine wrote: checksums, LZ4 and ZSTD are as ClickHouse has them."""
    if not store.path:
        pytest.skip("a server's files are its own")
    client = store.connect()
    try:
        for codec in ("LZ4", "ZSTD(1)", "NONE"):
            client.command("DROP TABLE IF EXISTS blocks SYNC")
            client.command(
                f"CREATE TABLE blocks (n UInt64 CODEC({codec})) ENGINE = MergeTree ORDER BY tuple() "
                "SETTINGS min_bytes_for_wide_part = 0"
            )
            client.command("INSERT INTO blocks SELECT number FROM numbers(50000)")
            rows = client.query(
                "SELECT path FROM system.parts WHERE active AND database = currentDatabase() AND table = 'blocks'"
            )
            data = (Path(str(rows.result_rows[0][0])) / "n.bin").read_bytes()

            numbers = decompress_blocks(data, MOST)

            assert numbers == b"".join(number.to_bytes(8, "little") for number in range(50_000))
    finally:
        client.command("DROP TABLE IF EXISTS blocks SYNC")
        client.close()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda block: block[:-1], "cut off"),
        (lambda block: block[:10], "cut off"),
        (lambda block: block[:-1] + bytes([block[-1] ^ 1]), "checksum"),
        (lambda block: b"\x00" * 16 + block[16:], "checksum"),
    ],
)
def test_broken_blocks_are_refused(spoil: Callable[[bytes], bytes], reason: str) -> None:
    """Nothing of them is taken."""
    with pytest.raises(CompressionError, match=reason):
        decompress_blocks(spoil(compressed_block(TEXT)), MOST)


def test_blocks_that_grow_beyond_the_bound_are_refused() -> None:
    """Before they are decompressed."""
    with pytest.raises(CompressionError, match="more than"):
        decompress_blocks(compressed_block(TEXT), 1000)

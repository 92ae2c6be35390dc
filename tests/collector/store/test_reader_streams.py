"""Blocks joined to one answer."""

from __future__ import annotations

import pytest

from spanlore_collector.store.reader_streams import has_header, header_size, is_streamed


@pytest.mark.parametrize("name", ["Native", "TSV", "JSONEachRow", "RowBinaryWithNamesAndTypes", "csvwithnames"])
def test_rows_are_streamed(name: str) -> None:
    """With a header or without."""
    assert is_streamed(name)


@pytest.mark.parametrize("name", ["JSON", "JSONCompact", "Pretty", "Parquet", "XML", "Values", "TSVRawWithNames", "x"])
def test_documents_are_not(name: str) -> None:
    """Their blocks are documents of their own."""
    assert not is_streamed(name)


@pytest.mark.parametrize(
    ("name", "block", "size"),
    [
        ("TSV", b"1\t2\n", 0),
        ("TSVWithNames", b"a\tb\n1\t2\n", 4),
        ("TabSeparatedWithNamesAndTypes", b"a\nUInt8\n1\n", 8),
        ("CSVWithNames", b'"a\nb","c"\n1,2\n', 10),
        ("CSVWithNamesAndTypes", b'"a""\n","b"\n"UInt8","UInt8"\n1,2\n', 27),
        ("RowBinaryWithNames", b"\x01\x01n\x05", 3),
        ("RowBinaryWithNamesAndTypes", b"\x02\x01a\x01b\x05UInt8\x05UInt8\x01\x02", 17),
        ("JSONCompactEachRowWithNames", b'["a"]\n[1]\n', 6),
        ("TSVWithNames", b"cut", 3),
    ],
)
def test_headers_are_measured(name: str, block: bytes, size: int) -> None:
    """So that every one but the first can be cut off."""
    assert header_size(name, block) == size


def test_an_answer_without_rows() -> None:
    """Is empty only where there is no header and no envelope."""
    assert not has_header("Native")
    assert has_header("CSVWithNames")
    assert has_header("JSON")

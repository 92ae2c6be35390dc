"""How a result that chDB hands out in blocks becomes one answer.

chDB writes every block as a document of its own. For formats that are rows and nothing else the blocks are simply one
behind the other; for those with a header, the header of every block but the first is cut off; all others (JSON with its
envelope, Pretty, Parquet …) are not streamed. Measured on engine 26.9: joined blocks are equal to the whole answer.
"""

from __future__ import annotations

_ROWS = frozenset(
    {"tabseparated", "tsv", "tabseparatedraw", "tsvraw", "raw", "csv", "rowbinary", "native", "null", "lineasstring"}
    | {"jsoneachrow", "jsonlines", "ndjson", "jsonstringseachrow", "jsoncompacteachrow", "jsoncompactstringseachrow"}
)
_HEADER_LINES = {"withnames": 1, "withnamesandtypes": 2}
_LINES = frozenset({"tabseparated", "tsv", "csv", "jsoncompacteachrow", "jsoncompactstringseachrow"})
"""Formats whose header is lines; a raw one's is not to be told from its rows when a name holds a newline."""


def is_streamed(format_name: str) -> bool:
    """Whether blocks of the format can be joined."""
    name = format_name.lower()
    return name in _ROWS or _kind(name) is not None


def has_header(format_name: str) -> bool:
    """Whether an answer without rows is not empty."""
    return format_name.lower() not in _ROWS


def header_size(format_name: str, block: bytes) -> int:
    """How many bytes of a block are its header."""
    kind = _kind(format_name.lower())
    if kind is None:
        return 0
    base, lines = kind
    if base == "rowbinary":
        return _binary_header_size(block, lines)
    return _text_header_size(block, lines, quoted=base == "csv")


def _kind(name: str) -> tuple[str, int] | None:
    for suffix, lines in _HEADER_LINES.items():
        base = name.removesuffix(suffix)
        if base != name and (base in _LINES or base == "rowbinary"):
            return base, lines
    return None


def _text_header_size(block: bytes, lines: int, *, quoted: bool) -> int:
    """Up to the end of the lines; a newline within CSV's quotes ends none."""
    at = 0
    for _ in range(lines):
        start = at
        while True:
            found = block.find(b"\n", at)
            if found < 0:
                return len(block)
            at = found + 1
            if not quoted or block.count(b'"', start, at) % 2 == 0:
                break
    return at


def _binary_header_size(block: bytes, lines: int) -> int:
    """The number of columns, then names, then perhaps types, each with its length before it."""
    columns, at = _varint(block, 0)
    for _ in range(columns * lines):
        size, at = _varint(block, at)
        at += size
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7

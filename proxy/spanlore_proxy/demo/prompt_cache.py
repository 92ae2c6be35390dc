"""What a provider's prompt cache would have said of a request, so that cache loss can be seen without a provider.

Facts (Anthropic's documentation of prompt caching): the prefix order is tools, system, messages; an entry is written
at each block that carries `cache_control`; a request reads the longest entry that ends at most 20 blocks before one of
its own breakpoints; `input_tokens` counts only what stands after the last breakpoint. Life times and the least
cacheable size are not modelled. Claude Code's first system block differs in every request and yet its later blocks are
served from the cache, so that block is left out of the prefix here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

BILLING_PREFIX = "x-anthropic-billing-header"
LOOKBACK_BLOCKS = 20
BYTES_PER_TOKEN = 4
"""The usual estimate; a scripted server has no tokenizer."""


@dataclass(frozen=True, slots=True)
class CacheUsage:
    """Tokens of one request as the Messages API counts them: the three are disjoint."""

    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True)
class _Boundary:
    digest: bytes
    tokens: int
    is_breakpoint: bool


class PromptCache:
    """The entries one scripted server has written so far."""

    def __init__(self) -> None:
        self._entries: set[bytes] = set()

    def account(self, document: dict[str, Any]) -> CacheUsage:
        """Usage of the request, whose entries are then written."""
        boundaries = list(_boundaries(document))
        total = boundaries[-1].tokens if boundaries else 0
        marks = [index for index, boundary in enumerate(boundaries) if boundary.is_breakpoint]
        if not marks:
            return CacheUsage(total, 0, 0)
        read = max((self._longest_read(boundaries, mark) for mark in marks), default=0)
        self._entries.update(boundaries[mark].digest for mark in marks)
        cached = boundaries[marks[-1]].tokens
        return CacheUsage(total - cached, read, cached - read)

    def _longest_read(self, boundaries: list[_Boundary], mark: int) -> int:
        for index in range(mark, max(mark - LOOKBACK_BLOCKS, -1), -1):
            if boundaries[index].digest in self._entries:
                return boundaries[index].tokens
        return 0


def count_tokens(document: dict[str, Any]) -> int:
    """Tokens of the request, four bytes each."""
    return sum(len(data) for data, _ in _blocks(document)) // BYTES_PER_TOKEN


def _boundaries(document: dict[str, Any]) -> Iterator[_Boundary]:
    state, size = hashlib.blake2b(digest_size=16), 0
    for data, is_breakpoint in _blocks(document):
        state.update(len(data).to_bytes(4, "big") + data)
        size += len(data)
        yield _Boundary(state.digest(), size // BYTES_PER_TOKEN, is_breakpoint)


def _blocks(document: dict[str, Any]) -> Iterator[tuple[bytes, bool]]:
    for tool in document.get("tools") or ():
        yield _block("tool", tool)
    for block in _as_blocks(document.get("system")):
        if not str(block.get("text", "")).startswith(BILLING_PREFIX):
            yield _block("system", block)
    for message in document.get("messages") or ():
        for block in _as_blocks(message.get("content")):
            yield _block(str(message.get("role")), block)


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    """Content blocks; a string is one text block (Claude Code sends the same message in both forms)."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _block(role: str, block: dict[str, Any]) -> tuple[bytes, bool]:
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return role.encode() + orjson.dumps(plain, option=orjson.OPT_SORT_KEYS), "cache_control" in block

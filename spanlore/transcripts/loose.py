"""Values of JSON that nobody promised anything about: what is not of the expected type reads as empty."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from spanlore.genai import jsontext


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, else []."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    """The value if it is text, else ''."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """The value if it is a whole number of at least 0 that fits in 64 bits, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 2**63 else None


def text_of(content: Any) -> str:
    """Text of a content field: a string, blocks with `text`, or blocks that hold such content."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    if not isinstance(content, list):
        return ""
    return "\n".join(text for block in content if (text := text_of(block)))


_MAX_STAMP: Final = 9e12
"""Milliseconds; what is more does not fit in 64 bits of nanoseconds, and is no time."""


def nanoseconds(stamp: Any) -> int:
    """An ISO 8601 stamp, or seconds or milliseconds since the epoch, as nanoseconds; 0 when it is none of them."""
    if isinstance(stamp, bool) or stamp is None:
        return 0
    if isinstance(stamp, int | float):
        return int(stamp * 1_000_000 if stamp > 1e11 else stamp * 1e9) if 0 <= stamp < _MAX_STAMP else 0
    try:
        return int(datetime.fromisoformat(stamp).timestamp() * 1e6) * 1000
    except (TypeError, ValueError, OverflowError):
        return 0


@dataclass(slots=True)
class Lines:
    """The objects of a JSONL file with their 0-based line numbers, and how many lines could not be read.

    Two writers of one file may leave two objects on a line; both count.
    """

    data: bytes
    count: int = 0
    malformed: int = 0

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number_, line in enumerate(self.data.split(b"\n")):
            if not line.strip():
                continue
            self.count += 1
            try:
                found = [jsontext.loads(line)]
            except ValueError:
                found = list(_several(line.decode("utf-8", "replace")))
                self.malformed += not found
            for value in found:
                if isinstance(value, dict):
                    yield number_, value
                else:
                    self.malformed += 1


def _several(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value

"""Secrets in text become typed placeholders, before anything leaves the process.

One pass of an Aho-Corasick automaton over the lower-cased bytes finds every place where a secret may begin; only there
a pattern is tried. So ordinary text costs one pass (hundreds of MB/s), whatever the number of detectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

from spanlore.redaction.assigned import HIGH_ENTROPY, KEYWORDS, find_assigned
from spanlore.redaction.detectors import DETECTORS, Detector
from spanlore.redaction.values import redact_value

_MAX_ROUNDS: Final = 4
"""Replacing one secret may bring another to light (`password=x"sk-…"`); more rounds than this were never needed."""

_MIN_CHARS: Final = 8
"""No secret is shorter with its name."""

type Span = tuple[int, int, str]
"""Start and end in bytes, label."""

type Finder = Callable[[bytes, int], Span | None]


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, and how many were replaced."""

    text: str
    count: int


class Redactor:
    """Replaces secrets by placeholders such as `[redacted:aws_access_key]`. Idempotent; safe to share by threads."""

    def __init__(self, patterns: tuple[str, ...] = ()) -> None:
        """`patterns` are the user's own regular expressions.

        Raises:
            ValueError: One of them is not a regular expression, or matches the empty string; the message names it.
        """
        self._patterns = tuple(_compile(pattern) for pattern in patterns)
        finders = _finders()
        self._finders = [finder for _, finder in finders]
        self._automaton = BytesAhoCorasick([literal for literal, _ in finders], implementation=Implementation.DFA)

    def redact(self, text: str) -> Redacted:
        """The text with every secret replaced. ≥ 20 MB/s on ordinary text."""
        count = 0
        for pattern in self._patterns:
            count += sum(_is_secret(found) for found in pattern.finditer(text))
            text = pattern.sub(_own_placeholder, text)
        if len(text) < _MIN_CHARS:
            return Redacted(text, count)
        data = text.encode("utf-8", "surrogatepass")
        for _ in range(_MAX_ROUNDS):
            spans = _merged(self._spans(data))
            if not spans:
                break
            count += len(spans)
            data = _replace(data, spans)
            text = data.decode("utf-8", "surrogatepass")
        return Redacted(text, count)

    def redact_value(self, value: Any) -> tuple[Any, int]:
        """A JSON value with every secret in its strings replaced, and how many. `{"password": …}` counts by its key."""
        return redact_value(value, self._redact_text)

    def _redact_text(self, text: str) -> tuple[str, int]:
        redacted = self.redact(text)
        return redacted.text, redacted.count

    def _spans(self, data: bytes) -> Iterator[Span]:
        for index, start, _ in self._automaton.find_matches_as_indexes(data.lower(), overlapping=True):
            span = self._finders[index](data, start)
            if span is not None:
                yield span


def _finders() -> list[tuple[bytes, Finder]]:
    vendors = [(literal, _detector(detector)) for detector in DETECTORS for literal in detector.literals]
    return [*vendors, *((keyword, _assignment(keyword)) for keyword in KEYWORDS)]


def _detector(detector: Detector) -> Finder:
    match, starts_word = detector.pattern.match, detector.starts_word
    group = "secret" if "secret" in detector.pattern.groupindex else 0

    def find(data: bytes, start: int) -> Span | None:
        if starts_word and start and data[start - 1 : start].isalnum():
            return None
        found = match(data, start)
        return None if found is None else (*found.span(group), detector.label)

    return find


def _assignment(keyword: bytes) -> Finder:
    def find(data: bytes, start: int) -> Span | None:
        found = find_assigned(data, keyword, start)
        return None if found is None else (found.start, found.end, found.label)

    return find


def _merged(spans: Iterator[Span]) -> list[Span]:
    """Disjoint, in order. Where two overlap the one that begins first names the whole, the longer of two that do."""
    merged: list[Span] = []
    for start, end, label in sorted(spans, key=_precedence):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, label))
    return merged


def _precedence(span: Span) -> tuple[int, int, bool, str]:
    start, end, label = span
    return start, -end, label == HIGH_ENTROPY, label


def _replace(data: bytes, spans: list[Span]) -> bytes:
    out = bytearray()
    position = 0
    for start, end, label in spans:
        out += data[position:start] + b"[redacted:" + label.encode() + b"]"
        position = end
    return bytes(out + data[position:])


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as fault:
        raise ValueError(f"redaction pattern {pattern!r} is not a regular expression: {fault}") from fault
    if compiled.match(""):
        raise ValueError(f"redaction pattern {pattern!r} matches the empty string")
    return compiled


def _is_secret(found: re.Match[str]) -> bool:
    # A pattern of the user's may match nothing at all, or a placeholder.
    return bool(found[0]) and not found[0].startswith("[redacted:")


def _own_placeholder(found: re.Match[str]) -> str:
    return "[redacted:custom]" if _is_secret(found) else found[0]

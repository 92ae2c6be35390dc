"""Taking the accidental out of a line of output: what differs between two runs of the same failure.

Absolute paths keep their last component, relative ones stay; temporary directories, uuids, hashes, addresses, times,
durations, ports, line numbers and other numbers become marks. Diagnostic codes (TS2304, E501, SC2086) and words with
digits in them (utf8, python3, sha256) stay: they name things. Normalising twice changes nothing more.
"""

from __future__ import annotations

import re
from typing import Final

MAX_INPUT_CHARS: Final = 2_000
"""Longer lines (minified code, base64) are cut before they are normalised."""

_MARKS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # Claude Code's own additions to "File does not exist.": they differ for the same mistake.
    (re.compile(r"(?<=\.) (?:Note: your current working directory is|Did you mean) .*$"), ""),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\bhttps?://[^\s'\")\]>]+"), "<url>"),
    (
        re.compile(r"(?:file://)?(?:[A-Za-z]:\\|~?/)(?:tmp|var/folders|private/(?:tmp|var)|var/tmp)[\w./\\+@%~-]*"),
        "<tmp>",
    ),
    (re.compile(r"(?:file://)?(?<![\w.<])(?:[A-Za-z]:\\|~?/)(?:[\w.+@%~ -]{1,120}?[/\\])+(?=[\w.+@%~-])"), "<dir>/"),
    (re.compile(r"(?<![\w.<>])/(?=[\w.+@%~-]+\b)"), "<dir>/"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<hex>"),
    (re.compile(r"\b(?:\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|sec(?:ond)?s?|min(?:ute)?s?|hours?|[smh]))+\b"), "<duration>"),
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:[KMGT]i?B|bytes?|B|k)\b"), "<size>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<ip>"),
    (re.compile(r"(?<![\w.])v?\d+\.\d+(?:\.\d+)*(?:[-+][\w.]+)?\b"), "<version>"),
    (re.compile(r"(?<![A-Za-z_\d])\d+(?![A-Za-z_\d])"), "N"),
    (re.compile(r"\s+"), " "),
)  # fmt: skip


def normalise_line(line: str) -> str:
    """The line without what changes from run to run; idempotent, at most `MAX_INPUT_CHARS` long."""
    line = line[:MAX_INPUT_CHARS].strip()
    for pattern, mark in _MARKS:
        line = pattern.sub(mark, line)
    return line.strip()

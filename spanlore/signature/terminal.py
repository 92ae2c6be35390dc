"""What a terminal would show of a program's output: without colours, and without what was written over."""

from __future__ import annotations

import re
from typing import Final

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""ECMA-48 control sequences; titles and links (OSC); single escapes."""
_WRITTEN_OVER: Final = re.compile(r"^[^\n]*\r(?=[^\r\n])", re.M)


def plain(text: str) -> str:
    """The text as it stands on the screen in the end, line ends as \\n. Text without control characters comes back."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = _WRITTEN_OVER.sub("", text.replace("\r\n", "\n"))
    return text

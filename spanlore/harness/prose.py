"""What of a message is the person's own prose: pasted logs, code, diffs, file names and prompts of a shell taken out.

What no person typed (reminders, hook text, our own blocks) is removed before. What is left can still be mostly pasted
output, and a word in a log is no instruction, and does not say what the message is about.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.S)
_PASTED_LINE: Final = re.compile(
    r"^\s*(?:[❯➜$%>#]\s|\+{1,3}\s|-{3}\s|@@|={3}\s|\d+\s*[+\-│|→]|[│┃╭╰├└┌]|\[[\w:.\- ]+\]\s|(?:PASS|FAIL|---|"
    r"===)\b|[❌✅✗✘✖✔✓⚠🔴🟢]|ok\s{2,}\S|"
    r"(?:Error|Warning|Traceback|panic|fatal|npm ERR!|WARN|INFO|DEBUG)\b[:\[ ]|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|"
    r"at [^(]+\(.+:\d+|"
    r"--[a-z][\w-]*(?:[= ]\S+)?\s*\\?$|File \".+\", line \d+|\S+\.\w{1,5}:\d+(?::\d+)?:?\s|['\"]?(?:/|"
    r"~/)\S*(?: \S+)*\.\w{2,4}['\"]?\s*$|\s{8,}\S)"
)
"""Each branch must tell in linear time: a prompt is looked at before its request leaves."""
_COMMAND_LINE: Final = re.compile(
    r"^(?:env |sudo |\w+=\S+ )*(?:git|go|npm|npx|bun|yarn|pnpm|cargo|make|mise|python3?|pytest|docker|kubectl|uv|"
    r"cd)\s+\S+.*$"
)


def prose(text: str) -> str:
    """The person's own words, pasted lines left out; line breaks kept."""
    lines = _FENCE.sub("\n", text).splitlines()
    kept = [line.strip() for line in lines if line.strip() and not _is_pasted(line)]
    if len(kept) > 1:
        kept = [line for line in kept if not (_COMMAND_LINE.match(line) and len(line) > 40)]
    return "\n".join(kept)


def _is_pasted(line: str) -> bool:
    goes_on = line.endswith("\\") and line[-2:-1].isspace() and len(line) > 2  # a pattern would try each place of it
    return goes_on or _PASTED_LINE.match(line) is not None

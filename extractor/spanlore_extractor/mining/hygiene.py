"""What of a message is the person's own prose: pasted logs, code, diffs, file names and prompts of a shell taken out.

The proxy has already removed what no person typed (reminders, hook text, our own blocks). What is left can still be
mostly pasted output, and a word in a log is no instruction.
"""

from __future__ import annotations

import re
from typing import Final

MAX_PROSE_CHARS: Final = 1500
"""A longer message is a specification or a paste; it is not read as a correction."""

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.S)
_PASTED_LINE: Final = re.compile(
    r"^\s*(?:[❯➜$%>#]\s|\+{1,3}\s|-{3}\s|@@|={3}\s|\d+\s*[+\-│|→]|[│┃╭╰├└┌]|\[[\w:.\- ]+\]\s|(?:PASS|FAIL|---|"
    r"===)\b|[❌✅✗✘✖✔✓⚠🔴🟢]|ok\s{2,}\S|"
    r"(?:Error|Warning|Traceback|panic|fatal|npm ERR!|WARN|INFO|DEBUG)\b[:\[ ]|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|"
    r"at .+\(.+:\d+|"
    r"--[a-z][\w-]*(?:[= ]\S+)?\s*\\?$|.+\s\\$|File \".+\", line \d+|\S+\.\w{1,5}:\d+(?::\d+)?:?\s|['\"]?(?:/|"
    r"~/)\S*(?:\\? \S+)*\.\w{2,4}['\"]?\s*$|\s{8,}\S)"
)
_COMMAND_LINE: Final = re.compile(
    r"^(?:env |sudo |\w+=\S+ )*(?:git|go|npm|npx|bun|yarn|pnpm|cargo|make|mise|python3?|pytest|docker|kubectl|uv|"
    r"cd)\s+\S+.*$"
)


_LOG: Final = re.compile(
    r"\bProcess completed with exit code \d|^##\[(?:error|group|section)\]|\bnpm ERR!|^\S+ \| .*\n\S+ \| ", re.M
)
"""What only a log of a build server, a package manager or several containers says."""


_GO_ON: Final = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yep|please|pls|sure|good|fine|great)[,.!\s]+)*"
    r"(?:continue|go on|go ahead|proceed|carry on|keep going|resume|retry|try again|next|ok(?:ay)?|yes|y|weiter|"
    r"continuez?|继续)\W*$",
    re.I,
)


def says_go_on(text: str) -> bool:
    """Whether a message only lets the agent carry on with what it was doing."""
    return bool(_GO_ON.match(text))


_DID: Final = re.compile(
    r"\b(?:i|we)(?:'ve| have|ve)? (?:just |already |now |also )*(?:\w{2,}ed|ran|set|put|made|did|undid|built|got|wrote|"
    r"began|went|took)\b|^\W*(?:done|fixed|installed|should work now|try (?:it )?(?:again|now)|ok now|now)\b",
    re.I,
)


def tells_of_own_doing(text: str) -> bool:
    """Whether a person says that they did something themselves: what works after that is their doing."""
    return bool(_DID.search(text))


def prose(text: str) -> str:
    """The person's own words, pasted lines left out; line breaks kept."""
    lines = _FENCE.sub("\n", text).splitlines()
    kept = [line.strip() for line in lines if line.strip() and not _PASTED_LINE.match(line)]
    if len(kept) > 1:
        kept = [line for line in kept if not (_COMMAND_LINE.match(line) and len(line) > 40)]
    return "\n".join(kept)


def is_mostly_pasted(text: str) -> bool:
    """Whether most of the lines, or of the characters, are pasted."""
    lines = [line for line in text.splitlines() if line.strip()]
    own = prose(text)
    if len(lines) > 2 and _LOG.search(text):
        return True
    return len(lines) > 2 and (len(own) < 0.3 * len(text.strip()) or own.count("\n") + 1 < 0.3 * len(lines))


def sentences(text: str) -> list[str]:
    """Sentences and lines, ends kept."""
    return [part.strip() for part in re.split(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+", text) if part.strip()]

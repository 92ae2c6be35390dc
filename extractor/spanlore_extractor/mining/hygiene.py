"""What sort of message a person wrote: mostly a paste, a word to go on, news of their own doing; and its sentences."""

from __future__ import annotations

import re
from typing import Final

from spanlore.harness.prose import prose

MAX_PROSE_CHARS: Final = 1500
"""A longer message is a specification or a paste; it is not read as a correction."""

_QUOTATION: Final = re.compile(r"\"[^\"\s]+(?: [^\"\s]+){2,}\"|“[^”\s]+(?: [^”\s]+){2,}”")
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


def without_quotations(text: str) -> str:
    """The text with an ellipsis for what is quoted of others: three words or more in quotation marks."""
    return _QUOTATION.sub("…", text)


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

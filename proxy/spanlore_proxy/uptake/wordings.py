"""The wordings that are compared: the one agents get, and others that keep its rules.

Each is declarative, keeps tag, id, date, source and count, and says that the memory may be outdated and that the
repository's files and the user come first; the tests hold them to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spanlore_proxy.injection.wording import STANDARD, Wording

FIX_FIRST: Final = "fix-first"
"""The standard words around a memory whose own text tells first what worked, then what failed."""
_FIRST: Final = "the repository, its instruction files and the user come first."

WORDINGS: Final[Mapping[str, Wording]] = {
    "standard": STANDARD,
    FIX_FIRST: STANDARD,
    # The reservation in the fewest words: less to read for each request of a conversation.
    "brief": Wording(
        f"Recorded by spanlore in earlier sessions here; may be outdated, and {_FIRST}",
        "Recorded by spanlore in earlier sessions here; may be outdated.",
    ),
    # What was learned stands nearest to where the model begins to write, the reservation before and the source first.
    "source-first": Wording(
        STANDARD.block_head,
        STANDARD.hint_head,
        line="- [{id}] {provenance}: {text}",
    ),
    # The id where it is out of the way: a small model takes what stands in brackets for the answer.
    "id-last": Wording(STANDARD.block_head, STANDARD.hint_head, line="- {text} ({provenance}) [{id}]"),
    # The reservation behind the lines: the memories stand under a heading of their own.
    "reservation-last": Wording(
        "What worked and what failed in earlier sessions in this repository, recorded by spanlore:",
        "What worked and what failed here before, recorded by spanlore:",
        block_foot=f"This may be outdated; {_FIRST}",
        hint_foot="This may be outdated.",
    ),
    # Says what the lines are for, without asking for anything.
    "purpose": Wording(
        "Facts about this repository that earlier sessions paid for with failed commands, recorded by spanlore so that"
        f" they need not be found out again. They may be outdated; {_FIRST}",
        "This failure was seen in earlier sessions, and this is what ended it; it may be outdated.",
    ),
}

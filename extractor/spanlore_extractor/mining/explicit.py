""" "Remember that …", typed in a prompt: the person asks to have something remembered. Trusted as far as the gate's
check of its shape goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore.harness.prose import prose
from spanlore.spans.place import Channel
from spanlore_extractor.mining.session import Conversation, HumanStep

MAX_STATEMENT_CHARS: Final = 300
STATED_IN: Final = frozenset({Channel.USER_MESSAGE, Channel.QUEUED, Channel.REJECTION_REASON})
"""Ways in which a person says something."""

_ASKS: Final = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:please|pls|and|also|so|ok|okay)[,\s]+)(?:please\s+)?"
    r"(?:(?:remember|memori[sz]e)(?:\s+this)?(?:\s+for\s+(?:the\s+)?(?:future|next time|"
    r"later))?(?:\s*[:,]\s*|\s+that\s+)"
    r"|(?:don'?t|do not|never) forget(?:\s+that\s+|\s*[:,]\s*)"
    r"|for (?:the )?future(?: reference| sessions)?\s*[:,]\s*)(?P<what>\S[^\n]*)",
    re.I,
)
_EVERYWHERE: Final = re.compile(
    r"\b(?:in|for|across) (?:all|any|every) (?:of )?(?:my |our )?(?:projects?|repos?|repositor(?:y|ies))\b|"
    r"\beverywhere\b|\bglobally\b",
    re.I,
)
_MORE_THAN_ONE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])")


@dataclass(frozen=True, slots=True)
class Statement:
    """Something the person asked to have remembered."""

    step: HumanStep
    quote: str
    """The person's words, from after "remember that" on."""
    is_for_everywhere: bool
    """They said that it holds in all their projects."""


def find_statements(conversation: Conversation) -> list[Statement]:
    """All of them, in order. A refused call's reason counts like a message."""
    return [
        Statement(step, quote, is_for_everywhere(step.text))
        for step in conversation.steps
        if isinstance(step, HumanStep) and step.channel in STATED_IN and (quote := asked_for(step.text))
    ]


def asked_for(text: str) -> str:
    """What a message asks to have remembered, in the person's words; '' when it asks for nothing."""
    found = _ASKS.search(prose(text))
    quote = _MORE_THAN_ONE.split(found["what"].strip())[0].strip() if found else ""
    return quote if 8 <= len(quote) <= MAX_STATEMENT_CHARS and not quote.endswith("?") else ""


def is_for_everywhere(text: str) -> bool:
    """Whether a message says that it holds in all of the person's projects."""
    return _EVERYWHERE.search(text) is not None

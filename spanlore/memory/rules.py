"""What a person's rule is about, so that two rules about one thing can be told from two rules about two.

Only plain forms are read: "use X instead of Y", "run the tests with X", "never X". Everything else is about itself:
it can be repeated, but nothing else can contradict it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

_THING: Final = r"[`'\"]?(?P<{}>[\w@./:+-]+(?: [\w@./:+-]+){{0,3}}?)[`'\"]?"
_END: Final = r"(?=\s*(?:[.,;!]|$|\bfor\b|\bwhen\b|\bin\b|\bhere\b|\bto\b|\band\b))"
_FORMS: Final = (
    re.compile(rf"\b(?:use|run|call|prefer)\s+{_THING.format('value')}\s*,?\s*(?:instead of|rather than|over|"
    rf",?\s*not)\s+{_THING.format('subject')}{_END}", re.I),
    re.compile(rf"\b(?:run|do|start|build|execute|format|check|install|deploy)\s+(?:the |our |all |"
    rf"all the )?(?P<subject>[\w-]+(?: [\w-]+)?)\s+(?:with|using|via|through|"
    rf"by running)\s+{_THING.format('value')}{_END}", re.I),
    re.compile(rf"\b(?:use)\s+{_THING.format('value')}\s+(?:for|to (?:run|do|build|format|install|"
    rf"check))\s+(?:the |our |all )?(?P<subject>[\w-]+(?: [\w-]+)?)(?=\s*(?:[.,;!]|$))", re.I),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """Subject, slot and value of a person's words."""

    subject: str
    slot: str
    value: str


def rule_of(quote: str) -> Rule:
    """The canonical key of a rule. The same words, whatever their case, spacing and closing mark, give the same key."""
    flat = " ".join(quote.lower().split()).strip(" .!,;:")
    for form in _FORMS:
        found = form.search(flat)
        if found:
            slot = "instead" if form is _FORMS[0] else "by"
            return Rule(_clean(found["subject"]), slot, _clean(found["value"]))
    key = hashlib.blake2b(flat.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return Rule(key, "statement", flat[:200])


def _clean(text: str) -> str:
    return text.strip(" `'\".,")

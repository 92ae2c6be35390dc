"""Confirmations: the person says that it is good, or the work was merged or pushed. What the session has taught until
then was not in vain, so its candidates are raised.

Words are believed only where they are all there is: a short message without a "but", a question or an objection. A
command counts when it succeeded and really hands the work over; `git commit` does not, a push and a merge do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore.harness.prose import prose
from spanlore.spans.place import Channel
from spanlore_extractor.mining.answer import is_success
from spanlore_extractor.mining.hygiene import is_mostly_pasted
from spanlore_extractor.mining.session import Conversation, HumanStep, ToolStep, time_of
from spanlore_extractor.mining.shell import program_of, take_apart
from spanlore_extractor.mining.tools import ToolKind, kind_of

MAX_WORDS: Final = 14
"""A longer message says more than that it is good."""
_SAYS: Final = re.compile(
    r"^(?:ok(?:ay)?[,.!\s]+|yes[,.!\s]+|yep[,.!\s]+|great[,.!\s]+|cool[,.!\s]+|nice[,.!\s]+|all good[,.!\s]+)*"
    r"(?:lgtm\b|ship ?it\b|(?:it |this |that |everything |all )?(?:looks?|is|'s) (?:all )?"
    r"(?:good|great|perfect|fine|correct)\b|that'?s (?:it|perfect|great|correct|right|exactly)\b|perfect\b|excellent\b|"
    r"awesome\b|well done\b|good job\b|beautiful\b|love it\b|great\b|nice\b|"
    r"(?:it |this |that |now it |everything |all )?works(?: now| great| perfectly)?\b|"
    r"(?:please )?(?:merge|ship|release|approve) (?:it|this|that)\b|approved\b)",
    re.I,
)
_TAKEN_BACK: Final = re.compile(
    r"\b(?:but|except|however|although|almost|nearly|still|not|don'?t|doesn'?t|isn'?t|if|when|once|until)\b|\?", re.I
)
_GH: Final = frozenset({("gh", "pr", "merge"), ("glab", "mr", "merge")})
_DRY: Final = frozenset({"--dry-run", "-n", "--abort", "--help", "--delete", "-d"})


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The person, or what became of the work, confirmed the session so far."""

    step: HumanStep | ToolStep
    reason: str
    """The rule that took it for one, for people."""


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Something that only looks so, and why it is none."""

    step: HumanStep | ToolStep
    reason: str


def find_confirmations(conversation: Conversation) -> tuple[list[Confirmation], list[Unconfirmed]]:
    """What confirms, in order, and what only looks as if it did."""
    found: list[Confirmation] = []
    none: list[Unconfirmed] = []
    has_worked = False
    for step in conversation.steps:
        if isinstance(step, HumanStep) and step.channel is not Channel.REJECTION_REASON:
            _said(step, has_worked, found, none)
        elif isinstance(step, ToolStep):
            has_worked = True
            _done(step, found, none)
    return found, none


def confirmed_by(time_ns: int, confirmations: list[Confirmation]) -> Confirmation | None:
    """The first confirmation of what was known at that time; None when none came after it."""
    return next((item for item in confirmations if time_of(item.step) >= time_ns), None)


def _said(step: HumanStep, has_worked: bool, found: list[Confirmation], none: list[Unconfirmed]) -> None:
    own = prose(step.text)
    match = _SAYS.match(own)
    if not match:
        return
    if not has_worked:
        none.append(Unconfirmed(step, "the agent has not done anything yet"))
    elif is_mostly_pasted(step.text) or len(own.split()) > MAX_WORDS:
        none.append(Unconfirmed(step, "says more than that it is good"))
    elif _TAKEN_BACK.search(own):
        none.append(Unconfirmed(step, "takes it back in the same breath, or asks"))
    else:
        found.append(Confirmation(step, f"the person said “{' '.join(match[0].split())}”"))


def _done(step: ToolStep, found: list[Confirmation], none: list[Unconfirmed]) -> None:
    if kind_of(step) is not ToolKind.SHELL:
        return
    for argv in take_apart(step.command).commands:
        what = _hands_over(argv)
        if not what:
            continue
        if set(argv) & _DRY:
            none.append(Unconfirmed(step, f"`{what}` only looked, or took something back"))
        elif not is_success(step):
            none.append(Unconfirmed(step, f"`{what}` did not succeed"))
        else:
            found.append(Confirmation(step, f"`{what}` succeeded"))
        return


def _hands_over(argv: tuple[str, ...]) -> str:
    program = program_of(argv)
    words = [word for word in argv[1:] if not word.startswith("-")]
    if (program, *words[:2]) in _GH:
        return " ".join((program, *words[:2]))
    return f"{program} {words[0]}" if program in ("git", "jj") and words[:1] in (["push"], ["merge"]) else ""

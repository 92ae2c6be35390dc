"""What the agent made of a message: whether its next words concede the point.

Whoever describes how a thing is or should be may correct the agent, report a bug, tune a colour or think aloud, in the
same words. What the agent answers tells: to a correction it says that the person is right. It is asked only where words
alone do not tell, so that an agent that flatters makes no correction of praise or of a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spanlore_extractor.mining.session import AgentStep, HumanStep, Step

_LEAD: Final = (
    r"^\W*(?:(?:ah+|oh+|yes|yeah|yep|ok|okay|hm+|got it|understood|good|true|absolutely|indeed|wait|no|fair|excellent|"
    r"great|thanks)\b\W+){0,3}"
)
_CONCEDES: Final = re.compile(
    rf"^\W*ah\W+i see\b|{_LEAD}(?:you(?:['’]re| are) (?:\w+ ){{0,2}}(?:right|correct)\b|"
    r"right\b(?! away\b| now\b)|correct\b|agreed\b|confirmed\b|"
    r"(?:good|great|excellent|nice|fair) (?:catch|points?|observation|eye|spot)\b|"
    r"(?:all (?:\w+ )?|both |those |these )?(?:are )?valid (?:catch|point|finding|concern)|"
    r"(?:i |my )?apolog|(?:i['’]?m |so )?sorry\b|my (?:mistake|bad|error|fault)\b|that was (?:wrong|my)\b|"
    r"i (?:was (?:wrong|mistaken|framing)|misunderst|misread|overlooked|forgot|shouldn['’]t have|should have|"
    r"overcomplicated|got that wrong)|"
    r"(?:tienes|tens|tem) razón|vous avez raison|tu as raison|du hast recht|sie haben recht|ты прав|вы правы|你说得对|"
    r"您说得对)",
    re.I,
)


def concedes(after: Sequence[Step]) -> bool | None:
    """Whether the agent, in what it said first after a message, gave the person right; None when it said nothing (yet)
    before the person spoke again. `after`: the steps behind the message."""
    for step in after:
        if isinstance(step, HumanStep):
            return None
        if isinstance(step, AgentStep) and step.text.strip():
            return bool(_CONCEDES.match(step.text[:200]))
    return None


def ever_concedes(steps: Sequence[Step]) -> bool:
    """Whether the agent gave the person right anywhere in the conversation. Of one that never does, that it did not
    tells nothing."""
    said_at = -1
    for index, step in enumerate(steps):
        if isinstance(step, HumanStep):
            said_at = index
        elif said_at >= 0 and isinstance(step, AgentStep) and step.text.strip():
            if _CONCEDES.match(step.text[:200]):
                return True
            said_at = -1
    return False

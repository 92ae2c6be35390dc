"""Corrections: a person telling the agent that what it did, or was about to do, is not wanted.

What is not a correction is sorted out before any trigger looks at the words (research/memory-systems.md §3L: triggers
that ran first queued "no problem" and "actually, let's also"). What happened on the wire (a refused tool call with a
reason, an interruption) counts more than words. The person's words are kept verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.hygiene import MAX_PROSE_CHARS, is_mostly_pasted, prose, sentences
from spanlore_extractor.mining.session import AgentStep, Conversation, HumanStep, Step, ToolStep

LOOK_BACK: Final = 50
"""How many steps before a message are looked at."""
MAX_RULE_CHARS: Final = 300
"""A longer text is an explanation, not a rule that can be quoted as one."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction the person made."""

    step: HumanStep
    quote: str
    """The person's own prose, verbatim."""
    signals: tuple[str, ...]
    """What it was recognised by, strongest first."""
    is_durable: bool
    """The person stated it as a standing rule, not for this once."""
    follows: ToolStep | None
    """The last tool call before it, if any: what it is likely about."""


@dataclass(frozen=True, slots=True)
class NoCorrection:
    """A message that is none, and why."""

    step: HumanStep
    reason: str


_START: Final = r"^(?:(?:ok|okay|so|well|hmm+|hm|um|but|and|hey|dude|omfg|omg|wait|please|pls)[,.!:\s]+)*"
_PRAISE: Final = re.compile(
    _START + r"(?:great|perfect|nice|beautiful|awesome|excellent|cool|thanks|thank you|lgtm|looks? good|good job|"
    r"well done|love it|"
    r"that'?s it|that works|it works|works|now it works|all good|yes|yeah|yep|sure|correct|exactly)\b(?!.*\bbut\b)",
    re.I | re.S,
)
_WORKS_NOW: Final = re.compile(r"\b(?:now (?:it |this |that )?works|works now|looks good now|all good)\b", re.I)
_OWN_DOING: Final = re.compile(
    _START + r"(?:actually\b|sorry\b|my bad|my mistake|oops|i (?:already|just|have|had|did|removed|fixed|changed|"
    r"reverted|undid)\b|i'?ve\b|did some)",
    re.I,
)  # fmt: skip
_PERMISSION: Final = re.compile(
    _START + r"(?:i (?:allow|permit)|you (?:can|may)|go ahead|feel free|proceed|i'?m fine)\b", re.I
)
_ASSESS: Final = re.compile(_START + r"(?:eval(?:uate)?|assess|review|analy[sz]e|check|look at|have a look|"
r"explain|what do you think)\b", re.I)  # fmt: skip
_REQUEST: Final = re.compile(_START + r"(?:can|could|would|will) (?:you|we|i)\b|^(?:also|next|now)[,\s]", re.I)
_CARRY_ON: Final = re.compile(
    r"^(?:please\s+)?(?:retry|continue|proceed|go on|go|try again|try|run|commit|push|merge|resume|next|start|"
    r"do it|clear|exit|yes|ok)\b",
    re.I,
)  # fmt: skip
_NEXT_TASK: Final = re.compile(
    _START + r"(?:oh[,.\s]+)?(?:and\b|also\b|another agent\b|(?:read|open|delete|create|show|list|look|check|find|tell|"
    r"explain|review|update your)\b)",
    re.I,
)
"""What a person stops the agent for without saying that it did anything wrong."""
_PLAN: Final = re.compile(r"^implement the following plan", re.I)
_NO_NO: Final = re.compile(r"^no[,\s]+(?:problem|worries|rush|idea|need to|issue|thanks|thank)\b", re.I)
_QUESTION: Final = re.compile(
    r"^(?:is|are|was|were|do(?! not)|does|did|can|could|should(?! (?:be|not))|shall|would|will|what|why|how|where|"
    r"when|who|which|isn'?t|aren'?t|don'?t we|wouldn'?t)\b",
    re.I,
)

_CLAUSE: Final = r"(?:^|[,.;:!?()\-\n]\s*|\b(?:please|pls|plase|we|you|and|but|so|just|also)\s+)"
_ALWAYS: Final = (
    rf"{_CLAUSE}(?:always|never)\s+(?!happen|been|seen)\w+|\b(?:should|must) (?:always|never)\s+(?!happen)\w+|"
    r"\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b,|\bevery time you\b"
)
_TRIGGERS: Final[tuple[tuple[str, re.Pattern[str], bool], ...]] = tuple(
    (name, re.compile(pattern, re.I), holds)
    for name, pattern, holds in (
        # (name, pattern, whether it still means a correction when it answers a question of the agent)
        ("contradicts",
         r"(?<!why )(?<!say )\b(?:that|this|it|which)\S{0,3}(?:'?s| is| was)? not (?:even |really |at all )?"
         r"(?!working|loading|showing|clear|sure|urgent|possible|needed)\w+|"
         r"\b(?:is|are|was|were) (?:not (?:correct|right|true)|incorrect|wrong)\b|\bnot (?:what|how|where) (?:i|"
         r"we|it|this|that)\b", True),
        ("contrasts",
         r"\b(?:is|are|it'?s|at|in|to|for|on|with|use|the|be) [\w`'./-]+, not (?:the |a |an |in |at |to )?"
         r"[\w`'./-]+\s*(?:[.!;,]|$)|\bchange (?:in|of) plans?\b|\bgo back to\b|\bput (?:it|that|this|them) back\b|"
         r"\broll (?:it |that |this )?back\b", True),
        ("meant", r"\bi (?:mean|meant)\b|\bwhat i (?:said|asked|wanted)\b", True),
        ("blames",
         r"\byou(?:'ve| have)? (?:missed|forgot|forgotten|broke|ignored|misunderstood|misread|fucked|messed|"
         r"(?:have |had )?(?:old|wrong|outdated)|"
         r"should(?:n'?t)? (?:not )?have|were (?:not )?supposed|keep \w+ing)\b", True),
        ("blames",
         r"(?<!if )(?<!when )(?<!once )(?<!after )(?<!did )(?<!do )\byou(?:'ve| have)? "
         r""
         r"(?:also |just |again |now |still )?"
         r"(?:didn'?t|did not|haven'?t|have not|removed|deleted|dropped|skipped|lost|left out|overwrote|invented|"
         r"hallucinated|made (?:it|that|this) up|should not|shouldn'?t|are not supposed|weren'?t supposed|"
         r"don'?t need|do not need|need not)\b", True),
        ("repeats", r"\b(?:i told you|as i said|like i said|how many times|i already (?:said|told)|i asked (?:you|for)|"
         r"i said)\b|^again[,:]", True),
        ("says how it should be",
         r"\b(?:this|that|it|these|those|they|which|there) (?:should|must|shall|may|can)(?: not|n'?t|not)\b|"
         r"\b(?:should|must) (?:probably|also|rather|actually|instead|only|just|at least)\b(?! (?:i|we)\b)", True),
        ("standing rule", rf"{_ALWAYS}|{_CLAUSE}(?:remember to|prefer)\b", True),
        ("forbids",
         rf"{_CLAUSE}(?:do not|don'?t|dont|never|stop|shouldn'?t|should not|must not)\s+"
         r"(?!know|think|see|understand|mind|care|remember|worry|have to|need|get|we\b|you\b)\w+", False),
        ("negates", r"^(?:no|nope|nah)\b(?!\s*\?)", False),
        ("our way",
         r"\bwe (?:use|always|never|usually|only|prefer|don'?t|do not|should ?n[o']t|must not)\b|"
         r"\bwe'?re (?:using|not)\b|\bstick (?:to|with)\b", False),
        ("dislikes",
         r"\b(?:not sure i|i don'?t|i do not|don'?t really) (?:really )?like\b|\bkill this\b|\b(?:undo|"
         r"revert) (?:that|this|your)\b|\bi (?:undid|reverted) your\b", False),
        ("demands",
         r"\b(?:must|has to|have to|needs to|supposed to) (?:stop|stay|keep|not|be (?:in|a|the|kept))\b|"
         r"\bshould (?:stay|remain|still)\b|"
         r"\bleave (?:it|that|this|them|the)\b|\bkeep (?:it|that|this|them|the)\b", False),
        ("halts", r"^(?:wait|stop|hold on|hang ?on|let'?s pause|pause)\b", False),
    )
)  # fmt: skip
_OBJECTING: Final = re.compile(
    r"\b(?:is|are|was|were)(?:n'?t)? there (?:no|not)\b|"
    r"\b(?:is|are|was) (?:the|this|that|it) (?:[\w`-]+ ){0,2}not (?:to|better|supposed)\b|"
    r"\b(?:wouldn'?t|shouldn'?t|isn'?t|aren'?t|couldn'?t|can'?t|don'?t) (?:it|this|that|we|you|there|they|the)\b"
    r".{0,120}\b(?:better|simpler|easier|cleaner|rather|instead|just|also|already|be)\b|"
    r"\bdo(?:es)? (?:we|you|it|this|that) (?:really|even|actually|still)\b|"
    r"\bdo(?:es)? (?:we|you|it|this|that) need\b.{0,120}\b(?:at all|then|anymore|anyway)\b|"
    r"\bwhy (?:not|didn'?t|don'?t you|aren'?t|isn'?t|did you|are you|do you|would you|have you|are we not|do we not)\b|"
    r"\b(?:can|could|would) (?:we|you) (?:please |rather |just |at least )*"
    r"(?:stick (?:to|with)|not|avoid|stop|go back|undo|revert|leave|keep)\b",
    re.I,
)
"""Questions that tell what the person would have done instead."""
_TAG: Final = re.compile(r"[,.]? ?\b(?:right|no|ok(?:ay)?|correct|yeah|or is there|or not|isn'?t it|or)\s*\?+$", re.I)
"""What makes a question of an assertion only in form."""
_ALWAYS_RULE: Final = re.compile(
    rf"{_ALWAYS}|\bwe (?:always|never)\s+\w+|\bin (?:this|our) (?:repo(?:sitory)?|project|codebase|team)\b", re.I
)
_DURABLE: Final = re.compile(
    r"\bwe (?:only|prefer|use|don'?t|do not|should not|shouldn'?t|must not)\s+\w+|\b(?:as a rule|by default we)\b|"
    rf"{_CLAUSE}(?:prefer|remember to)\s+\w+|{_CLAUSE}(?:stop|avoid) \w+ing\b",
    re.I,
)
_STANDALONE_BAN: Final = re.compile(
    r"^(?:(?:please|pls|plase) )?(?:do not|don'?t|never|no)\s+(?!this\b|that\b|it\b|them\b|these\b|those\b|i\b|"
    r"we\b|you\b|the\b)\w+",
    re.I,
)
_ONCE: Final = re.compile(
    r"\b(?:this|that|these|those|here|there|now|yet|today|above|below|"
    r"(?:first|second|last|next) (?:part|line|one|step))\b",
    re.I,
)
_DIALOGUES: Final = frozenset({"askuserquestion", "ask_user", "request_user_input"})


def find_corrections(conversation: Conversation) -> tuple[list[Correction], list[NoCorrection]]:
    """Every human message of the conversation is in one of the two lists, in order."""
    found: list[Correction] = []
    none: list[NoCorrection] = []
    seen: set[str] = set()
    for index, step in enumerate(conversation.steps):
        if not isinstance(step, HumanStep):
            continue
        before = conversation.steps[max(0, index - LOOK_BACK) : index]
        reason = _why_not(step, before, seen)
        seen.add(step.text.strip())
        if reason:
            none.append(NoCorrection(step, reason))
            continue
        signals = _signals(step, before)
        if signals:
            found.append(_correction(step, signals, before))
        else:
            none.append(NoCorrection(step, "nothing in it, or around it, corrects anything"))
    return found, none


def _correction(step: HumanStep, signals: tuple[str, ...], before: Sequence[Step]) -> Correction:
    own = prose(step.text)
    follows = next((item for item in reversed(before) if isinstance(item, ToolStep)), None)
    return Correction(step, own, signals, is_durable(own), follows)


def is_durable(own: str) -> bool:
    """Whether the words state a standing rule: short, no question, not about this one thing."""
    if len(own) > MAX_RULE_CHARS or any(_is_question(sentence) for sentence in sentences(own)):
        return False
    if _ALWAYS_RULE.search(own):
        return True
    return bool(_DURABLE.search(own) or _STANDALONE_BAN.match(own)) and not _ONCE.search(own)


def _why_not(step: HumanStep, before: Sequence[Step], seen: set[str]) -> str:
    """Why a message is no correction whatever words it has; '' when it may be one."""
    text, own = step.text.strip(), prose(step.text)
    if not any(isinstance(item, ToolStep | AgentStep) for item in before):
        return "the agent has not done anything yet"
    if text in seen:
        return "the same text was sent before"
    if not own or (is_mostly_pasted(text) and not _begins_with_blame(text)):
        return "pasted output"
    if len(own) > MAX_PROSE_CHARS:
        return "too long to be a correction"
    return _why_not_by_words(step, own, before)


def _begins_with_blame(text: str) -> bool:
    """Whether the first line, before what was pasted, says that something is wrong."""
    first = prose(text.partition("\n")[0])
    return any(holds and pattern.search(first) for _, pattern, holds in _TRIGGERS)


def _why_not_by_words(step: HumanStep, own: str, before: Sequence[Step]) -> str:
    if step.channel is Channel.REJECTION_REASON:
        refused = next((item for item in reversed(before) if isinstance(item, ToolStep)), None)
        if refused is not None and refused.outcome is Outcome.REJECTED and refused.tool_name.lower() in _DIALOGUES:
            return "a question of the agent was turned back"
        return "tells the agent to go on" if _CARRY_ON.match(own) and len(own) < 60 else ""
    for pattern, reason in (
        (_PLAN, "an accepted plan"),
        (_PRAISE, "praise or assent"),
        (_WORKS_NOW, "says that it works"),
        (_OWN_DOING, "the person's own doing or change of mind"),
        (_PERMISSION, "a permission"),
        (_ASSESS, "asks for an assessment"),
        (_NO_NO, "a polite no"),
    ):
        if pattern.search(own):
            return reason
    if _CARRY_ON.match(own) and len(own) < 40 and not re.search(r"\b(?:not|don'?t|no|never|only)\b", own, re.I):
        return "tells the agent to go on"
    if _OBJECTING.search(own):
        return ""
    if all(_is_question(sentence) for sentence in sentences(own)):
        return "a question"
    return "a request" if _REQUEST.match(own) and not step.is_interruption and not _DURABLE.search(own) else ""


def _is_question(sentence: str) -> bool:
    if sentence.endswith("?") and _TAG.search(sentence) and not _QUESTION.match(sentence):
        return False
    return sentence.rstrip().endswith("?") or (bool(_QUESTION.match(sentence)) and not sentence.endswith((".", "!")))


def _signals(step: HumanStep, before: Sequence[Step]) -> tuple[str, ...]:
    """What speaks for a correction, wire signals first; () when nothing does."""
    parts = sentences(prose(step.text))
    own = "\n".join(part for part in parts if not _is_question(part))
    if step.channel is Channel.REJECTION_REASON:
        return ("refused a tool call with a reason", *_words(own, False))
    is_answer = _answers_question(before)
    said = _words(own, is_answer)
    if not is_answer and _OBJECTING.search("\n".join(parts)):
        said = (*said, "asks why not otherwise")
    if (
        step.is_interruption
        and len(own.split()) >= 4
        and not _CARRY_ON.match(own)
        and not _NEXT_TASK.match(own)
        and len(parts) == own.count("\n") + 1
    ):
        return ("interrupted the agent", *said)
    return said


def _words(own: str, is_answer: bool) -> tuple[str, ...]:
    return tuple(name for name, pattern, holds in _TRIGGERS if (holds or not is_answer) and pattern.search(own))


def _answers_question(before: Sequence[Step]) -> bool:
    """Whether the last thing the agent did was to ask."""
    last = before[-1] if before else None
    return isinstance(last, AgentStep) and "?" in last.text.rstrip()[-240:]

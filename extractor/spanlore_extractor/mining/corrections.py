"""Corrections: a person telling the agent that what it did, or was about to do, is not wanted.

What is not a correction is sorted out before any trigger looks at the words (triggers
that ran first queued "no problem" and "actually, let's also"). What happened on the wire (a refused tool call with a
reason, an interruption) counts more than words. The person's words are kept verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spanlore.harness.prose import prose
from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.hygiene import MAX_PROSE_CHARS, is_mostly_pasted, sentences, without_quotations
from spanlore_extractor.mining.languages import asks_why, says_no
from spanlore_extractor.mining.replies import concedes, ever_concedes
from spanlore_extractor.mining.session import AgentStep, Conversation, HumanStep, Step, ToolStep
from spanlore_extractor.mining.statements import STATES, states_how_it_is, tells_a_symptom
from spanlore_extractor.mining.triggers import (
    ALWAYS,
    AT_LENGTH,
    CLAUSE,
    COMPARING,
    DESCRIBING,
    START,
    has_blame,
    triggers_in,
)

LOOK_BACK: Final = 50
"""How many steps before a message are looked at."""
LOOK_AHEAD: Final = 20
"""How many steps behind it are looked at for what the agent made of it."""
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


_PRAISE: Final = re.compile(
    START + r"(?:great|perfect|nice|beautiful|awesome|excellent|cool|thanks|thank you|lgtm|looks? good|good job|"
    r"well done|love it|"
    r"that'?s it|that works|it works|works|now it works|all good|yes|yeah|yep|sure|correct|exactly)\b"
    r"(?!.*\b(?:but|however|although|though|except|instead)\b)",
    re.I | re.S,
)
_WORKS_NOW: Final = re.compile(r"\b(?:now (?:it |this |that )?works|works now|looks good now|all good)\b", re.I)
_OWN_DOING: Final = re.compile(
    START + r"(?:wrong (?:window|chat|tab|terminal|button|channel|thread|paste|session)\b|"
    r"actually(?!,? (?:no|don'?t|do not|stop|wait)\b)(?!,? (?:the|it'?s|that|this|our) [^.!?\n]{0,60}\b(?:is|are|has|"
    r"needs?|lives?)\b)"
    r"(?![^.!?\n]*(?:,|\w) not (?:in |on |at |the |a )*[\w`./-]+\W*$)\b|"
    r"sorry\b(?!.*\blet'?s not\b)|my bad|my mistake|oops|"
    r"i (?:already|just|have|had|did|removed|fixed|changed|reverted|undid)\b"
    r"(?! (?:want|need|meant|mean|asked|told|said|not|never|think)\b)|i'?ve\b(?! (?:told|asked|said)\b)|did some)",
    re.I | re.S,
)  # fmt: skip
_PERMISSION: Final = re.compile(
    START + r"(?:i (?:allow|permit)|you (?:can|may)(?!'?t\b| ?not\b| just\b| simply\b)|go ahead|feel free|proceed|"
    r"i'?m fine)\b",
    re.I,
)
_ASSESS: Final = re.compile(START + r"(?:(?:any )?(?:ideas?|thoughts?|opinions?)\b[^\n]{0,12}[:?]|"
r"eval(?:uate)?|assess|review|analy[sz]e|check|look at|have a look|"
r"explain|what do you think)\b(?! how (?:the |we |others?\b|it|they))", re.I)  # fmt: skip
_REQUEST: Final = re.compile(
    START + r"(?:can|could|would|will) (?:you|we|i)\b|"
    r"^(?:also|next|now)[,:\s]+(?!you\b|u\b|the\b|this\b|that\b|these\b|it\b|i\b|we\b|don'?t\b|do not\b|no\b|never\b|"
    r"stop\b|not\b|there\b)",
    re.I,
)
_CARRY_ON: Final = re.compile(
    r"^(?:please\s+)?(?:retry|continue|proceed|go on|go|try again|try|run|commit|push|merge|resume|next|start|"
    r"do it|clear|exit|yes|ok)\b",
    re.I,
)  # fmt: skip
_MANNER: Final = re.compile(
    r"\b(?:not|don'?t|no|never|only|but|though|except|before|next time|instead|rather|without|it (?:in|inside|with|"
    r"from|as|via|through|"
    r"on)|"
    r"them (?:in|inside|with|from|as|via|on))\b",
    re.I,
)
"""What tells how, and so is more than a word to go on."""
_NEXT_TASK: Final = re.compile(
    START + r"(?:oh[,.\s]+)?(?:and\b|also\b|another agent\b|wait (?:for|until|till)\b|(?:read|open|delete|create|show|"
    r"list|look|check|find|tell|"
    r"explain|review|update your)\b)",
    re.I,
)
"""What a person stops the agent for without saying that it did anything wrong."""
_HOLD_ON: Final = re.compile(
    START + r"(?:(?:one|a|1|just a|gimme a|give me a) (?:sec\w*|min\w*|moment)\b|(?:hold on|hang on|wait|stop|"
    r"not yet)[,.:\s]+)?\W*"
    r"(?:i (?:already|just) (?!told|said|asked)\w+|my (?!code\b|files?\b|changes?\b|work\b|branch\b)\w+ (?:is|are|"
    r"was|just|has)\b|i'?ll|i will|i'?m (?:going|gonna|about) to|i (?:need|have|want) to|let me|lemme|(?:already |"
    r"all )?done\b)"
    r"(?!.*\b(?:not|don'?t|never|instead|only|but)\b)",
    re.I | re.S,
)
"""The person does, or did, something first."""
_PLAN: Final = re.compile(r"^implement the following plan", re.I)
_NO_NO: Final = re.compile(
    r"^(?:(?:hm+|well|oh|uh|ok)[,.\s]+)?(?:no|nope|nah)[,\s]+(?:problem|prob|worries|rush|hurry|idea|issue|thanks|"
    r"thank|thx|way|kidding|shit|biggie|doubt|"
    r"(?:more|other|further|additional) \w+|nothing (?:else|more)|(?:i'?m|im|we'?re|all) (?:good|fine|done|set)|"
    r"that'?s (?:fine|ok|okay|good|all|it|everything)|"
    r"i think we'?re (?:done|good)|need(?:[.!]*$| to (?:rush|hurry|worry|"
    r"apologi[sz]e)))\b",
    re.I,
)
_QUESTION: Final = re.compile(
    r"^(?:(?:is|are|was|were)(?! not\b)|do(?! (?:not|it|that|this|them|these|those|the)\b)|does|did|can|could|"
    r"should(?= (?:i|we|it|this|that|the|you|they|there|these|those)\b)|"
    r"shall|would|will|"
    r"what(?! i (?:want|mean|meant|said|asked)\b)|why|how|where|"
    r"when|who|which (?:one|ones|of|\w+ (?:is|are|do|does|should|has|can|handles?))\b|isn'?t|aren'?t|don'?t we|"
    r"wouldn'?t)\b",
    re.I,
)

_OBJECTING: Final = re.compile(
    r"\b(?:is|are|was|were)(?:n'?t)? there (?:no|not)\b|"
    r"\b(?:is|are|was) (?:the|this|that|it) (?:[\w`-]+ ){0,2}not (?:to|better|supposed)\b|"
    r"\b(?:wouldn'?t|shouldn'?t|isn'?t|aren'?t|couldn'?t|can'?t|don'?t) (?:it|this|that|we|you|there|they|the)\b"
    r".{0,120}\b(?:better|simpler|easier|cleaner|rather|instead|just|also|already|be)\b|"
    r"\bdo(?:es)? (?:we|you|it|this|that) (?:really|even|actually|still)\b|"
    r"\bdo(?:es)? (?:we|you|it|this|that) need\b.{0,120}\b(?:at all|then|anymore|anyway)\b|"
    r"^(?:(?:but|and|so|hmm+|wait|well|ok)[,\s]+)*(?:should|is|are|do|does|did|have|has|was|were|would|could|ca)n'?t "
    r"(?:we|this|that|it|there|you|they|the|i)\b|"
    r"\b(?:like|as|what|how) (?:it|we|they|that|this|i) (?:was|were|had|did)(?: it)?(?: like)? before\b|"
    r"\b(?:really|actually) (?:needed|necessary|the (?:best|right))\b|(?:\?!|!\?)+\s*$|"
    r"\bwhy (?:not|didn'?t|don'?t you|aren'?t|isn'?t|(?:did|are|do|would|have|had|were) you|you|are we|do we (?:not|"
    r"need|have)|"
    r"(?:is|are) there|(?:is|are) (?:it|this|that|these|those|they) (?:not|\w+ing|a|an|in|on)|(?:is|"
    r"are) the \w+ (?:not|now))\b|"
    r"\bwhat(?:'?s| is| are) (?:(?:up )?with (?:the|all|that|this|these|those)|the (?:point|purpose|use|benefit) of)\b|"
    r"\b(?:can|could) (?:we|you) [^?.!\n]{1,80}\b(?:instead of|rather than)\b|"
    r"\bwhy (?:the (?:extra|additional|separate|second|custom|double|new|sudden)\b|so|all (?:this|that|the|these|"
    r"those)|such an?|would (?:i|we|you|anyone|anybody|that|this)|another)\b|"
    r"\bwhere (?:did|have|has) (?:the|my|our|all) [^.?!\n]{1,40}\b(?:go|gone)\b|\bsince when\b|"
    r"\bwhat happened to (?:the|my|our)\b|\bwho (?:told|asked) you\b|\bdid you (?:even|not|actually|really)\b|"
    r"\bdidn'?t (?:i|you|we)\b|[?,.!]\s*(?:really|seriously|srsly)\s*\?+\s*$|"
    r"\b(?:can|could|would) (?:we|you) (?:please |rather |just |at least )*"
    r"(?:stick (?:to|with)|not|avoid|stop|go back|undo|revert|leave|keep|get rid of|drop)\b",
    re.I | re.M,
)
"""Questions that tell what the person would have done instead."""
FOREIGN: Final = "objects in another language"
INTERRUPTED: Final = "interrupted the agent"
CONCEDED: Final = "the agent gave the person right"
MAX_POINT_CHARS: Final = 220
"""Who objects comes to the point; in a longer message most of what looks like it is a plan or a task."""
MAX_STATEMENTS: Final = 6
MAX_STATEMENT_CHARS: Final = 400
"""What says more, with no word that objects, is data or a task."""
_THINKS_ALOUD: Final = re.compile(
    START + r"(?:i (?:suspect|wonder|guess|suppose|think|assume)\b|maybe\b|perhaps\b|let'?s\b|we (?:need|should|"
    r"could)\b|what if\b|(?:can|could) (?:we|you|i)\b)|"
    r"\bi'?m (?:just )?wondering\b",
    re.I,
)
"""An idea, which the agent may like, too."""
_OFFERED: Final = re.compile(r"^\W*(?:can|could|would) (?:we|you)\b", re.I)
_TAG: Final = re.compile(r"[,.]? ?\b(?:right|no|ok(?:ay)?|correct|yeah|or is there|or not|isn'?t it|or)\s*\?+$", re.I)
"""What makes a question of an assertion only in form."""
_BLAMING: Final = re.compile(r"^you (?:just |even |also )?\w{3,}ed (?:my|the|this|that|it|our|all)\b", re.I)
"""An assertion, whatever mark it ends with."""
_ALWAYS_RULE: Final = re.compile(
    rf"{ALWAYS}|\bwe (?:always|never)\s+\w+|\bin (?:this|our) (?:repo(?:sitory)?|project|codebase|team)\b", re.I
)
_DURABLE: Final = re.compile(
    r"\bwe (?:only|prefer|use|don'?t|do not|should not|shouldn'?t|must not)\s+\w+|\b(?:as a rule|by default we)\b|"
    rf"{CLAUSE}(?:prefer|remember to)\s+\w+|{CLAUSE}(?:stop \w+ing \w+|avoid \w+ing\b)",
    re.I,
)
"""`stop talking` is about this moment, `stop adding comments` about all."""
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
_CONSULTS: Final = re.compile(
    r"[,;]\s*(?:what do you think|wdyt|(?:any )?(?:thoughts|ideas?|opinions?)\b.*|is there (?:any|an?)\b.*|"
    r"(?:can|could) you (?:find|see|check|look|tell|explain|show|confirm)\b.*|do you (?:know|see)\b.*|"
    r"how (?:do|would|can) (?:i|we|you)\b.*)\W*$",
    re.I,
)
"""A statement that ends in asking for a view or a look, with or without a question mark."""
_ASKS_TO_MAKE: Final = re.compile(
    r"^(?:so |please )?(?:can|could|would|will) you (?:please )?(?:build|add|implement|make|write|create|do|set)\b",
    re.I,
)
"""What it asks for, the sentences around it describe."""
_ASKS_FACT: Final = re.compile(
    START + r"(?:(?:is|are) (?:it|this|that|these|those) (?:safe|ok|okay|fine|dangerous|reversible|destructive|slow)|"
    r"what (?:does|do|did|is|are|was|were|will|would)|how (?:do|does|did|long|many|much)|"
    r"when|who|where|which)\b[^.!]*\?+$",
    re.I,
)
"""A question that only wants to know; others, in refusing a call, doubt it."""
_DIALOGUES: Final = frozenset({"askuserquestion", "ask_user", "request_user_input"})


def find_corrections(conversation: Conversation) -> tuple[list[Correction], list[NoCorrection]]:
    """Every human message of the conversation is in one of the two lists, in order."""
    found: list[Correction] = []
    none: list[NoCorrection] = []
    seen: set[str] = set()
    admits = ever_concedes(conversation.steps)
    for index, step in enumerate(conversation.steps):
        if not isinstance(step, HumanStep):
            continue
        before = conversation.steps[max(0, index - LOOK_BACK) : index]
        after = conversation.steps[index + 1 : index + 1 + LOOK_AHEAD]
        if _goes_on(step, after):
            none.append(NoCorrection(step, "sent again at once, with more"))
            continue
        reason = _why_not(step, before, seen)
        seen.add(step.text.strip())
        if reason:
            none.append(NoCorrection(step, reason))
            continue
        signals = _signals(step, before, after, admits)
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
    own = without_quotations(own)
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
    return has_blame(first)


def _why_not_by_words(step: HumanStep, own: str, before: Sequence[Step]) -> str:
    if step.channel is Channel.REJECTION_REASON:
        refused = next((item for item in reversed(before) if isinstance(item, ToolStep)), None)
        if refused is not None and refused.outcome is Outcome.REJECTED and refused.tool_name.lower() in _DIALOGUES:
            return "a question of the agent was turned back"
        if all(_ASKS_FACT.match(sentence) for sentence in sentences(own)) and not _OBJECTING.search(own):
            return "a question"
        if _HOLD_ON.match(own):
            return "the person's own doing or change of mind"
        return "tells the agent to go on" if _CARRY_ON.match(own) and len(own) < 60 and not _MANNER.search(own) else ""
    for pattern, reason in (
        (_PLAN, "an accepted plan"),
        (_PRAISE, "praise or assent"),
        (_WORKS_NOW, "says that it works"),
        (_OWN_DOING, "the person's own doing or change of mind"),
        (_HOLD_ON, "the person's own doing or change of mind"),
        (_PERMISSION, "a permission"),
        (_ASSESS, "asks for an assessment"),
        (_NO_NO, "a polite no"),
    ):
        if pattern.search(own):
            return reason
    if _CARRY_ON.match(own) and len(own) < 40 and not _MANNER.search(own):
        return "tells the agent to go on"
    if _OBJECTING.search(own) or asks_why(own):
        return ""
    if all(_is_question(sentence) for sentence in sentences(own)):
        return "a question"
    return "a request" if _REQUEST.match(own) and not step.is_interruption and not _DURABLE.search(own) else ""


def _is_question(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) and _TAG.search(sentence) and not _QUESTION.match(sentence):
        return False
    if _BLAMING.match(sentence):
        return False
    if _CONSULTS.search(sentence):
        return True
    return sentence.rstrip().endswith(("?", "？")) or (
        bool(_QUESTION.match(sentence)) and not sentence.endswith((".", "!"))
    )


def _goes_on(step: HumanStep, after: Sequence[Step]) -> bool:
    """Whether the person stopped the agent at once to send the same again with more behind it."""
    text, following = step.text.strip(), after[0] if after else None
    return isinstance(following, HumanStep) and following.text.strip() != text and following.text.startswith(text)


def _signals(step: HumanStep, before: Sequence[Step], after: Sequence[Step], admits: bool) -> tuple[str, ...]:
    """What speaks for a correction, wire signals first; () when nothing does, or when it may as well be a report and
    the agent, of those that admit things (`admits`), took it for one."""
    said, is_conceded = _said(step, before), concedes(after)
    if not said:
        return (CONCEDED,) if is_conceded and _may_be_conceded(step, before) else ()
    return () if is_conceded is False and not _stands_alone(step, said, before, admits) else said


def _stands_alone(step: HumanStep, said: tuple[str, ...], before: Sequence[Step], admits: bool) -> bool:
    """Whether it objects so plainly that it does even where the agent did not say so."""
    if step.channel is Channel.REJECTION_REASON or is_durable(prose(step.text)):
        return True
    is_symptom = tells_a_symptom(step.text)
    if INTERRUPTED in said:
        return len(said) > 1 or not is_symptom
    if len(prose(step.text)) > MAX_POINT_CHARS and not AT_LENGTH.intersection(said):
        return False
    if not admits:
        return True
    weak = DESCRIBING | (COMPARING if is_symptom or _answers_question(before) else frozenset())
    return not weak.issuperset(said)


def _may_be_conceded(step: HumanStep, before: Sequence[Step]) -> bool:
    """Whether a message states something that the agent can have had wrong: no answer, question, report or wish."""
    parts = sentences(without_quotations(prose(step.text)))
    return (
        not _answers_question(before)
        and len(prose(step.text)) <= MAX_STATEMENT_CHARS
        and not any(_is_question(part) or _THINKS_ALOUD.search(part) for part in parts)
    )


def _said(step: HumanStep, before: Sequence[Step]) -> tuple[str, ...]:
    parts = sentences(without_quotations(prose(step.text)))
    own = "\n".join(part for part in parts if not _is_question(part))
    if step.channel is Channel.REJECTION_REASON:
        return ("refused a tool call with a reason", *_words(own, False))
    is_answer = _answers_question(before)
    said = _words(own, is_answer, any(_ASKS_TO_MAKE.match(part) for part in parts))
    if any(_is_question(part) and asks_why(part) for part in parts):
        said = (*said, FOREIGN)
    if (
        not said
        and not (is_answer or step.is_interruption)
        and len(own.splitlines()) == len(parts)
        and states_how_it_is(parts)
    ):
        said = (STATES,)
    if _OBJECTING.search("\n".join(parts)) and not (is_answer and _OFFERED.match(parts[0])):
        said = (*said, "asks why not otherwise")
    if (
        step.is_interruption
        and len(own.split()) >= 4
        and not _CARRY_ON.match(own)
        and not _NEXT_TASK.match(own)
        and len(parts) == own.count("\n") + 1
        and (said or (len(parts) <= MAX_STATEMENTS and len(own) <= MAX_STATEMENT_CHARS))
    ):
        return (INTERRUPTED, *said)
    return said


def _words(own: str, is_answer: bool, is_asked_for: bool = False) -> tuple[str, ...]:
    found = triggers_in(own, is_answer, is_asked_for)
    return (*found, FOREIGN) if says_no(own) and not is_answer else found


def _answers_question(before: Sequence[Step]) -> bool:
    """Whether the last thing the agent did was to ask."""
    last = before[-1] if before else None
    return isinstance(last, AgentStep) and "?" in last.text.rstrip()[-240:]

"""Words by which a person objects, in English: each kind of objection with its forms.

They are looked for only in what passed the filters of `corrections` (no question, no paste, no praise). Two things
weaken a kind: as an answer to the agent's own question it may only decline an offer, and in a new task it may only
describe what is wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

START: Final = r"^(?:(?:ok|okay|so|well|hmm+|hm|um|but|and|hey|dude|omfg|omg|wait|please|pls)[,.!:\s]+)*"
"""What people say before they say something."""
CLAUSE: Final = r"(?:^|[,.;:!?()\-\n]\s*|\b(?:please|pls|plase|we|you|and|but|so|just|also)\s+)"
ALWAYS: Final = (
    rf"{CLAUSE}(?:always|never)\s+(?!happen|been|seen|mind\b)\w+|\b(?:should|must) (?:always|never)\s+(?!happen)\w+|"
    r"\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b,|\bevery time you\b"
)
"""A standing rule."""
REVIEW: Final = "a review says"
"""The kind of what reviewers write, which people paste: right, and about the code at hand."""
_NOT_IF: Final = r"(?<!if )(?<!when )(?<!once )(?<!after )(?<!did )(?<!do )(?<!does )(?<!what )"


@dataclass(frozen=True, slots=True)
class Trigger:
    """One kind of objection."""

    name: str
    pattern: re.Pattern[str]
    holds: bool
    """It still objects when it answers a question of the agent."""
    in_tasks: bool
    """It still objects in a message that sets a new task."""


def _trigger(name: str, *forms: str, holds: bool = True, in_tasks: bool = True) -> Trigger:
    return Trigger(name, re.compile("|".join(forms), re.I), holds, in_tasks)


TRIGGERS: Final = (
    _trigger(
        "contradicts",
        r"(?<!why )(?<!say )\b(?:that|this|it|which)\S{0,3}(?:'?s| is| was)? not (?:even |really |at all )?"
        r"(?!working|loading|showing|clear|sure|urgent|possible|needed)\w+",
        r"\b(?:is|are|was|were) (?:not (?:correct|right|true)|incorrect|wrong)\b",
        r"\bnot (?:what|how|where) (?:i|we|it|this|that)\b",
        r"n'?t (?:quite |exactly |really )?(?:what|how|where|right|correct|true|the (?:case|point|same|way|issue))\b",
        r"\bnot quite\b",
        r"\bsays? otherwise\b",
        r"\b(?:is|are) not (?:here|there|on the|in the|part of|an?|the|available|installed|supported|allowed|used)\b",
        r"\b(?:is|are|it'?s|they'?re) (?:stale|outdated|obsolete|deprecated|generated|out of date)\b",
    ),
    _trigger(
        "contrasts",
        r"\b(?:is|are|it'?s|at|in|to|for|on|with|use|the|be) [\w`'./-]+, not (?:the |a |an |in |at |to )?"
        r"[\w`'./-]+\s*(?:[.!;,]|$)",
        r",\s+not\s+(?!sure|yet|that i|now|really|necessarily|working)\w+",
        r"\bbelongs? (?:in|to|under|into)\b",
        r"\bchange (?:in|of) plans?\b",
        r"\bgo back to\b",
        r"\bput (?:it|that|this|them) back\b",
        r"\broll (?:it |that |this )?back\b",
        in_tasks=False,
    ),
    _trigger("meant", r"\bi (?:mean|meant)\b", r"\bwhat i (?:said|asked|wanted)\b"),
    _trigger(
        "blames",
        r"\byou(?:'ve| have)? (?:missed|forgot|forgotten|broke|ignored|misunderstood|misread|fucked|messed|"
        r"(?:have |had )?(?:old|wrong|outdated)|should(?:n'?t)? (?:not )?have|were (?:not )?supposed|keep \w+ing)\b",
        rf"{_NOT_IF}\byou(?:'ve| have)? (?:also |just |again |now |still )?"
        r"(?:didn'?t|did not|haven'?t|have not|removed|deleted|dropped|skipped|lost|left out|overwrote|invented|"
        r"hallucinated|made (?:it|that|this) up|should not|shouldn'?t|are not supposed|weren'?t supposed|"
        r"don'?t need|do not need|need not)\b",
        r"(?:^|[,.;:!?()\-\n]\s*|\b(?:but|and|so|because|since|think|like|see) )you (?:only|used|changed|put|renamed|"
        r"moved|hard-?coded|duplicated|copied|replaced|assumed|mixed|introduced|touched|modified|committed|pushed|"
        r"guessed|added)\b",
        r"\byou(?: are|'re| were) (?:supposed|(?:not |still |just |now )?(?!going|doing|working|running)\w+ing)\b",
    ),
    _trigger(
        "repeats",
        r"\b(?:i told you|as i said|like i said|how many times|i already (?:said|told)|i asked (?:you|for)|i said)\b",
        r"^again[,:]",
    ),
    _trigger(
        "says how it should be",
        r"\b(?:this|that|it|these|those|they|which|there) (?:should|must|shall|may|can)(?: not|n'?t|not)\b",
        r"\b(?:should|must) (?:probably|also|rather|actually|instead|only|just|at least)\b(?! (?:i|we)\b)",
        r"\b(?:is|are|'s|was|were) (?:not )?supposed to\b",
        r"\b(?:the|a|an|our|its|your|each|every|all|both|these|those) (?:[\w`./-]+ ){1,4}should (?!i\b|we\b|work|pass|"
        r"now|be (?:fine|ok|okay|good|done|ready|able))\w+",
        r"\b\w+s? (?:should not|shouldn'?t|must not|mustn'?t) (?!work)\w+",
        r"^should be\b",
        r"\b(?:tests?|names?|files?|code|value|output|messages?|errors?|functions?|everything|all) should be\b",
        in_tasks=False,
    ),
    _trigger("standing rule", ALWAYS, rf"{CLAUSE}(?:remember to|prefer)\b"),
    _trigger(
        "wrong",
        r"^\W*(?:wrong|incorrect)\b",
        r"\b(?:the|a|an|this|that|looks|seems|got|has|had|used|using) (?:totally |completely )?(?:wrong|incorrect)\b",
        r"\b(?:inaccurate|misleading|mistaken|misread|misunderst\w+)\b",
    ),
    _trigger(
        "too much",
        r"\b(?:too|overly) (?!when|if|for|and|please|as|in|on|but|so|with|like|i|we|you|it|now|or|then|because|"
        r"since|by|at|to)[a-z]{3,}\b",
        r"\b(?:overkill|over-?engineer\w*|over-?complicat\w*|unnecessar\w+|redundant|superfluous|pointless|hacky|"
        r"a hack|meaningless|nonsense)\b",
        r"\b(?:makes? no|doesn'?t make|does not make) (?:any )?sense\b",
        r"\b(?:not (?:\w+ )?|different )enough\b",
    ),
    _trigger(
        "not asked for",
        r"\bi (?:did not|didn'?t|never) (?:ask|say|said|mean|want|tell)\b",
        r"\b(?:i|we) (?:do not|don'?t|dont) want\b",
        r"\bi (?:would not|wouldn'?t|'d not) (?!be\b|mind\b|know\b)\w+",
        r"\bi (?:do not|don'?t|dont) think (?:that|this|it|we|you|the|these)\b",
        r"\bi (?:do not|don'?t) (?:see|get|understand) (?:why|how|the (?:point|need|benefit))\b",
        r"\bi want(?:ed)? you to (?:ask|stop|not|only|first|use|always|never|wait|read|look)\b",
        r"\bi wanted\b",
        r"\bno (?:longer|reason to)\b",
        in_tasks=False,
    ),
    _trigger(
        "falls short",
        r"\b(?:it|this|that|which|they|these|those|the [\w-]+) (?:still )?(?:does not|doesn'?t|do not|did not|didn'?t) "
        r"(?:even |really |actually |seem to )?(?!work|load|show|start|open|run|build|compile|render|appear|display|"
        r"respond|help|matter|seem|happen|pass|connect|mean|know|change)\w+",
        r"\bstill (?:reads?|looks?|says?|points?|uses?|has|have|refers?|mentions?|contains?|wrong|there|as if)\b",
        r"\b(?:does not|doesn'?t|don'?t) exist any ?more\b",
        in_tasks=False,
    ),
    _trigger(
        REVIEW,
        r"\b(?:critical|high|medium|low|minor|major) severity\b",
        r"^\W*(?:\d+[.)]\s*)?\W{0,2}(?:critical|high|medium|low|major|minor|nit)\)?\W{0,2}[:)]\s",
        r"\bconsider (?:adding|using|moving|extracting|renaming|removing|replacing|making)\b",
        r"\black(?:s|ing) (?:\w+ ){0,3}(?:tests?|coverage|validation|handling|checks?)\b",
    ),
    _trigger(
        "expected otherwise",
        r"\bi(?: would|'d) (?:have )?expect(?:ed)?\b|\bi expected\b",
        r"\bregression\b|\b(?:it|this|that|they) used to\b",
        r"\b(?:is|are|was|were) (?:confusing|swapped|reversed|inverted|duplicated|unreadable|ugly|off by)\b",
        r"\b(?:this|that|it) duplicates\b",
        in_tasks=False,
    ),
    _trigger(
        "asks for care",
        r"\bmake sure (?:you|to|not|it|that you)\b|\bask (?:me )?(?:first|before)\b",
        rf"{START}(?:leave out|leave off|drop|restore|bring back|put back)\b",
        r"\b(?:was|were) (?:fine|better|correct|right)(?: before)?\b",
        r"\b(?:tests?|names?|files?|code|it|this|that|they|everything) needs? to\b",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "restores", r"\b(?:like|as|what|how) (?:it|we|they|that|this|i) (?:was|were|had|did)(?: it)?(?: like)? before\b"
    ),
    _trigger(
        "follow it",
        r"\b(?:follow|stick to|respect|adhere to|match|reuse|re-use|use) (?:\w+ ){0,3}(?:patterns?|conventions?|"
        r"styles?|guidelines?|existing|naming)\b",
        in_tasks=False,
    ),
    _trigger(
        "obliges",
        rf"{_NOT_IF}\byou (?:should|need|have to|must|ought to|can'?t|cannot|(?:can|could) (?:just|simply))\b"
        r"(?! (?:now )?(?:be able|see|have|find|get|know)\b)",
        in_tasks=False,
    ),
    _trigger(
        "instead",
        r"\b(?:instead|rather than)\b",
        r"\bi(?:'d| would)? (?:rather|prefer)\b",
        r"\bbetter to \w+",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "already there",
        r"\bthere(?:'s| is| are) already\b",
        r"\bwe already have\b",
        r"\b(?:that|this|it) already (?:does|has|exists)\b",
        r"\b(?:framework|library|package|helper|function|class) already\b",
        in_tasks=False,
    ),
    _trigger(
        "warns",
        r"\b(?:that|this|it|which|and|would|will) (?:would|will|could|might|can) (?:break|lose|delete|overwrite|leak|"
        r"conflict|block|corrupt)\w*\b",
    ),
    _trigger(
        "not needed",
        r"\b(?:no need (?:to|for)|not (?:needed|necessary|required))\b",
        r"\b(?:we|it|that|this) (?:do(?:es)? not|don'?t|doesn'?t) need\b",
        holds=False,
        in_tasks=False,
    ),
    _trigger("let's not", r"\blet'?s not\b", r"\blet us not\b", holds=False),
    _trigger(
        "just so",
        rf"{START}(?:just (?:use|call|keep|return|pass|do)|only|"
        r"use(?! (?:the )?(?:first|second|third|last|former|latter|option|approach|\d|[a-d]\b)))\b",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "forbids",
        rf"{CLAUSE}(?:do not|don'?t|dont|never|stop|avoid|shouldn'?t|should not|must not)\s+"
        r"(?!know|think|see|understand|mind|care|remember|worry|have\b|need|get|we\b|you\b)\w+",
        holds=False,
    ),
    _trigger(
        "negates",
        rf"{START}(?:(?:actually|ah|oh|uh|mm+)[,\s]+)*"
        r"(?:no|nope|nah|not (?:that|this|there|like|the|what|how|in|on|yet))\b(?!\s*\?)",
        holds=False,
    ),
    _trigger(
        "our way",
        r"(?<!if )\bwe (?:use|always|never|usually|only|prefer|don'?t|do not|should ?n[o']t|must not)\b",
        r"\bwe'?re (?:using|not)\b",
        r"\bstick (?:to|with)\b",
        holds=False,
    ),
    _trigger(
        "dislikes",
        r"\b(?:not sure (?:i|about)|i don'?t|i do not|don'?t really) (?:really )?like\b",
        r"\bkill this\b",
        r"\b(?:undo|revert) (?:that|this|your)\b",
        r"\bi (?:undid|reverted) your\b",
        r"\bnot sure (?:if|that|whether|about) [^.?!\n]{0,60}\b(?:is|are|makes?) (?:a |the |an )?(?:good|right|best|"
        r"meanin\w*|sense|clear|needed|necessary|correct)\b",
        r"\bsucks?\b",
    ),
    _trigger(
        "demands",
        r"\b(?:must|has to|have to|needs to|supposed to) (?:stop|stay|keep|not|be (?:in|a|the|kept))\b",
        r"\bshould (?:stay|remain|still)\b",
        r"\b(?:errors?|it|this|that|they) must \w+",
        r"\b(?:leave|keep) (?:it|that|this|them|the)\b",
        holds=False,
        in_tasks=False,
    ),
    _trigger("halts", r"^(?:wait|stop|hold on|hang ?on|let'?s pause|pause)\b", holds=False),
)

_NEW_TASK: Final = re.compile(
    START + r"(?:now )?(?:write|create|implement|build|add|set up|open|generate|draft|make an?|design)\b", re.I
)
_FIRST: Final = re.compile(r"\A[^.!;\n]*[.!;\n]?\s*")


def triggers_in(own: str, is_answer: bool) -> tuple[str, ...]:
    """Names of what a person's statements object by, questions left out. What would only decline an offer of the agent
    counts in an answer from the second sentence on."""
    rest = _FIRST.sub("", own, count=1) if is_answer else own
    is_task = bool(_NEW_TASK.match(own))
    return tuple(
        trigger.name
        for trigger in TRIGGERS
        if (trigger.in_tasks or not is_task) and trigger.pattern.search(own if trigger.holds else rest)
    )


def has_blame(own: str) -> bool:
    """Whether it objects whatever was asked before."""
    return any(trigger.holds and trigger.pattern.search(own) for trigger in TRIGGERS)

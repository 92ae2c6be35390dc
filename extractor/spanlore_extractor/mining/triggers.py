"""Words by which a person objects, in English: each kind of objection with its forms.

They are looked for only in what passed the filters of `corrections` (no question, no paste, no praise). Two things
weaken a kind: as an answer to the agent's own question it may only decline an offer, and in a new task it may only
describe what is wanted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

START: Final = (
    r"^(?:(?:ok|okay|so|well|hm+|um+|uh+|ah+|oh|ugh+|argh+|sigh|meh|lol|but|and|hey|dude|bro|man|omfg|omg|wait|"
    r"please|pls|"
    r"plz|kindly|btw|fyi|"
    r"ps|note|reminder)[,.!:\s]+)*"
)
"""What people say before they say something."""
CLAUSE: Final = (
    r"(?:^|[,.;:!?()\-\n]\s*|\b(?:please|pls|plz|plase|kindly|btw|and|but|so|just|also)\s+|"
    r"(?<!so )(?<!that )(?<!if )(?<!when )\b(?:we|you)\s+)"
)
ALWAYS: Final = (
    rf"{CLAUSE}(?:always|never)\s+(?!happen|been|seen|mind\b)\w+|\b(?:should|must) (?:always|never)\s+(?!happen)\w+|"
    r"(?:^|[.;:!?,]\s+|\n\s*|\b(?:and|but|so|just|please|should|must|you|we) )"
    r"always (?:run|use|do|make|put|write|add|check|call|ask|keep|"
    r"prefer|"
    r"update)\b|\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b,|\bevery time you\b"
)
"""A standing rule."""
CONTRASTS: Final = "contrasts"
DESCRIBING: Final = frozenset(
    {
        "says how it should be",
        "thinks otherwise",
        "falls short",
        "expected otherwise",
        "too much",
        "judges",
        "the ground",
        "demands",
        "wrong",
        "states how it is",
    }
)
"""Kinds by which people also report bugs, tune what they see and plan: alone they tell only that something is, or is
to be, so."""
COMPARING: Final = frozenset({"instead", "contrasts", "contradicts", "not needed", "our way", "this way", "just so"})
"""Kinds that set one thing against another, as one also does in telling a symptom or in choosing what was offered."""
REVIEW: Final = "a review says"
"""The kind of what reviewers write, which people paste: right, and about the code at hand."""
AT_LENGTH: Final = frozenset({REVIEW, "cites", "standing rule"})
"""Kinds that hold in a long message as well."""
_NOT_IF: Final = r"(?<!if )(?<!when )(?<!once )(?<!after )(?<!did )(?<!do )(?<!does )(?<!what )"


_DEGREE: Final = r"(?:just|also|again|only|now|still|even|already|completely|totally|simply|accidentally)"
_NO_BLAME: Final = (
    r"need\w*|indeed|said|mentioned|suggested|proposed|recommended|listed|described|succeed\w*|wanted|asked"
)
"""What somebody did who did nothing wrong, or no past tense at all."""
_IRREGULAR: Final = (
    r"broke|forgot|left|made|put|wrote|took|did|went|ran|kept|lost|built|misread|chose|hid|overwrote|undid|"
    r"threw|cut|split|mixed|hit|gave|sent|set"
)


_VERY: Final = r"(?:(?:a|an|so|too|very|way|just|really|kind of|kinda|pretty|quite|rather|still|all|bit|completely) )*"
_BAD: Final = (
    r"(?:cheating|ugly|hack\w*|workaround|dangerous|risky|brittle|fragile|wasteful|silly|stupid|dumb|terrible|awful|"
    r"horrible|overkill|misleading|inconsistent|incomplete|insecure|unsafe|messy|noisy|verbose|huge|redundant|useless|"
    r"unreadable|inefficient|nonsense|cramped|tautolog\w+|unacceptable|unrelated|wrong|off|backwards|band-?aid)\b"
)
"""What people call work that they do not want so."""
_NEW_THING: Final = (
    r"(?:write|create|implement|build|add(?! (?:it|this|that|them|these|those)\b)|set up|open|generate|draft|make an?|"
    r"design|develop|scaffold|prepare|rename|"
    r"refactor)\b"
)
_TASK_VERB: Final = (
    r"(?:re)?(?:view|run|do|try|check|fix|add|write|create|build|open|show|list|explain|find|look|tell|make|update|"
    r"deploy|commit|push|merge|test|start|stop|start|install|move|rename|remove|delete|implement|refactor|document|"
    r"describe|summari[sz]e|help|give|send|read|search|clean|format|lint|bump|publish|release|sync|pull|rebase|"
    r"continue|"
    r"proceed|hold|wait|one moment|investigate|analy[sz]e|debug|verify|double-?check|generate|change|revert|undo|use|"
    r"let|"
    r"can|could|what|why|how|when|where|who|and|also|so|now|then)"
)


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
        r"(?<!why )(?<!say )(?<!if )\b(?:that|this|it|which)\S{0,3}(?:'?s| is| was)? not (?:even |really |at all )?"
        r"(?!working|loading|showing|clear|sure|urgent|possible|needed)\w+",
        r"^\W*(?:wrong|incorrect)\b",
        r"\b(?:is|are|was|were) (?:not (?:correct|right|true)|incorrect|wrong)\b",
        r"\bnot (?:what|how|where) (?:i|we|it|this|that)\b",
        r"n'?t (?:quite |exactly |really )?(?:what|how|where|right|correct|true|the (?:case|point|same|way|issue))\b",
        r"\bnot quite\b",
        r"\bsays? otherwise\b",
        r"\b(?:is|are) not (?:here|there|on the|in the|part of|an?|the|available|installed|supported|allowed|used)\b",
        r"\b(?:is|are|it'?s|they'?re|that'?s|this'?s|thats|its) (?:all |just |now |already )?(?:stale|outdated|"
        r"obsolete|"
        r"deprecated|(?:auto-?|machine-?)?generated|out of date|legacy|dead code|unused|unmaintained|vendored|"
        r"read-?only|"
        r"frozen)\b",
        r"\b(?:does not|doesn'?t|don'?t) work (?:like that|like this|that way)\b",
        r"\bgets? overwritten\b",
    ),
    _trigger(
        CONTRASTS,
        r"\b(?:is|are|it'?s|at|in|to|for|on|with|use|the|be) [\w`'./-]+, not (?:the |a |an |in |at |to )?"
        r"[\w`'./-]+\s*(?:[.!;,]|$)",
        r",\s+not\s+(?!sure|yet|that i|now|really|necessarily|working)\w+(?![^.!;\n]*\byet\b)",
        rf"{START}not (?:(?:an?|the) )?[\w`./-]+[.,;:] (?:(?:but|just|only) )?(?:(?:an?|the) )?[\w`./-]+[.!]*$",
        r"\b(?:the|an?) [\w-]+,? not (?:the|an?) [\w-]+",
        r"(?<![\w'`./-])(?!(?:is|are|was|were|be|been|do|does|did|has|have|had|can|could|will|would|should|must|may|"
        r"might|need|"
        r"why|if|or|and|but|maybe|probably|please|pls|certainly|sure|still|just|it's|that's|there's|i'm|we're|"
        r"you're|they're|am|so|then|also|of|because|to|its|thats|im|whether)\b)[\w`'./-]+ not "
        r"(?:(?:a|an|the|in|on|at|to) )?[\w`'./-]+\s*(?:[.!;,]|$)",
        r"\b(?:isn'?t|is not|aren'?t|its not|it'?s not) [^.!?;\n]{1,60}[.,;!\n]\s*(?:but |rather )?"
        r"(?:it'?s|its|they'?re|that'?s|use)\b",
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
        r"don'?t (?:need|have to)|do not (?:need|have to)|need not)\b",
        r"(?:^|[,.;:!?()\-\n]\s*|\b(?:but|and|so|because|since|think|like|see) )you (?:only|used|changed|put|renamed|"
        r"moved|hard-?coded|duplicated|copied|replaced|assumed|mixed|introduced|touched|modified|committed|pushed|"
        r"guessed|added)\b",
        rf"(?:^|[.;:!?()\-\n,]\s*|\b(?:but|and|so|because|since|think|like|see|also|ugh+|argh+|dude|hey) )(?:you|"
        rf"u)(?:'ve|"
        rf" have)?(?: {_DEGREE})? "
        rf"(?!(?:{_NO_BLAME})\b)(?:\w{{2,}}ed|{_IRREGULAR})\b",
        rf"(?:^|[.;:!?()\-\n,]\s*|\b(?:but|and|so|because|also) )(?:you|u)(?: {_DEGREE})? "
        r"(?:didnt|havent|dont|missed|forgot|misunderstand|overcomplicat\w+)\b",
        r"\byou said you(?:'d| would|'ll)\b",
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
        r"\b(?:this|that|it|these|those|they|he|she) (?:should|must|has to|have to|needs to|need to) "
        r"(?!now\b|work\b|be (?:fine|ok|okay|good|done|ready|able|working|enough|there)\b|i\b|we\b|show\b|(?:never |"
        r"not )?happen\b)\w+",
        rf"{START}(?:should|must|has to|have to|needs to|shouldn'?t|mustn'?t) (?:be |not |also |never |only )?"
        r"(?!i\b|we\b|you\b|it\b|this\b|that\b|the\b|there\b|they\b)\w+",
        r"\b(?:should|must) (?:probably|also|rather|actually|instead|only|just|at least)\b(?! (?:i|we)\b)",
        r"\b(?:is|are|'s|was|were) (?:not )?supposed to\b",
        r"\b(?:the|a|an|our|its|your|each|every|all|both|these|those) (?:[\w`./-]+ ){1,4}should (?!i\b|we\b|work|pass|"
        r"now|be (?:fine|ok|okay|good|done|ready|able))\w+",
        r"\b\w+s? (?:should not|shouldn'?t|must not|mustn'?t) (?!work)\w+",
        r"^should be\b",
        r"^(?!(?:i|we|you|they|maybe|perhaps|if|when|what|why|how|where|who|which|users?|customers?|next|now|then|and|"
        r"also)\b)[\w`-]+(?: [\w`-]+)? should (?!i\b|we\b|work|pass|now|be (?:fine|ok|okay|good|done|ready|able))\w+",
        r"\b(?:tests?|names?|files?|code|value|output|messages?|errors?|functions?|everything|all) should be\b",
        in_tasks=False,
    ),
    _trigger("standing rule", ALWAYS, rf"{CLAUSE}(?:remember to|prefer)\b", rf"{CLAUSE}next time\b"),
    _trigger(
        "wrong",
        r"\bis (?:\w+ )?wrong\b",
        r"\b(?:the|a|an|this|that|looks|seems|got|has|had|used|using) (?:totally |completely )?(?:wrong|incorrect)\b",
        r"\b(?:inaccurate|misleading|mistaken|misread|misunderst\w+)\b",
    ),
    _trigger(
        "too much",
        r"(?<!not )\b(?:too|overly) (?!much work|when|if|for|and|please|as|in|on|but|so|with|like|i|we|you|it|now|or|"
        r"then|because|"
        r"since|by|at|to)[a-z]{3,}\b",
        r"\b(?:overkill|over-?engineer\w*|over-?complicat\w*|unnecessar\w+|redundant|superfluous|pointless|hacky|"
        r"a hack|meaningless|nonsense)\b",
        r"\b(?:makes? no|doesn'?t make|does not make) (?:any )?sense\b",
        r"\b(?:not (?:\w+ )?|different )enough\b",
        r"\bwould (?:be enough|be plenty|suffice)\b",
    ),
    _trigger(
        "judges",
        rf"\b(?:that|this|it|which|thats|its)(?:'s| is| looks| feels| seems| reads| was)? {_VERY}"
        rf"(?:not (?:good|nice|ideal|great|acceptable|consistent|readable|idiomatic)\b|{_BAD})",
        rf"\b(?:the|your|this|these|those|that) (?:\w+ ){{1,2}}(?:is|are|looks?|feels?|reads?|was|were) {_VERY}{_BAD}",
        in_tasks=False,
    ),
    _trigger(
        "not asked for",
        r"\bi (?:did not|didn'?t|never) (?:ask(?:ed)?|say|said|mean|want(?:ed)?|tell|told)\b",
        r"\b(?:i|we) (?:do not|don'?t|dont) want\b",
        r"\bi (?:would not|wouldn'?t|'d not) (?!be\b|mind\b|know\b)\w+",
        r"^\W*enough (?:with|of)\b",
        r"[,;.:]\s+no (?!problem|worries|rush|idea|issue|thanks|need|matter|doubt|hurry|more|one|longer)"
        r"[a-z]+(?: (?!is\b|are\b|was\b|were\b)[a-z]+){0,2}[.!]*$",
        r"\bi (?:do not|don'?t) (?:see|get|understand) (?:why|how|the (?:point|need|benefit))\b",
        r"\bi want(?:ed)? you to (?:ask|stop|not|only|first|use|always|never|wait|read|look)\b",
        r"\bi only (?:asked|wanted|want|need|needed|meant|said)\b",
        r"\b(?:nobody|no ?one) (?:asked|wants|wanted|needs|uses)\b",
        r"\bno reason to\b",
        in_tasks=False,
    ),
    _trigger(
        "thinks otherwise",
        r"\bi (?:do not|don'?t|dont) think (?:that|this|it|we|you|the|these)\b",
        r"\bi think (?:the|this (?!one)|you|these|that(?:'s(?! it\b)| is| was| should| would)|it'?s (?:cleaner|"
        r"better|easier|simpler|safer|nicer|too|more|not))\b",
        r"\bi'?m not (?:a fan|convinced|happy|sure (?:about|that|this|the))\b",
        r"\bi wanted\b",
        r"(?<!whether )(?<!if )\bwe (?:want|need|expect|require|rely on) (?:it|this|that|them|these|those|"
        r"the)\b(?! (?:following|same)\b)",
        r"\bi (?:want|need|expect) (?:it|this|that|them|these|those) (?:to|in|on|as|at|back|the other)\b",
        r"\bno longer\b",
        in_tasks=False,
    ),
    _trigger(
        "falls short",
        r"\b(?:it|this|that|which|they|these|those|the (?:[\w-]+ )?(?:tests?|code|functions?|methods?|class|types?|"
        r"schema|query|regex|script|helper|handler|fix|change|patch|implementation|version|commit|migration|parser|"
        r"check|assertion|mock|fixture|diff|summary|plan|config|api|library|package|docs?|comment|name|message|"
        r"linter|compiler|framework|readme|spec|file|module)) (?:still )?(?:does not|doesn'?t|do not|did not|didn'?t) "
        r"(?:even |really |actually |seem to )?(?!work|load|show|start|open|run|build|compile|render|appear|display|"
        r"respond|help|matter|seem|happen|pass|connect|mean|know|change|do anything)\w+"
        r"(?![^.!?\n]*\b(?:when|after|if|once) (?:i|you|the user|users?)\b)",
        r"\bstill (?:reads?|looks?|says?|points?|uses?|has|have|refers?|mentions?|contains?|wrong|there|as if)\b",
        r"\b(?:does not|doesn'?t|don'?t|do not|didn'?t) exist\b",
        r"\b(?:the|that|this|your|it|which|\w+s) (?:\w+ )?(?:proves?|tests?|checks?|does|adds?|asserts?|"
        r"verif(?:y|ies)|covers?|solves?|fix(?:es)?) nothing\b",
        r"\bthere(?:'s|s| is| are) no (?:such )?(?!output|error|log|response|sound|data|difference|problem|issue|rush|"
        r"need|"
        r"hurry|way|reason|results?|change|more|longer|other|one|entry|entries)\w+",
        r"\b(?:was|were|got|is|are) (?:removed|renamed|dropped|replaced|moved) (?:in|to|by|with|since|from)\b",
        r"\b(?:this|that) breaks\b",
        r"^\W*(?:almost|nearly|so close|close)[,.;!]",
        r"\b(?:it|this|that|function|method|code|tests?|script|class|api|button) not (?:return|use|show|have|do|need|"
        r"take|"
        r"handle|respect|call|follow)\b",
        r"\bdoesn'?t (?:test|check|validate|verify|prove|cover|solve|address|fix|match|follow|belong)\b",
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
        r"\b(?:it|this|that|they) (?:was|were|worked)\b.{0,30}\b(?:before|until) (?:you|your)\b",
        r"\bregression\b|\b(?:it|this|that|they) used to\b",
        r"\b(?:is|are|was|were) (?:confusing|swapped|reversed|inverted|duplicated|unreadable|ugly|off by)\b",
        r"\b(?:this|that|it) duplicates\b",
        in_tasks=False,
    ),
    _trigger(
        "asks for care",
        r"\bmake sure (?:you|to|not|it|that you)\b|\bask (?:me )?(?:first|before)\b",
        rf"{START}(?:leave out|leave off|drop(?! (?:the )?(?:table|database|column|branch|index)\b)|restore|"
        rf"bring back|put back)\b",
        r"(?<!you )\b(?:was|were) (?:fine|better|correct|right)(?: before)?\b",
        r"\b(?:tests?|names?|files?|code|it|this|that|they|everything) needs? to\b(?! be done\b)",
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
        r"\bwe already (?:have|got)\b|\bwe(?:'ve got|'ve| have| got) [^.!?\n]{1,40}\balready\b",
        r"\b(?:that|this|it) already (?:does|has|exists)\b",
        r"\b(?:framework|library|package|helper|function|class) already\b",
        in_tasks=False,
    ),
    _trigger(
        "warns",
        r"\b(?:(?:that|this|it|which|and|would|will)|(?:that|this) \w+) (?:would|will|could|might|can) (?:break|"
        r"lose|delete|"
        r"overwrite|leak|conflict|block|corrupt|lock|wipe|drop)\w*\b",
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
        rf"{CLAUSE}(?:do not|don'?t|dont|never|stop(?= \w+ing\b)|avoid|shouldn'?t|should not|must not)\s+"
        r"(?!know|think|see|understand|mind|care|remember|forget|worry|bother|have\b|need|get|we\b|you\b)\w+",
        holds=False,
    ),
    _trigger(
        "negates",
        rf"{START}(?:(?:actually|ah|oh|uh|mm+)[,\s]+)*"
        r"(?:no+|nope|nah|not (?:that|this|there|like|the|what|how|in|on|yet))\b(?!\s*\?)",
        holds=False,
    ),
    _trigger(
        "our way",
        r"(?<!if )(?<!so )(?<!so that )\bwe (?!(?:don'?t|do not) have (?:\w+ )?(?:access|time|budget|capacity|"
        r"credentials)\b)"
        r"(?:use|always|never|usually|only|prefer|don'?t|do not|should ?n[o']t|"
        r"must not)\b",
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
        r"(?<!let's )(?<!lets )(?<!let us )\b(?:leave|keep) (?:it|that|this|them|the)\b(?! at that\b)",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "undoes",
        rf"{START}(?:undo|revert|roll ?back)(?: (?:it|that|this|these|those|them|all|"
        r"all of (?:it|that|this|them|those)|everything|your\b.*|"
        r"(?:the )?(?:\w+ )?(?:changes?|edits?)\b.*))?\s*(?:please|pls)?[.!]*$",
        rf"{START}(?:put|bring|get|give) .{{1,40}} back\b",
        rf"{START}\w+ (?:it|that|this|them|these) back\b",
        rf"{START}(?:answer|respond|reply|speak|talk) in \w+",
        rf"{START}\w+ (?:[^.!?\n]{{1,60}}\b)?before (?:you )?(?:commit|push|merg|edit|chang|install|delet)\w*",
        rf"{START}skip the \w+",
        r"\bthough[.!]*$",
        rf"{START}still (?:not|the same|wrong|no) (?!working|loading|clear|sure)\w+",
        rf"{START}restore (?:the )?(?:original|old|previous|earlier)\b",
        rf"{START}(?:remove|delete|drop|get rid of|kill|take out|strip|lose) (?:that|this|those|these|your|all (?:that|"
        r"those|these|the))\b",
        rf"{START}(?:remove|delete|drop|get rid of|take out) [^.!?\n]{{1,50}}[,.;:-] ?(?:we|i|it|nobody|no one|that|"
        rf"this|"
        r"they|there)\b",
        in_tasks=False,
    ),
    _trigger(
        "but",
        rf"{START}(?:good|great|nice|better|perfect|cool|works|it works|looks? (?:good|great|nice|ok|okay|fine|better)|"
        r"lgtm|thats better|that'?s better|almost|close|yes|yeah|ok|okay|fine|thanks|thx)\b[^.!?\n]{0,30}[,.;]? ?"
        r"\b(?:but|except|however|although|though)\b(?! (?:can|could|would|will|what|how|why|is|are|do|does|first|now|"
        r"then)\b)"
        r" \w+",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "this way",
        rf"{START}(?:just )?(?:run|do|make|call|name|put|use|write|implement|import|place|store|build|start|render|"
        rf"load|pass|"
        r"type|execute|install|test|try|format|print|return|wrap|keep) (?:it|that|this|them|these|those) "
        r"(?:in|inside|into|from|with|via|without|through|as|on|under|using|a|an|properly|correctly|again without|"
        r"the (?:other|same|right))\b(?! (?:a )?(?:new )?(?:branch|pr|pull request|commit message)\b)",
        rf"{START}(?:without|nothing else(?! (?:for|to|left|today|now)\b)|other way|the other way|the opposite|"
        rf"(?:only|just) (?:the )?\w+, )",
        rf"{START}(?:less|fewer|shorter|simpler|smaller|bigger|larger) \w+(?: \w+){{0,3}}[.!]*$",
        rf"{START}(?:(?:much|way|a bit|even) )?(?:less|fewer|shorter|simpler|smaller|bigger|larger|cleaner|briefer)"
        r",?(?: (?:please|pls|plz))?[.!]*$",
        rf"{START}(?:(?:the|in the|an?) )?other (?!than\b|thing|question|task|topic)[\w./-]+,?"
        r"(?: (?:please|pls))?[.!]*$",
        rf"{START}(?:the )?(?:same|more like)\b[^.!?\n]{{0,40}}\b(?:rest|others?|existing|surrounding|neighbou?ring)\b",
        rf"\A(?!(?:yes|yep|ok|sure|both|all|go|no|thanks|next|more|again|{_TASK_VERB})\b)(?:[\w'`-]+ ){{2,4}}"
        r"(?:please|pls)\b(?:, everywhere)?[.!]*\Z",
        r"\b(?:\w+ )?first,? (?:then|and then)\b.{1,60}\bnot\b",
        rf"{START}(?:look|see|check) (?:at )?how (?:the |we |other |others |it |they )",
        rf"{START}read (?:the )?[\w./-]+ before\b|\bbefore (?:editing|changing|touching|writing|running|guessing)\b",
        r"\b(?:one|a single) (?:commit|pr|test|file|class|function) per \w+",
        r"\bdo (?:it|that|this) (?:properly|in|via|with|the)\b",
        holds=False,
        in_tasks=False,
    ),
    _trigger(
        "cites",
        r"\b(?:docs?|documentation|spec|specification|readme|guide|guidelines?|style ?guide|rfc|manual|[A-Z]+\.md|"
        r"instructions|contract|schema) (?:clearly |explicitly |also )?(?:says?|states?|requires?|specif\w+|forbids?|"
        r"tells? you)\b",
        rf"{START}(?:according to|as per|per (?:the|our)) ",
        r"\bit says (?:to|that|not|never|you)\b",
        in_tasks=False,
    ),
    _trigger(
        "the ground",
        r"\bin (?:this|our) (?:repo\w*|project|code ?base|team|company|package|app) (?:we|the|all|every|tests?|it|"
        r"there)\b",
        r"\bwe (?:target|support|deploy to|run on|build for)\b",
        r"\bwe(?:'re| are|re) (?:on|still on|at|stuck on|pinned to|not on) [\w.-]+",
        r"\bthis (?:project|repo\w*|code ?base|package|app|service|file|module|folder) (?:only |still |"
        r"already )?(?:uses?|has|doesn'?t|"
        r"does not|"
        r"requires?|needs?|targets?|supports?)\b",
        r"\bit'?s a (?:monorepo|workspace|submodule|symlink|worktree|fork)\b",
        r"\b(?:lives?|live) (?:in|at|under)\b",
        in_tasks=False,
    ),
    _trigger(
        "halts",
        r"^(?:wait|stop|hold on|hang ?on|let'?s pause|pause)\b(?![,. ]+(?:one|another|a) (?:more )?(?:thing|sec|second|"
        r"moment))(?! (?:the|my|our|all|both|for|until|till|a|an)\b)",
        holds=False,
    ),
)

_NEW_TASK: Final = re.compile(
    START + rf"(?:now |next[,:]? |also |please |let'?s )*(?:{_NEW_THING}|(?<=next )(?:up|is|the)\b|we need (?:a|an|"
    rf"to (?:add|build|create))|"
    r"i (?:need|want|would like|'d like) (?:a|an|to (?:add|build|create|implement|write|make|have|understand|know))|"
    r"here(?:'s| is| are) (?:the|a|my|our) |plan:|(?:use )?ultrathink|fix\b)|"
    r"\bi (?:want|need|'d like|would like) to (?:add|build|create|implement|write)\b",
    re.I,
)
_DESCRIBES: Final = re.compile(
    r"[^.!;\n]*\b(?:should|must|shall|has to|have to|needs to|it|they|which)\b[^.!;\n]*[.!;\n]?", re.I
)
"""A sentence that describes what is to be made, or how it is to behave."""
_CONCEDES: Final = re.compile(
    r"\W*(?:(?:yes|yep|ok|okay|sure|no|fine)\b[^.!?\n]{0,20}?\b(?:but|except)|(?:no|nope),? and)\s+", re.I
)
"""What follows is more than the answer."""
MAX_CHOICE_WORDS: Final = 4
"""An answer this short that says "A, not B" chooses between what was offered."""
_FIRST: Final = re.compile(r"\A[^.!;\n]*[.!;\n]?\s*")


def triggers_in(own: str, is_answer: bool, is_asked_for: bool = False) -> tuple[str, ...]:
    """Names of what a person's statements object by, questions left out. What would only decline an offer of the agent
    counts in an answer from the second sentence on. `is_asked_for`: a question beside them asks to make what they tell.
    """
    is_task = is_asked_for or bool(_NEW_TASK.search(own))
    if is_task:
        own = _DESCRIBES.sub("", own)
    rest = own
    if is_answer:
        conceded = _CONCEDES.match(own)
        rest = own[conceded.end() :] if conceded else _FIRST.sub("", own, count=1)
    is_choice = is_answer and len(own.split()) <= MAX_CHOICE_WORDS
    return tuple(
        trigger.name
        for trigger in TRIGGERS
        if (trigger.in_tasks or not is_task)
        and not (is_choice and trigger.name == CONTRASTS)
        and trigger.pattern.search(own if trigger.holds else rest)
    )


def has_blame(own: str) -> bool:
    """Whether it objects whatever was asked before."""
    return any(trigger.holds and trigger.pattern.search(own) for trigger in TRIGGERS)

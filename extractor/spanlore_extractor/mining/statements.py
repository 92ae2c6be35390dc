"""What a person says flatly about the work, after the agent reported: "errors go to stderr", "the id must stay stable".

No word in such a sentence objects; that it is said then does. So what other statements are like is what is known here:
tasks, symptoms ("the page is blank"), assent, and what people tell of themselves. Only a message that has nothing of
those states how things are to be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

STATES: Final = "states how it is"
MIN_WORDS: Final = 4
MAX_CHARS: Final = 400
"""A longer message explains, and has words of its own by which it is recognised."""

_LEAD: Final = (
    r"^\W*(?:(?:hm+|well|oh|no|right|so|but|and|also|ok|okay|btw|fyi|um|ah|actually|dude|hey|please|"
    r"pls)[,.:!]*\s+)*"
)
_IMPERATIVE: Final = (
    r"(?:re)?(?:add|create|write|implement|build|make|run|do|try|check|fix|open|show|list|explain|find|look|tell|"
    r"update|"
    r"deploy|commit|push|merge|test|start|stop|install|move|rename|remove|delete|refactor|document|describe|draft|"
    r"summari[sz]e|help|give|send|read|search|clean|format|lint|bump|publish|release|sync|pull|base|continue|proceed|"
    r"investigate|analy[sz]e|debug|verify|double-?check|generate|change|vert|undo|use|let|let's|lets|keep|put|set|get|"
    r"go|take|see|review|resolve|close|tag|squash|split|finish|think|plan|compare|port|migrate|convert|bring|wait|hold|"
    r"ship|ask|call|rewrite|redo|retry|resume|figure|improve|extend|support|handle|replace|wrap|extract|inline|log|"
    r"print|ensure|make sure|highlight|adjust|apply|enable|disable)"
)
_NO_SUBJECT: Final = (
    rf"(?:{_IMPERATIVE}|i|i'm|im|i've|ive|i'll|i'd|my|me|what|whats|what's|why|how|where|when|who|which|is|are|was|"
    rf"were|"
    r"does|did|can|could|would|will|should|shall|may|might|if|once|after|while|until|as|because|since|though|although|"
    r"yes|yep|yeah|yup|sure|thanks|thank|thx|great|good|perfect|nice|cool|awesome|excellent|lgtm|works|done|sorry|hi|"
    r"hello|here|here's|heres|maybe|perhaps|option|now|next|then|first|same|just|only|not|never|don't|dont|another|"
    r"looks|sounds|seems|makes|got|interesting|wow|haha|damn|finally|exactly|correct|agreed|back)"
)
_VERB: Final = (
    r"(?:is|are|isn'?t|aren'?t|was|were|wasn'?t|has|have|had|hasn'?t|haven'?t|needs?|must|should|shouldn'?t|can'?t|"
    r"cannot|can|may|won'?t|will|would|doesn'?t|don'?t|does|go|goes|lives?|belongs?|comes?|returns?|uses?|means?|"
    r"creates?|"
    r"runs?|requires?|expects?|depends?|handles?|takes?|gets?|stays?|matters?|exists?|supports?|contains?|loses?|"
    r"throws?|prints?|writes?|reads?|calls?|starts?|ends?|makes?|points?|refers?|covers?|says?|keeps?|knows?|wants?|"
    r"allows?|shows?|sits?|inherits?|extends?|implements?|holds?|stores?|sends?|assumes?|ignores?|swallows?|leaks?)"
)
_SUBJECT: Final = re.compile(
    rf"{_LEAD}(?:we (?:\w+ )?(?!need\b|want\b|should\b|could\b|can\b|will\b|are going\b|were\b)[a-z']+\b|"
    rf"(?:it'?s|that'?s|this'?s|they'?re|there'?s)\b|"
    rf"(?!(?:{_NO_SUBJECT}|we|you|you're|youre|you've|u)\b)(?:[\w`'\"./@#<>()-]+ ){{1,6}}?{_VERB}\b|"
    r"[a-z]+ [a-z]+: (?!\S*\n))",
    re.I,
)
_SYMPTOM: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|broken|crash\w*|hang(?:s|ing)?|hung|blank|laggy|slow(?:er|ly)?|stuck|fr[eo]ez\w*|"
    r"red|green|errors? (?:out|in|on|when|is|are)|(?:an|the|this|that|same|new|following) errors?|exceptions?|bugs?|"
    r"nothing happens|timed? ?out|warnings?|down|denied|gone|flak[ey]\w*|unresponsive|not (?:working|loading|showing)|"
    r"(?:do|does|did)(?:n'?t| not) (?:work|load|show|start|open|respond|render|compile|build|update|run|appear)|"
    r"works?|working|worked|passe[sd]|passing|my (?:machine|laptop|phone|browser|screen)|on (?:ci|prod|production)|"
    r"in (?:ci|prod|production)|safari|firefox|chrome|webkit|"
    r"when i|after i|if i|user[s']? (?:complain|report)\w*|"
    r"printed this|off by (?:one|\d+)|(?:never|not) (?:shown|called|sent|saved|displayed|triggered|rendered|updated)|"
    r"we (?:lose|miss|get|see)|do(?:n'?t| not) match|(?:when|after|once|whenever|every time) (?:the|a|an|we|they|it|"
    r"you)|"
    r"console|[45]\d\d|outage|deployed|merged)\b",
    re.I,
)
"""Of a report that something goes wrong, or right: what people tell so that it is looked into."""
_CODE: Final = re.compile(
    r"`[^`]+`|\b\w+_\w+\b|(?-i:\b[a-z]+[A-Z]\w+)|\b\w+\(\)|(?<!\w)--?[a-z][\w-]+|(?<!\w)[\w.-]*/[\w./-]+|"
    r"\b\w+\.[a-z]{1,5}\b|"
    r"\b(?:columns?|tables?|fields?|files?|folder|director(?:y|ies)|configs?|configuration|schemas?|types?|functions?|"
    r"methods?|class(?:es)?|modules?|repo(?:sitory)?|monorepo|packages?|librar(?:y|ies)|dependenc(?:y|ies)|tests?|"
    r"fixtures?|interfaces?|apis?|endpoints?|templates?|charts?|migrations?|versions?|constants?|enums?|arguments?|"
    r"parameters?|params?|ids?|keys?|paths?|variables?|names?|code|logic|docs|comments?|imports?|exports?|strings?|"
    r"ints?|"
    r"null(?:able)?|none|async|sync|utc|parsers?|helpers?|handlers?|services?|layers?|scripts?|lint(?:er|ers)?|"
    r"conventions?|styles?|indent\w*|tabs|spaces|lockfile|dates?|timestamps?|times?|errors?|exceptions?|logs?|flags?|"
    r"options?|defaults?|values?|env|secrets?|tokens?|ports?|queue|cache|index(?:es)?|query|queries|commits?|messages?|"
    r"changelog|regex\w*|arrays?|lists?|dicts?|maps?|objects?|instances?|wrappers?|client|server|sdk|cli|binary|"
    r"generated|node|python|rust|java|go|postgres|sqlite|redis|docker|locale|texts?|translations?|ui|base|public|"
    r"private|internal|deprecated|legacy|args?|contract|pattern|loop|line|branch|main|master|suite|mocks?|stubs?|"
    r"rows?|hooks?|urls?|makefile|races?|workspaces?|"
    r"windows|linux|macos)\b",
    re.I,
)
"""What people speak of when they speak of how the work is done, not of how the product behaves. Asked for, since what
people report of a product has no end of words: without it the half of what was taken for a statement was a symptom."""
_ASSENT: Final = re.compile(
    r"\b(?:thanks|thank you|thx|fine|makes sense|got it|you'?re right|you were right|good (?:catch|point|idea|job)|"
    r"agreed|perfect|great|awesome|nice|understood|i see|explains it|culprit|no problem|all good|up to you|"
    r"good enough|interesting|funny|impressive|fast now)\b",
    re.I,
)
_TASK: Final = re.compile(
    rf"{_LEAD}(?:{_IMPERATIVE}|(?:do not|don'?t) forget|i (?:want|need|would like|'d like)|we (?:need|should|could|"
    rf"want)|let'?s|can|could)\b",
    re.I,
)
_THEN: Final = re.compile(
    rf"[,;]\s+(?:so |then |please |now |and |just )*(?!use\b|keep\b|let\b|see\b){_IMPERATIVE} \w", re.I
)
"""News, and what is to be done now that it is so."""
_ASIDE: Final = re.compile(
    r"\b(?:i|we)(?:'ll|'m going| will| have to| had to| need to| want to| am|'m| just|'ve| already| might)\b|"
    r"\bhere (?:is|are)\b|^\W*(?:also|btw|fyi)\b|\bactually\b(?!,? (?:the|it'?s|that|this|our)\b)|\b(?:while|days?|"
    r"hours?|weeks?) (?:ago|back)\b|"
    r"[,;]\s*(?:so |and |then )*let'?s\b|\b(?:asks?|wonders?) (?:whether|if|for|why|how)\b|\bfor (?:your|my) info|"
    r"\b(?:we(?:'ve)?|they(?:'ve)?) (?:have )?(?:decided|agreed|dropped)\b|^\W*(?:new |another )?"
    r"(?:requirement|request|idea|plan|news|question)s?\b|\b(?:product|marketing|design|legal|qa|sales|support|"
    r"management|"
    r"(?:my|the|our|other) (?:\w+ )?(?:team|boss|manager|customers?|client|users?|designer)) (?:wants?|needs?|asks?|"
    r"asked|"
    r"would like|expects?)\b|\bi promise\b|\bcolleague\b|\bcustomer\b|\bclient wrote\b|\b(?:said|wrote|asked):",
    re.I,
)


def tells_a_symptom(text: str) -> bool:
    """Whether a text tells that something goes wrong, or right, as reports of a product do."""
    return bool(_SYMPTOM.search(text))


def states_how_it_is(parts: Sequence[str]) -> bool:
    """Whether sentences, none of them a question, only state how things are or are to be."""
    text = " ".join(parts)
    if not parts or len(text.split()) < MIN_WORDS or len(text) > MAX_CHARS:
        return False
    if (
        "?" in text
        or text.startswith(("@", "/"))
        or _SYMPTOM.search(text)
        or _ASSENT.search(text)
        or _ASIDE.search(text)
    ):
        return False
    if not _SUBJECT.match(parts[0]) or not _CODE.search(text):
        return False
    return not any(_TASK.match(part) or _THEN.search(part) for part in parts)

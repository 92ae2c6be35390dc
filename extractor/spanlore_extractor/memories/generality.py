"""Whether a lesson says something to another session, and which of a person's sentences say it.

Most of what people say to an agent is about the matter at hand: a question, "that's not it", "again", this branch. Such
words are right and still useless a day later, so what is kept is only the sentences that state something: a rule, or a
fact about something that is named. The same for what was mined from failures: a temporary branch, a path of one machine
or a command too long to be shown teaches nobody.
"""

from __future__ import annotations

import re
from typing import Final

from spanlore.memory.memory import Kind, Source
from spanlore.memory.shapes import plain
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.hygiene import sentences
from spanlore_extractor.mining.shell import program_of, take_apart

_STRONG: Final = re.compile(
    r"\b(?:never(?!\W*$)|always(?!\W*$)|from now on|in future|every time|under no circumstances|(?:do not|don'?t) ever|"
    r"in general|as a rule)\b",
    re.I,
)
_DIRECTIVE: Final = re.compile(
    r"\b(?:do not|don'?t|dont|must(?:n'?t)?|should(?:n'?t)?|shall|prefer|avoid|instead of|rather than|only|make sure|"
    r"ensure|remember|has to|have to|needs? to|no longer|stop|won'?t|can'?t|cannot)\b"
    r"|\bwe (?:use|want|never|always|only|keep|do not|don'?t)\b|\bi (?:want|prefer|like|hate|expect)\b"
    r"|(?:^|[,;:.!]\s*|\b(?:please|pls|just|so|and|but|then)\s+)(?:use|prefer|avoid|keep|follow|stick|run|no)\s"
    r"|\b\S+,? not \S+|\b(?:is|are) (?:in|at|under|now|called|named)\b",
    re.I,
)
_WISH: Final = re.compile(
    r"\b(?:make sure|ensure|remember|needs? to|has to|have to|it would be|"
    r"should(?! (?:not|never|stick|use|keep(?! in mind)|follow|avoid|prefer|only)\b))\b",
    re.I,
)
"""What is as likely to be asked of the program being built as of the agent."""
_CONCRETE: Final = re.compile(
    r"`[^`]+`|\"[^\"]{2,40}\"|(?<!\w)--?[a-z][\w-]+|\b[\w-]+(?:/[\w.-]+)+|(?<!\w)\.{0,2}/[\w./-]+|"
    r"\b\w+\.(?:[a-z]{1,4})\b|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+|\b[a-z0-9]+_\w+|\b[a-z]+-[a-z][a-z-]*\b|"
    r"https?://\S+"
)
_QUESTION: Final = re.compile(
    r"\?|^\W*(?:(?:and|but|so|ok|well|hmm+|wait|q:)\W+)*(?:(?:is|are|was|were|do|does|did|can|could|would|will)"
    r"(?! not\b)|what|why|how|where|when|who|which|wondering|isn'?t|aren'?t|don'?t (?:we|you)|"
    r"should (?:we|i|it|this|that))\b",
    re.I,
)
_ABOUT_NOW: Final = re.compile(
    r"^\W*(?:(?:no|and|but|so|ok|okay|well|hmm+|also|oh|dude|wait|yeah|nah|again|sorry)[,.!:\s]+)*(?:that|this|it|these|"
    r"those|there|here|again|they|he|she|same|let'?s|looking at|looks like|seems?|i (?:mean|think|thought|tried|guess|"
    r"was|am|did|continued|should|can|will)|hang ?on|wait|stop for|you (?:are|were|did|have|just|fuck\w*|forgot|made)|"
    r"try|redo|undo|revert|delete|kill|read|open|look|check|go|continue|fix|add|create|implement|write)\b|\blet'?s\b"
    r"|\b(?:this|that|these|those) (?:one|branch|pr|mr|change|commit|line|lines|part|time|session|test|block|file|"
    r"function|issue|ticket|thing|exercise|fix|plan|task|step|point|place)\b"
    r"|\bthe (?:first|second|third|last|other|previous|next|above|former|latter) (?:\w+ )?(?:part|one|point|test|file|"
    r"case|line|approach|option|change|commit|step|section)\b|\b(?:above|below|right now|for now|for a second|as is|"
    r"just now|earlier|your (?:files|changes|context|edit|work|code|plan))\b|\b(?:remove|delete|kill|undo|revert|redo|"
    r"be|do|like|use|keep) (?:it|this|that|them|these|those)\b(?! \w+)|\bremove it\b|"
    r"\b(?:do not|don'?t) \w+ (?:it|this|that|them)\b(?! \w+)|\b(?:high|medium|low|critical) severity\b|"
    r"\b(?:this|that|it|them) (?:in|out|up|down|back|away|off)\b(?! \w+)|"
    r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|\b(?:option|approach|variant|alternative|proposal) (?:\d|[A-Da-d]\b)|"
    r"^\W*(?:if|when|once|instead of|rather than|still)\b|\bsomething like\b|\bstill (?:reads|looks|says|points)\b|"
    r"^\W*no [\w' -]{1,60}\b(?:found|available|specified|detected|reported)\b",
    re.I,
)
_LEADING: Final = re.compile(
    r"^\W*(?:(?:and|but|so|ok|okay|well|also|oh|dude|my dude|hey|hmm+|omfg|omg|ffs|please|pls)\b[,:!\s]+)+", re.I
)
_STOP: Final = frozenset({
    "a", "always", "an", "and", "are", "as", "at", "avoid", "be", "but", "by", "do", "does", "don't", "dont", "for",
    "from", "get", "go", "has", "have", "i", "if", "in", "is", "it", "its", "just", "like", "make", "me", "must",
    "my", "need", "never", "no", "not", "now", "of", "ok", "okay", "on", "only", "or", "our", "please", "pls", "prefer",
    "remember", "should", "so", "stop", "sure", "that", "the", "their", "then", "there", "these", "this", "those",
    "to", "up", "us", "use", "want", "was", "we", "well", "will", "with", "you", "your",
})  # fmt: skip
MIN_CONTENT_WORDS: Final = 2
_TAKING_FILES: Final = frozenset({"cat", "head", "tail", "less", "ls", "cd", "rm", "cp", "mv", "touch", "stat", "nl"})
MIN_SPACES: Final = 4
"""In the name of a file, from which on it is rather a text."""
MAX_CORE_CHARS: Final = 300
MAX_LOOSE_CHARS: Final = 200
"""Of what was not stated as a standing rule: longer ones are reviews and reports."""
_CONTRAST: Final = re.compile(r"\buse (?:\S+ ){1,8}?(?:not|no|instead of|rather than|over) \w", re.I)

_ONE_MACHINE: Final = re.compile(
    r"(?:^|[\s=:'\"(`])(?:/(?:Users|home|root|private|var/folders|mnt|workspaces?)/|[A-Z]:\\)"
)
_OUTSIDE: Final = re.compile(r"(?:^|[\s/'\"])\.\./")
_IDENTIFIER: Final = re.compile(r"(?=.{6,60}$)[A-Za-z_]\w*(?:[a-z0-9][A-Z]|\w_\w)\w*")
"""A name that somebody made up: two words in one."""
_TEST_FILE: Final = re.compile(r"(?:^|/)tests?/|_test\.\w+$|\.(?:test|spec)\.\w+$|(?:^|/)test_[^/]+$", re.I)
_ONE_TIME: Final = re.compile(
    r"\brm\s+-\w*[rf]|\bgit (?:add|stash|reset|checkout|restore|rebase|cherry-pick|"
    r"revert|read-tree|update-index|update-ref|gc|fsck|prune|repack|clean)\b"
)
_OWN_PROGRAM: Final = re.compile(r"\bposix_spawn\b|\bspawn \S+ E[A-Z]{3,}\b", re.I)
"""The agent's own program was replaced or moved while it ran: a matter of one machine and moment."""
_WORK: Final = frozenset(
    {"test_failure", "assertion", "lint", "type_error", "syntax_error", "format", "merge_conflict"}
)
"""Classes of failure that are about the code being written, not about how to work here."""
_SAYS_ITSELF: Final = re.compile(
    r"unknown skill|is a directory|no changes added|nothing to commit|ambiguous argument|already exists\b|"
    r"^\s*\[?[\w:.-]*\]?\s*(?:error|failed)[.!:]?\s*$|item n failed|working directory .* was deleted|--- fail",
    re.I,
)


def core_of(quote: str, is_standing: bool) -> str:
    """The sentences of a person's words that another session can use; '' when there are none. What was stated as a
    standing rule needs less to be taken for one than what was not."""
    kept = [part for part in sentences(quote) if _states(_LEADING.sub("", part), is_standing)]
    out = _LEADING.sub("", " ".join(" ".join(kept).split()))
    return out if len(out) <= (MAX_CORE_CHARS if is_standing else MAX_LOOSE_CHARS) else ""


def is_of_one_session(candidate: Candidate) -> str:
    """Why a lesson from a failure says nothing to another session, '' when it may."""
    shown = (candidate.worked, candidate.failed)
    if any(_ONE_MACHINE.search(part) for part in (*shown, candidate.value)) and candidate.kind is not Kind.TRAP:
        return "about a path of one machine"
    if candidate.kind is Kind.TRAP:
        return ""
    if candidate.source is Source.REPEATED_LOOKUP:
        if _TEST_FILE.search(candidate.value) and "test" not in candidate.subject.lower():
            return "a test that uses it is not where it is"
        is_name = _IDENTIFIER.fullmatch(candidate.subject) and not candidate.value.startswith("..")
        return "" if is_name else "no name of this repository was looked up"
    if any(map(_names_a_text, shown)) or (candidate.kind is Kind.LOCATION and candidate.value.count(" ") >= MIN_SPACES):
        return "the name of a file reads as a sentence"
    if candidate.kind is Kind.LOCATION and _OUTSIDE.search(candidate.worked):
        return "about a path outside of the repository"
    if candidate.kind is Kind.DEAD_END:
        return "a failure of code being worked on" if candidate.trigger.error_class in _WORK else ""
    if candidate.kind is Kind.HARNESS and _OWN_PROGRAM.search(candidate.error_line):
        return "the agent's own program was not there at that moment"
    if _SAYS_ITSELF.search(candidate.error_line):
        return "trivial: the failure says what is wrong, or nothing at all"
    done = candidate.worked if candidate.kind is Kind.ENVIRONMENT else candidate.failed
    if candidate.kind in (Kind.ENVIRONMENT, Kind.LOCATION, Kind.USAGE) and _ONE_TIME.search(done):
        return "what helped was for that once"
    return ""


def _names_a_text(command: str) -> bool:
    """Whether a command that takes files is given one with the words of a sentence."""
    given = [argv[1:] for argv in take_apart(command).commands if program_of(argv) in _TAKING_FILES]
    return any(word.count(" ") >= MIN_SPACES for words in given for word in words)


def _states(sentence: str, is_standing: bool) -> bool:
    if _QUESTION.search(sentence) or _ONE_MACHINE.search(sentence) or not re.search("[A-Za-z]{2}", plain(sentence)):
        return False
    names = bool(_CONCRETE.search(sentence))
    if _STRONG.search(sentence):
        return names or _content_words(sentence) >= 1
    is_about_now = bool(_ABOUT_NOW.search(sentence))
    if is_standing:
        says = bool(_DIRECTIVE.search(sentence)) or names
        needed = MIN_CONTENT_WORDS if _WISH.search(sentence) else 1
        return says and not is_about_now and (names or _content_words(sentence) >= needed)
    says = (bool(_DIRECTIVE.search(sentence)) and names) or bool(_CONTRAST.search(sentence))
    return says and not is_about_now and not _WISH.search(sentence)


def _content_words(sentence: str) -> int:
    words = re.findall(r"[\w'./~-]+", sentence.lower())
    return sum(word.strip("'.") not in _STOP and len(word) > 1 for word in words)

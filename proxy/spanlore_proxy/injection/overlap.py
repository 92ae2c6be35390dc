"""Whether a request already says what a memory would, or says the opposite.

The client's own instructions (CLAUDE.md, AGENTS.md, GEMINI.md, its native memory and skills, the user's prompt) come
first: they need no repetition, and where they contradict a memory, they win. Compared are words, with case and white
space evened out; nothing here judges meaning.

A memory counts as said when its text, or the user's words it was made of, stand anywhere in the system prompt or in the
messages before the first answer; or when the value it teaches (a command, a path) stands in the *project's* part of
them; or when its files make all claims of a person's rule (`claims`). The harness's own system prompt is full of
example commands, so a value found there says nothing.

A memory counts as contradicted when the project's part refuses what it recommends ("never use `npm`", for `npm test`
too), or orders what it refuses ("run `npm test`" where the memory says that this fails, or "pnpm, not npm"), or its
files give that as the command ("Tests: `npm test`"), or makes the opposite of what a person's rule claims. Only forms
with a verb of use count, so that "do not commit" speaks of no tool; what a person pastes of a failure orders nothing.
Verbs and negations are English, German, French, Spanish, Chinese and Japanese: files in other languages only repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from spanlore.memory.memory import Memory
from spanlore_proxy.injection.claims import NEGATIONS, Claim, claims_of, stand_of

MIN_QUOTE_CHARS: Final = 16
MAX_TEXT_CHARS: Final = 1_000_000
"""Of one text, so much is looked through: instruction files are shorter, and the request waits."""
MAX_STANCES: Final = 8192
"""Memories whose words are kept apart."""
MIN_VALUE_CHARS: Final = 8
"""Shorter values (`make`, `src`) stand in any text by chance."""

_PROJECT_MARK: Final = re.compile(
    r"Contents of \S+|Instructions from: |# claudeMd|# AGENTS\.md|Context from: |# Project Context|MEMORY\.md"
    r"|GEMINI\.md|QWEN\.md|<skills_instructions>|SKILL\.md"
)
"""Where a harness begins to quote the project's files (research: wire §4)."""

_CODE: Final = re.compile(r"`([^`\n]{2,400})`")
_USE: Final = (
    r"(?:use|using|run|running|call|calling|invoke|prefer|choose|start|starting"
    r"|nutze|benutze|verwende|utilise[rz]?|usa|uses?|usar|utiliza)"
)
_THING: Final = r"(?:`(?P<ticked>[^`\n]{2,80})`|(?P<word>[\w@][\w@./:+-]*\w))"
_FAILS: Final = re.compile(r"`([^`\n]{2,80})` (?:fails|failed|does not|doesn't|is not|was not|kept failing)")
_REFUSED: Final = re.compile(
    rf"(?i)(?:\b(?:never|not|don't|avoid)\s+{_USE}|\bavoid|\b(?:instead of|rather than)(?:\s+{_USE})?|,\s*(?:and )?not)"
    rf"\s+(?:the )?{_THING}"
)
_WANTED: Final = re.compile(rf"(?i)(?<!not )(?<!never )(?<!n't )\b{_USE}\s+(?:the )?{_THING}")
_REFUSING: Final = re.compile(r"never|not|don't|avoid|instead of|rather than|,\s*(?:and )?not")
_USING: Final = re.compile(r"us|run|call|invoke|prefer|choose|start|nutze|benutze|verwende|utili")
"""How the last two begin, in lower case: without a condition in front they are found ten times as fast."""
_NOT: Final = (
    r"(?:\b(?:never|not|don't|don’t|dont|cannot|can't|stop|no|avoid|instead of|rather than|no longer)\s+(?:ever\s+)?"
    r"|\b(?:nie|niemals|nicht|keine?[nmrs]?|ohne|statt|nunca|jamais|pas)\s+(?:de\s+|d'|mit\s+)?"
    r"|(?:不要|不得|禁止|别)(?:使用|用)\s*)"
)
_NEGATION: Final = re.compile(_NOT + r"(?:" + _USE + r"\s+)?(?:the\s+)?`?\Z")
_ORDER: Final = re.compile(r"(?<!not )(?<!never )(?<!n't )(?<!avoid )(?<!\bno )\b" + _USE + r"\s+(?:the\s+)?`?\Z")
"""Both end where the thing begins that is refused or ordered."""
_REFUSAL: Final = re.compile(
    r"(?:\b(?:never|not|no|don't|don’t|dont|cannot|can't|stop)\s+(?:ever\s+)?" + _USE + r"|\bavoid(?:\s+" + _USE + r")?"
    r"|\b(?:instead of|rather than|no longer)\s+" + _USE + r"|\b(?:there is|there's|we have|has|have) no"
    r"|" + _USE + r"\s+(?:nie|niemals|nicht|kein|pas|jamais|nunca)|\b(?:nie|niemals|kein|keine|statt|nunca|jamais)"
    r"|(?:不要|不得|禁止|别)(?:使用|用))\s*(?:the\s+)?`?\Z"
)
"""The same with a verb: for a program alone, and for those that are words of English themselves (`make`, `go`)."""
_DOUBT: Final = re.compile(r"(?:" + NEGATIONS + r"|\b(?:old|deprecated|no longer))\b[^.;]*\Z")
_ENDS: Final = re.compile(
    r"`|\s*(?:[.,;:!?)|。，、；は]|\Z)"
    r"|\s+(?:or|and|here|in|for|at|any ?more|directly|because|since|when|unless|on|as|to)\b"
    r"|\s+(?:oder|und|hier|ou|et|dans|ici|pour|aquí|verwenden|benutzen|nutzen)\b"
)
"""Behind a program: the command does not go on."""
_BANNED: Final = re.compile(
    r"`?\s+(?:is|are|ist|sind|est|está)\s+(?:not (?:allowed|used|supported|installed|available|permitted)|forbidden"
    r"|banned|prohibited|deprecated|disallowed|verboten|nicht (?:erlaubt|verfügbar|installiert)|interdite?|prohibido)\b"
    r"|`?\s*\|?\s*(?:❌|🚫|✗)|`?\s*[はを]?使(?:わない|用しない|わず)|`?\s*は?(?:使用)?禁止"
)
_BROKEN: Final = re.compile(
    r"`\s*(?:\([^)]*\)\s*)?(?:fails|failed|is (?:broken|deprecated|gone|not)|does(?:n't| not)|no longer)"
)
_ENGLISH: Final = frozenset({"make", "go", "just", "task", "run", "test", "start", "build", "do", "open", "find"})
MAX_HEAD_WORDS: Final = 3
MAX_BEFORE_CHARS: Final = 64
"""More than either can match in text whose white space is evened out."""
_MORE: Final = re.compile(r"[\w./-]*\w")
"""Behind a thing: it goes on, and so is another one."""


class Said:
    """What the client itself says in a request: its system prompt, and its messages before the first answer."""

    def __init__(self, system: Sequence[str], opening: Sequence[str]) -> None:
        system, opening = ([text[:MAX_TEXT_CHARS] for text in texts] for texts in (system, opening))
        project = [text[mark.start() :] for text in system if (mark := _PROJECT_MARK.search(text))]
        quoted = [text[mark.start() :] for text in opening if (mark := _PROJECT_MARK.search(text))]
        self._files = _Text([*project, *quoted])
        self._project = _Text([*project, *opening])
        self._all = _Text([*system, *opening])
        self._heads: dict[str, bool] = {}

    def says(self, memory: Memory) -> bool:
        """Whether the memory would only repeat it."""
        quotes = [memory.text, memory.why if memory.source.is_stated else ""]
        if any(len(quote) >= MIN_QUOTE_CHARS and self._all.holds(quote) for quote in quotes):
            return True
        form = _recommended(memory)
        if len(form) >= MIN_VALUE_CHARS and self._project.holds(form):
            return True
        return memory.source.is_stated and self._claims(memory) is True

    def contradicts(self, memory: Memory) -> bool:
        """Whether the project's files or the user's prompt say the opposite."""
        stance, text = _stance(memory.text, _recommended(memory)), self._project
        if memory.source.is_stated and (stand := self._claims(memory)) is not None:
            return not stand
        wanted, refused = stance.wanted, stance.refused
        is_spoken_of = any(map(text.has, stance.marks))
        if is_spoken_of:
            if any(text.matches(_negation(thing), thing) or text.bans(thing) for thing in wanted - refused):
                return True
            if any(text.matches(_ORDER, thing, without=wanted) for thing in refused - wanted):
                return True
            if any(map(text.holds, wanted)):
                return False
        if any(map(self._refuses, stance.heads)):
            return True
        return is_spoken_of and any(self._files.gives(thing) for thing in refused - wanted if wanted)

    def _claims(self, memory: Memory) -> bool | None:
        """Whether the files say what a person's rule claims; False: the opposite of some of it; None: neither."""
        stands = [self._files.stand_of(claim) for claim in claims_of(memory.why or memory.value)]
        if False in stands:
            return False
        return True if stands and None not in stands else None

    def _refuses(self, head: str) -> bool:
        """Whether a program is refused; asked once of each, since many memories are about the same few."""
        if head not in self._heads:
            text = self._project
            self._heads[head] = text.matches(_REFUSAL, head, is_head=True) or text.bans(head)
        return self._heads[head]

    def objection(self, memory: Memory) -> str:
        """Why the memory is not to be shown: contradicted, said, or '' for no reason."""
        if self.contradicts(memory):
            return "contradicted"
        return "said" if self.says(memory) else ""


def _recommended(memory: Memory) -> str:
    """The command or path that a memory says works, as its text has it last; '' for kinds that recommend none: a user
    who pastes a failure does not thereby say that it keeps coming back."""
    return _taught(memory.text, memory.value) if memory.kind.recommends else ""


@lru_cache(MAX_STANCES)
def _taught(text: str, value: str) -> str:
    parts = _CODE.findall(text)
    return parts[-1] if len(parts) > 1 and "…" not in parts[-1] else value


@lru_cache(2 * MAX_STANCES)
def _phrase(text: str) -> tuple[str, str]:
    """(its longest word, the whole with white space evened out), in lower case; '' twice for nothing."""
    words = text.casefold().split()
    return max(words, key=len, default=""), " ".join(words)


def _negation(thing: str) -> re.Pattern[str]:
    """What refuses a thing; of `make test` "don't make test slower" does not."""
    return _REFUSAL if thing.split(" ", 1)[0] in _ENGLISH else _NEGATION


def _heads(command: str) -> tuple[str, ...]:
    """What a command begins with, its program first: refusing that refuses the command."""
    words = [word for word in command.split() if "=" not in word]
    return tuple(" ".join(words[:count]) for count in range(1, min(len(words), MAX_HEAD_WORDS + 1)))


@dataclass(frozen=True, slots=True)
class _Stance:
    """What a memory stands for, in lower case."""

    wanted: frozenset[str]
    """What it recommends."""
    refused: frozenset[str]
    """What it says fails or is not to be used."""
    heads: frozenset[str]
    """What commands that it only recommends begin with."""
    marks: tuple[str, ...]
    """Of each thing the longest word: a text with none of them speaks of nothing but heads."""


@lru_cache(MAX_STANCES)
def _stance(text: str, value: str) -> _Stance:
    """Of a memory of that text. `value`: what it teaches."""
    refused = {found[1] for found in _FAILS.finditer(text)}
    refused |= {found["ticked"] or found["word"] for found in _finds(_REFUSED, _REFUSING, text)}
    wanted = {value} if value else set()
    wanted |= {
        found["ticked"] or found["word"]
        for found in _finds(_WANTED, _USING, text)
        if text.count("`", 0, found.start()) % 2 == 0  # `uv run pytest` recommends no pytest
    }
    wanted, refused = {thing.casefold() for thing in wanted}, {thing.casefold() for thing in refused}
    heads = {head for thing in wanted - refused for head in _heads(thing)} - refused
    marks = dict.fromkeys(_phrase(thing)[0] for thing in sorted(wanted | refused))
    return _Stance(frozenset(wanted), frozenset(refused), frozenset(heads), tuple(marks))


def _finds(pattern: re.Pattern[str], beginning: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, tried only where it can begin: most places of a text it would leave slowly."""
    lower = text.lower()
    if len(lower) != len(text):
        yield from pattern.finditer(text)
        return
    begun = beginning.search(lower)
    while begun:
        found = pattern.match(text, begun.start())
        if found:
            yield found
        begun = beginning.search(lower, found.end() if found else begun.start() + 1)


class _Text:
    """Text to look phrases up in. Most phrases are not there, and then their longest word mostly tells."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._known: dict[str, bool] = {}

    @cached_property
    def _raw(self) -> str:
        return "\n".join(self._texts).casefold()

    @cached_property
    def _even(self) -> str:
        return " ".join(self._raw.split())

    def has(self, word: str) -> bool:
        """Whether a word in lower case stands there, if only as a part. Looked for once: memories share their words."""
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = word in self._raw
        return found

    def holds(self, phrase: str) -> bool:
        """Whether the phrase stands there, but for case and white space."""
        longest, even = _phrase(phrase)
        return bool(longest) and self.has(longest) and even in self._even

    def matches(
        self, before: re.Pattern[str], thing: str, without: Iterable[str] = (), *, is_head: bool = False
    ) -> bool:
        """Whether the thing stands there right behind what the pattern says, but for where it is part of others. A head
        has to be all that is said of the command.

        Found as plain text first: a pattern made of each thing would cost a millisecond to compile.
        """
        longest, even = _phrase(thing)
        if not longest or not self.has(longest):
            return False
        text = self._even
        for other in without:
            text = text.replace(other, "\0")
        at = text.find(even)
        while at >= 0:
            end = at + len(even)
            goes_on = _MORE.match(text, end) or (is_head and not _ENDS.match(text, end))
            if not goes_on and before.search(text, max(at - MAX_BEFORE_CHARS, 0), at):
                return True
            at = text.find(even, at + 1)
        return False

    def stand_of(self, claim: Claim) -> bool | None:
        """See `claims.stand_of`."""
        return stand_of(claim, self._raw)

    def bans(self, thing: str) -> bool:
        """Whether it says that the thing is not allowed, not there, not used."""
        return any(_BANNED.match(text, end) for text, _, end in self._places(thing))

    def gives(self, command: str) -> bool:
        """Whether it gives the command as code: in back-ticks, or on a line of its own."""
        if command not in self._raw:
            return False
        if any(
            f"\n{mark}{command}{end}" in self._raw for mark in ("", "$ ", "    ", "  ") for end in ("\n", " #", "  ")
        ):
            return True
        if f"| {command} |" in self._raw or f": {command}\n" in f"{self._raw}\n":
            return True
        return any(
            text[start - 1 : start] == "`"
            and text[end : end + 1] == "`"
            and not _DOUBT.search(text, max(start - MAX_BEFORE_CHARS, 0), start)
            and not _BROKEN.match(text, end)
            for text, start, end in self._places(command)
        )

    def _places(self, thing: str) -> Iterator[tuple[str, int, int]]:
        """Where the thing stands by itself: (the text, start, end)."""
        longest, even = _phrase(thing)
        if not longest or not self.has(longest):
            return
        text = self._even
        at = text.find(even)
        while at >= 0:
            end = at + len(even)
            if not _MORE.match(text, end) and not text[max(at - 1, 0) : at].isalnum():
                yield text, at, end
            at = text.find(even, at + 1)

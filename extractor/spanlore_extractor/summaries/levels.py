"""The sessions of a repository in one text that stays within a number of tokens, however many they become. Pure, and
the same for the same sessions.

What is too much is told in fewer words, level by level: the oldest sessions first, those of the last week last. What a
person decided, what is pinned and what failed and was never put right is sacred: it stands word for word at each level.
A failure that a later session put right is open no more. What two sessions say alike is said once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import IntEnum
from typing import Final

from spanlore.memory.shapes import suspicious
from spanlore.recall.budget import count_tokens
from spanlore_extractor.memories.wording import clip
from spanlore_extractor.mining.summary import Summary

THRESHOLD_TOKENS: Final = 40_000
FRESH_NS: Final = 7 * 86_400 * 10**9
LEAN_FILES: Final = 3
GIST_GOAL_CHARS: Final = 80
GIST_RESOLVED: Final = 3
_HEAD_TOKENS: Final = 60
"""Of the text's own first lines."""


class Level(IntEnum):
    """How much of a session is told."""

    WHOLE = 0
    LEAN = 1
    """Three files; no praise, no questions, no last prompt."""
    GIST = 2
    """A shorter goal, three errors put right; no files, no next step."""
    FOLDED = 3
    """Only what is sacred, among that of the other folded sessions of its month."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that is told."""

    label: str
    text: str
    sessions: int = 1
    """That say so."""

    @property
    def is_sacred(self) -> bool:
        """Whether it stands at every level."""
        return self.label in ("decision", "open")

    def __str__(self) -> str:
        return f"- {self.label}: {self.text}" + (f" ({self.sessions} sessions)" if self.sessions > 1 else "")


@dataclass(frozen=True, slots=True)
class Entry:
    """A session, as it is told."""

    session_id: str
    day: str
    branch: str
    goal: str
    level: Level
    lines: tuple[Line, ...]

    @property
    def head(self) -> str:
        """Its first line."""
        return f"### {self.day} {self.branch} [{self.session_id[:8]}] {self.goal}".replace("  ", " ")


@dataclass(frozen=True, slots=True)
class Told:
    """A month in a model's words."""

    source: str
    """`source_of` the month when it was written."""
    text: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A month."""

    period: str
    entries: tuple[Entry, ...] = ()
    folded: int = 0
    """Sessions of which only `lines` are told."""
    lines: tuple[Line, ...] = ()
    told: str = ""
    """A model's words for all of it, instead."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What the sessions of a repository were about."""

    repository: str
    sessions: int
    tokens: int
    whole_tokens: int
    """Of all of it at the first level."""
    levels: Mapping[str, int]
    """Sessions at each level; those a model told are `told`."""
    pinned: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    """Oldest first."""
    withheld: int = 0
    """Lines with a suspicious shape, which are not told."""
    is_over: bool = False
    """What is sacred alone is more than the budget. Nothing of it is left out."""

    def text(self) -> str:
        """As people and agents read it, newest first."""
        is_whole = set(self.levels) <= {Level.WHOLE.name.lower()}
        tokens = f"{self.tokens:,} tokens" + ("" if is_whole else f" of {self.whole_tokens:,}")
        lines = [f"# {self.repository or 'unknown repository'}: {_several(self.sessions)}, {tokens}"]
        if self.is_over:
            lines.append("(What people decided and what is open are alone more than was asked for; all of it is here.)")
        if self.withheld:
            lines.append(f"({self.withheld} lines read as orders to an agent, and are left out.)")
        if self.pinned:
            lines += ["", "## Pinned", *(f"- {text}" for text in self.pinned)]
        for chapter in reversed(self.chapters):
            lines += ["", *_lines_of(chapter)]
        return "\n".join(lines)


@dataclass(slots=True)
class _Session:
    """On its way into the text."""

    summary: Summary
    settled: frozenset[str]
    level: Level = Level.WHOLE
    is_told: bool = False
    cost: int = field(init=False)

    def __post_init__(self) -> None:
        self.cost = _cost(_entry(self.summary, Level.WHOLE, self.settled))

    @property
    def period(self) -> str:
        return _day(self.summary)[:7]


def digest(
    summaries: Iterable[Summary],
    now_ns: int,
    budget_tokens: int = THRESHOLD_TOKENS,
    pinned: Sequence[str] = (),
    told: Mapping[str, Told] | None = None,
) -> Digest:
    """The sessions of one repository within the budget, `told` being the months that a model told, by period."""
    ordered = sorted(summaries, key=lambda one: (one.end_time_ns, one.session_id))
    sessions = [_Session(summary, open_no_more) for summary, open_no_more in _with_settled(ordered)]
    pins = tuple(dict.fromkeys(" ".join(text.split()) for text in pinned))
    frame = _HEAD_TOKENS + sum(count_tokens(f"- {text}") + 1 for text in pins)
    fitting = _Fitting(sessions, now_ns, budget_tokens, frame)
    whole = fitting.tokens
    fitting.fit(told or {})
    found = Digest(
        repository=ordered[-1].repository if ordered else "",
        sessions=len(sessions),
        tokens=0,
        whole_tokens=whole,
        levels=dict(Counter("told" if one.is_told else one.level.name.lower() for one in sessions)),
        pinned=pins,
        chapters=fitting.chapters(told or {}),
    )
    return _counted(_without_orders(found), budget_tokens)


def _counted(found: Digest, budget_tokens: int) -> Digest:
    """With its tokens, which stand in its first line and so count themselves."""
    body = sum(map(_month_cost, found.chapters)) + sum(count_tokens(f"- {text}") + 1 for text in found.pinned)
    found = replace(found, tokens=body, is_over=body > budget_tokens - _HEAD_TOKENS)
    for _ in range(3):
        head = replace(found, chapters=(), pinned=()).text()
        tokens = body + _text_tokens(head) + (_text_tokens("\n## Pinned") if found.pinned else 0)
        found = replace(found, tokens=tokens, is_over=tokens > budget_tokens)
    return found


def source_of(chapter: Chapter) -> str:
    """What names the lines a month was told from."""
    return hashlib.blake2b("\n".join(_lines_of(chapter)).encode(), digest_size=16).hexdigest()


def chapters_at(summaries: Iterable[Summary], level: Level) -> tuple[Chapter, ...]:
    """All months with their sessions at that level, oldest first."""
    ordered = sorted(summaries, key=lambda one: (one.end_time_ns, one.session_id))
    months: dict[str, list[Entry]] = {}
    for summary, settled in _with_settled(ordered):
        months.setdefault(_day(summary)[:7], []).append(_entry(summary, level, settled))
    return tuple(Chapter(period, tuple(entries)) for period, entries in sorted(months.items()))


def lines_of(chapter: Chapter) -> list[str]:
    """The month as it is told."""
    return _lines_of(chapter)


class _Fitting:
    """Tells sessions in fewer words until all of it fits."""

    def __init__(self, sessions: Sequence[_Session], now_ns: int, budget_tokens: int, frame_tokens: int) -> None:
        self._sessions = sessions
        self._budget = budget_tokens
        self._fresh_ns = now_ns - FRESH_NS
        self._said: set[str] = set()
        self._heads: set[str] = set()
        self.tokens = frame_tokens + sum(one.cost for one in sessions)
        self.tokens += sum(_month_tokens(period) for period in {one.period for one in sessions})

    def fit(self, told: Mapping[str, Told]) -> None:
        aged = [one for one in self._sessions if one.summary.end_time_ns < self._fresh_ns]
        fresh = [one for one in self._sessions if one.summary.end_time_ns >= self._fresh_ns]
        self._use_told(told, {one.period for one in fresh})
        for some in (aged, fresh):
            for level in (Level.LEAN, Level.GIST, Level.FOLDED):
                for one in some:
                    if self.tokens <= self._budget:
                        return
                    if not one.is_told:
                        self._raise(one, level)

    def _use_told(self, told: Mapping[str, Told], fresh: set[str]) -> None:
        if self.tokens <= self._budget or not told:
            return
        whole = {
            chapter.period: chapter for chapter in chapters_at((one.summary for one in self._sessions), Level.WHOLE)
        }
        for period, chapter in whole.items():
            given = told.get(period)
            if self.tokens <= self._budget or given is None or period in fresh or given.source != source_of(chapter):
                continue
            of_it = [one for one in self._sessions if one.period == period]
            self.tokens += _text_tokens(given.text) - sum(one.cost for one in of_it)
            for one in of_it:
                one.is_told = True

    def _raise(self, one: _Session, level: Level) -> None:
        entry = _entry(one.summary, level, one.settled)
        if level is Level.FOLDED:
            new = [line for line in entry.lines if _key(line) not in self._said]
            self._said.update(map(_key, new))
            # "(12 sessions)" behind a line, and the month's own line, are counted ahead.
            cost = sum(count_tokens(str(line)) + 6 for line in new)
            if one.period not in self._heads:
                self._heads.add(one.period)
                cost += 20
        else:
            cost = _cost(entry)
        self.tokens += cost - one.cost
        one.level, one.cost = level, cost

    def chapters(self, told: Mapping[str, Told]) -> tuple[Chapter, ...]:
        folded = [one for one in self._sessions if one.level is Level.FOLDED]
        said = Counter(
            key for one in folded for key in {_key(line) for line in _entry(one.summary, one.level, one.settled).lines}
        )
        months: dict[str, list[_Session]] = {}
        for one in self._sessions:
            months.setdefault(one.period, []).append(one)
        out, placed = [], set[str]()
        for period, of_it in sorted(months.items()):
            if of_it[0].is_told:
                out.append(Chapter(period, told=told[period].text))
                continue
            lines: list[Line] = []
            for one in of_it:
                if one.level is Level.FOLDED:
                    for line in _entry(one.summary, one.level, one.settled).lines:
                        if _key(line) not in placed:
                            placed.add(_key(line))
                            lines.append(replace(line, sessions=said[_key(line)]))
            entries = tuple(
                _entry(one.summary, one.level, one.settled) for one in of_it if one.level is not Level.FOLDED
            )
            out.append(Chapter(period, entries, sum(one.level is Level.FOLDED for one in of_it), tuple(lines)))
        return tuple(out)


def _with_settled(ordered: Sequence[Summary]) -> list[tuple[Summary, frozenset[str]]]:
    """Each session with the errors that a later one put right."""
    later: frozenset[str] = frozenset()
    out = []
    for summary in reversed(ordered):
        out.append((summary, later & {_flat(line) for line in summary.unresolved}))
        if summary.resolved:
            later |= {_flat(item.error) for item in summary.resolved}
    return out[::-1]


def _entry(summary: Summary, level: Level, settled: frozenset[str]) -> Entry:
    goal = summary.goal or "(nobody typed anything)"
    return Entry(
        summary.session_id,
        _day(summary),
        summary.branch,
        clip(goal, GIST_GOAL_CHARS) if level >= Level.GIST else goal,
        level,
        tuple(_told_at(summary, level, settled)),
    )


def _told_at(summary: Summary, level: Level, settled: frozenset[str]) -> Iterable[Line]:
    yield from (Line("decision", text) for text in summary.decisions)
    yield from (Line("open", text) for text in summary.unresolved if _flat(text) not in settled)
    if level is Level.FOLDED:
        return
    resolved = [Line("resolved", f"{item.error} -> {item.fix}") for item in summary.resolved]
    yield from resolved if level < Level.GIST else resolved[:GIST_RESOLVED]
    if level >= Level.GIST:
        return
    files = summary.files if level is Level.WHOLE else summary.files[:LEAN_FILES]
    more = len(summary.files) - len(files)
    if files:
        yield Line("files", ", ".join(files) + (f" and {more} more" if more else ""))
    if summary.suggested_next:
        yield Line("next", summary.suggested_next)
    if level is Level.WHOLE:
        yield from (Line("question", text) for text in summary.questions if text != summary.suggested_next)
        yield from (Line("confirmed", text) for text in summary.confirmed)
        if summary.task:
            yield Line("last asked", summary.task)


def _without_orders(found: Digest) -> Digest:
    """Without the lines that read as an order to whoever reads this."""
    withheld = 0
    chapters = []
    for chapter in found.chapters:
        entries = []
        for entry in chapter.entries:
            kept = tuple(line for line in entry.lines if not suspicious(line.text))
            goal = "(left out)" if suspicious(entry.goal) else entry.goal
            withheld += len(entry.lines) - len(kept) + (goal != entry.goal)
            entries.append(replace(entry, lines=kept, goal=goal))
        lines = tuple(line for line in chapter.lines if not suspicious(line.text))
        withheld += len(chapter.lines) - len(lines)
        chapters.append(replace(chapter, entries=tuple(entries), lines=lines))
    return replace(found, chapters=tuple(chapters), withheld=withheld)


def _lines_of(chapter: Chapter) -> list[str]:
    lines = [f"## {chapter.period}"]
    if chapter.told:
        return [*lines, *chapter.told.splitlines()]
    for entry in reversed(chapter.entries):
        lines += [entry.head, *map(str, entry.lines)]
    if chapter.folded:
        lines.append(f"### {_several(chapter.folded)}, of which is left what was decided and what is open")
        lines += map(str, chapter.lines)
    return lines


def _cost(entry: Entry) -> int:
    return _text_tokens("\n".join((entry.head, *map(str, entry.lines))))


def _text_tokens(text: str) -> int:
    return sum(count_tokens(line) + 1 for line in text.splitlines())


def _month_cost(chapter: Chapter) -> int:
    return 1 + sum(count_tokens(line) + 1 for line in _lines_of(chapter))


def _month_tokens(period: str) -> int:
    return count_tokens(f"## {period}") + 2


def _key(line: Line) -> str:
    return f"{line.label}: {_flat(line.text)}"


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _day(summary: Summary) -> str:
    return datetime.fromtimestamp(summary.end_time_ns / 1e9, UTC).strftime("%Y-%m-%d")


def _several(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"

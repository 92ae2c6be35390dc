"""A past month of a repository in a model's words, where a judge is configured and the lines of all sessions have
become too many. The lines stand wherever the model's text does not hold.

Within the judge's caps, pauses and poison list; what it costs stands in the ledger as phase `summary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spanlore.recall.budget import count_tokens
from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.answer import Answer, Cost, UnavailableError
from spanlore_extractor.judge.judging import OVERHEAD_TOKENS, Asked, entry_row
from spanlore_extractor.judge.spending import Caps, Spending
from spanlore_extractor.judge.verdict import WorthlessAnswerError
from spanlore_extractor.mining.summary import Summary
from spanlore_extractor.summaries.guard import fault_of
from spanlore_extractor.summaries.levels import Chapter, Level, Told, chapters_at, lines_of, source_of

TOOL: Final = "chapter"
MIN_TOKENS: Final = 2_000
"""A month with fewer is not worth a call."""
MAX_TOKENS: Final = 30_000
"""Of a month that is asked about; a longer one is asked about in fewer words, or not at all."""
SHARE: Final = 0.4
"""Of the month's tokens that the model's text may have, beside what is sacred."""
MAX_OUTPUT_TOKENS: Final = 8_000
MAX_CALLS: Final = 3
"""In one run."""


class Text(BaseModel):
    """What the model answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(max_length=60_000, description="The month in fewer words, as Markdown lines.")


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it."""

    spending: Spending
    rows: tuple[dict[str, Any], ...] = ()
    """For the collector: `store.summaries.ChapterRow`."""
    entries: tuple[dict[str, Any], ...] = ()
    """For the ledger."""


@dataclass(slots=True)
class Writer:
    """The model as a writer, for one run."""

    model: Asked
    prompt: str
    caps: Caps
    redactor: Redactor
    now_ns: int
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _entries: list[dict[str, Any]] = field(default_factory=list)

    def write(
        self, repository: str, summaries: Sequence[Summary], told: dict[str, Told], spending: Spending, this_month: str
    ) -> Written:
        """The past months of a repository that nobody told yet as they are, oldest first, at most `MAX_CALLS`."""
        spending = spending.on(self.now_ns)
        self._rows, self._entries = [], []
        for whole, asked in _to_tell(summaries, told, this_month):
            if len(self._entries) >= MAX_CALLS:
                break
            spending = self._tell(repository, whole, asked, spending)
        return Written(spending, tuple(self._rows), tuple(self._entries))

    def _tell(self, repository: str, whole: Chapter, asked: Chapter, spending: Spending) -> Spending:
        key = f"{whole.period} {source_of(whole)[:8]} {repository}"[:80]
        question, source, sacred = _question(repository, asked)
        limit = _limit(source, sacred)
        estimate = count_tokens(self.prompt) + count_tokens(question) + OVERHEAD_TOKENS + limit
        if reason := spending.why_not(key, "", estimate, self.caps, self.now_ns):
            self._note(key, f"not asked: {reason}")
            return spending
        cost: Cost | None = None
        try:
            answer = self.model.ask(self.prompt, question, tool=tool(), max_tokens=MAX_OUTPUT_TOKENS)
            cost = answer.cost
            spending = spending.spent("", cost.input_tokens + cost.output_tokens or estimate, cost.usd or 0.0)
            text = _read(answer)
            if fault := fault_of(text, source, sacred, limit, self.redactor):
                raise WorthlessAnswerError(fault)
        except UnavailableError as error:
            self._note(key, f"unavailable: {error}")
            return spending.spent("", estimate, 0.0).pause(self.now_ns, str(error), error.retry_after_s)
        except WorthlessAnswerError as error:
            self._note(key, f"worthless: {error}", cost)
            return (spending if cost else spending.spent("", estimate, 0.0)).struck(key, str(error))
        self._note(key, "told", cost)
        names = {"repository": repository[:1000], "period": whole.period, "source": source_of(whole)}
        self._rows.append({**names, "text": text.strip(), "model": self.model.name[:200]})
        return spending.answered()

    def _note(self, key: str, outcome: str, cost: Cost | None = None) -> None:
        self._entries.append(entry_row("summary", key, "", outcome, cost, self.model.name))


def rehearse(model: Asked, prompt: str, lines: Sequence[str], redactor: Redactor) -> tuple[Answer, str]:
    """(the answer, the text) of a month that is told in plain lines.

    Raises:
        UnavailableError: no answer.
        WorthlessAnswerError: one that does not hold.
    """
    sacred = [line.partition(": ")[2] for line in lines if line.startswith(("- decision: ", "- open: "))]
    asked = {"repository": "example.org/rehearsal/app", "month": "2026-10", "sacred": sacred, "lines": list(lines)}
    answer = model.ask(prompt, orjson.dumps(asked).decode(), tool=tool(), max_tokens=MAX_OUTPUT_TOKENS)
    text = _read(answer)
    source = "\n".join(lines)
    if fault := fault_of(text, source, sacred, count_tokens(source), redactor):
        raise WorthlessAnswerError(fault)
    return answer, text


def tool() -> dict[str, Any]:
    """The tool the model is made to call."""
    return {"name": TOOL, "description": "The month in fewer words.", "input_schema": Text.model_json_schema()}


def _to_tell(summaries: Iterable[Summary], told: dict[str, Told], this_month: str) -> Iterable[tuple[Chapter, Chapter]]:
    """(the month whole, as it is asked about) of those to tell."""
    all_of_it = tuple(summaries)
    shorter = {level: {one.period: one for one in chapters_at(all_of_it, level)} for level in (Level.LEAN, Level.GIST)}
    for whole in chapters_at(all_of_it, Level.WHOLE):
        given = told.get(whole.period)
        if whole.period >= this_month or (given is not None and given.source == source_of(whole)):
            continue
        size = _tokens(whole)
        forms = (whole, shorter[Level.LEAN][whole.period], shorter[Level.GIST][whole.period])
        asked = next((form for form in forms if _tokens(form) <= MAX_TOKENS), None)
        if size >= MIN_TOKENS and asked is not None:
            yield whole, asked


def _question(repository: str, chapter: Chapter) -> tuple[str, str, list[str]]:
    """(the question, all lines as one text, the sacred ones)."""
    sacred = list(dict.fromkeys(line.text for entry in chapter.entries for line in entry.lines if line.is_sacred))
    source = "\n".join(lines_of(chapter))
    asked = {"repository": repository, "month": chapter.period, "sacred": sacred, "lines": source.splitlines()}
    return orjson.dumps(asked).decode(), source, sacred


def _limit(source: str, sacred: Sequence[str]) -> int:
    """Tokens that the text may have."""
    kept = sum(count_tokens(line) + 3 for line in sacred)
    rest = max(0, sum(map(count_tokens, source.splitlines())) - kept)
    return min(MAX_OUTPUT_TOKENS, kept + int(rest * SHARE))


def _tokens(chapter: Chapter) -> int:
    return sum(count_tokens(line) + 1 for line in lines_of(chapter))


def _read(answer: Answer) -> str:
    if answer.fault:
        raise WorthlessAnswerError(answer.fault)
    try:
        return Text.model_validate(answer.data).text
    except ValidationError as error:
        raise WorthlessAnswerError(f"not the schema: {error.errors()[0]['msg']}") from None

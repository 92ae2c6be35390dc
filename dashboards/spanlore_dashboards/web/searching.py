"""Search over everything that was said in sessions: what the user typed, what models answered, what tools were given
and gave back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanlore_collector.store import transcripts
from spanlore_collector.store.views import Row, RowSource

MIN_CHARS: Final = 2
_SPOKEN: Final = {"output": "model", "arguments": "tool_input", "result": "tool_output"}
type Where = Literal["", "user", "model", "tool"]


class SearchFilter(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    q: str = Field(
        "", max_length=200, description="Words, all of them in one text, in any case; what stands in quotes is one word"
    )
    where: Where = Field("", description="Who said it")
    limit: int = Field(50, ge=1, le=200)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the text stands."""

    session_id: str
    span_id: str
    time_ns: int
    where: str
    """user, model, tool_input, tool_output, or summary: of the session, whose texts may be gone."""
    tool: str
    repository: str
    before: str
    match: str
    after: str


def search(source: RowSource, wanted: SearchFilter) -> list[Hit]:
    """The newest places, each text where it was said first in its session."""
    if len(wanted.q.strip()) < MIN_CHARS:
        return []
    words = transcripts.words_of(wanted.q)
    rows = transcripts.search(source, transcripts.Wanted(words, wanted.where, limit=wanted.limit))
    return [_hit(row, words[0]) for row in rows]


def is_there_anything(source: RowSource) -> bool:
    """Whether any model call is in the store."""
    return bool(source.rows("SELECT 1 FROM inferences LIMIT 1"))


def _hit(row: Row, word: str) -> Hit:
    snippet = row["snippet"]
    at = max(snippet.casefold().find(word.casefold()), 0)
    return Hit(
        session_id=row["session_id"],
        span_id=row["span_id"],
        time_ns=int(row["time_ns"]),
        where=_SPOKEN.get(row["direction"], "user" if row["role"] == "user" else row["role"]),
        tool=row["name"],
        repository=row["repository"],
        before=snippet[:at],
        match=snippet[at : at + len(word)],
        after=snippet[at + len(word) :],
    )

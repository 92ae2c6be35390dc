"""What is known of memories beyond themselves: where they were shown, and the spans that prove them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanlore.memory.categories import category_of
from spanlore.memory.memory import Evidence, EvidenceRole, Memory, Status
from spanlore.recall.rank import standing
from spanlore_collector.store.views import Row, RowSource

OUTPUT_CHARS: Final = 3_000
MAX_USES: Final = 50
ENDED: Final = frozenset({Status.SUPERSEDED, Status.RETIRED, Status.FORGOTTEN})
WAITING: Final = frozenset({Status.QUARANTINED, Status.CANDIDATE})
type View = Literal["live", "review", "ended", "all"]


class MemoryFilter(BaseModel):
    """Which memories are shown. Empty means any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    view: View = Field(
        "live",
        description="live: what agents may be shown; review: quarantined, candidates, duplicates; "
        "ended: superseded, retired, forgotten; all",
    )
    q: str = Field(
        "", max_length=200, description="Text in the memory, its subject or its reason, or the id's beginning"
    )
    scope: str = Field("", max_length=500, description="Scope key of a repository, or `user`")
    kind: str = Field("", max_length=50, description="usage, environment, location, …")
    category: str = Field("", max_length=50, description="What it is about: convention, dependency, file_pattern, …")
    page: int = Field(1, ge=1, le=1_000_000)
    per_page: int = Field(100, ge=1, le=1000)

    def query(self, **changes: Any) -> dict[str, str]:
        """The filter as a query string's fields, without what is the default anyway."""
        wanted = {**self.model_dump(), **changes}
        defaults = MemoryFilter().model_dump()
        return {name: str(value) for name, value in wanted.items() if value != defaults[name]}


@dataclass(frozen=True, slots=True)
class Proof:
    """One piece of evidence, opened."""

    evidence: Evidence
    call: Row | None
    """The tool call: tool_name, command, outcome, exit_code, output (its head). None for a user's words."""
    said: str
    """What the user typed, whole; '' for a tool call."""


@dataclass(frozen=True, slots=True)
class Use:
    """A session in whose requests a memory stood."""

    session_id: str
    title: str
    repository: str
    requests: int
    first_span_id: str
    first_time_ns: int


def in_view(memory: Memory, view: View) -> bool:
    """Whether it belongs there."""
    if view == "live":
        return memory.is_shown
    if view == "review":
        # What a judge says is there twice waits, too, until somebody merges the two.
        return memory.status in WAITING or (memory.is_live and memory.duplicate_of != "")
    return view == "all" or memory.status in ENDED


def choose(memories: Iterable[Memory], wanted: MemoryFilter) -> list[Memory]:
    """Those asked for: those that agents are shown first, then by standing."""
    text = wanted.q.casefold()
    found = [
        memory
        for memory in memories
        if in_view(memory, wanted.view)
        and wanted.scope in ("", memory.scope)
        and wanted.kind in ("", memory.kind.value)
        and wanted.category in ("", category_of(memory))
        and (not text or _says(memory, text))
    ]
    return sorted(found, key=lambda memory: (memory.status in ENDED, *standing(memory)))


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of those that were chosen."""

    memories: list[Memory]
    found: int
    page: int
    pages: int


def page_of(found: list[Memory], wanted: MemoryFilter) -> MemoryPage:
    """The page asked for; the last one when there are fewer."""
    pages = max(1, -(-len(found) // wanted.per_page))
    page = min(wanted.page, pages)
    return MemoryPage(found[(page - 1) * wanted.per_page :][: wanted.per_page], len(found), page, pages)


def _says(memory: Memory, text: str) -> bool:
    return memory.id.startswith(text) or any(
        text in value.casefold() for value in (memory.text, memory.subject, memory.why, memory.note)
    )


def shown_in(source: RowSource) -> dict[str, int]:
    """Memory id → in how many sessions it was shown."""
    rows = source.rows(
        "SELECT arrayJoin(injected_memory_ids) AS id, uniqExact(session_id) AS sessions FROM inferences "
        "WHERE notEmpty(injected_memory_ids) GROUP BY id"
    )
    return {row["id"]: int(row["sessions"]) for row in rows}


def repositories(source: RowSource) -> list[str]:
    """The scope keys that agents have worked in, the last one first."""
    rows = source.rows(
        "SELECT repository FROM inferences WHERE repository != '' GROUP BY repository "
        "ORDER BY max(start_time) DESC, repository LIMIT 500"
    )
    return [row["repository"] for row in rows]


def uses_of(source: RowSource, memory_id: str) -> list[Use]:
    """The newest sessions in which it was shown."""
    rows = source.rows(
        "SELECT i.session_id AS session_id, i.requests AS requests, i.span AS span_id, i.at AS at_ns, "
        "s.title AS title, s.repository AS repository FROM "
        "(SELECT session_id, count() AS requests, argMin(span_id, start_time) AS span, "
        "min(toUnixTimestamp64Nano(start_time)) AS at FROM inferences WHERE has(injected_memory_ids, {id:String}) "
        "GROUP BY session_id ORDER BY at DESC LIMIT {limit:UInt32}) AS i LEFT JOIN "
        "(SELECT session_id, title, repository FROM sessions WHERE session_id IN "
        "(SELECT session_id FROM inferences WHERE has(injected_memory_ids, {id:String}))) AS s "
        "ON s.session_id = i.session_id ORDER BY at_ns DESC",
        {"id": memory_id, "limit": MAX_USES},
    )
    return [
        Use(row["session_id"], row["title"], row["repository"], int(row["requests"]), row["span_id"], int(row["at_ns"]))
        for row in rows
    ]


def open_evidence(source: RowSource, evidence: Sequence[Evidence]) -> list[Proof]:
    """Each piece with what its span says, in the given order."""
    if not evidence:
        return []
    asked = {
        "spans": sorted({item.span_id for item in evidence}),
        "ids": sorted({item.session_id for item in evidence}),
    }
    where = "session_id IN {ids:Array(String)} AND span_id IN {spans:Array(String)}"
    calls = source.rows(
        "SELECT t.span_id AS span_id, t.tool_name AS tool_name, t.command AS command, t.outcome AS outcome, "
        "t.exit_code AS exit_code, t.error_line AS error_line, toUnixTimestamp64Nano(t.start_time) AS start_time_ns, "
        f"c.head AS output FROM (SELECT * FROM tool_calls WHERE {where}) AS t LEFT ANY JOIN "
        "(SELECT hash, substringUTF8(body, 1, {head:UInt32}) AS head FROM content WHERE hash IN "
        f"(SELECT result_hash FROM tool_calls WHERE {where})) AS c ON c.hash = t.result_hash LIMIT 1 BY t.span_id",
        {**asked, "head": OUTPUT_CHARS},
    )
    said = source.rows(
        f"SELECT span_id, ordinal, text FROM human_messages WHERE {where} ORDER BY span_id, ordinal", asked
    )
    by_call = {row["span_id"]: row for row in calls}
    by_span: dict[str, list[str]] = {}
    for row in said:
        by_span.setdefault(row["span_id"], []).append(row["text"])
    return [Proof(item, by_call.get(item.span_id), _words(item, by_span.get(item.span_id, []))) for item in evidence]


def _words(item: Evidence, texts: Sequence[str]) -> str:
    """The message the quote is from."""
    if item.role is not EvidenceRole.STATEMENT or not texts:
        return ""
    return next((text for text in texts if item.quote[:60] in text), texts[0])

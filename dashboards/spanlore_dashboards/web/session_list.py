"""Which sessions are shown: filters as a person or a program gives them, and the query for one page of the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanlore_collector.store.views import Row, RowSource

DAY_NS: Final = 86_400_000_000_000


class SessionFilter(BaseModel):
    """What is asked of the list. Empty means any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    q: str = Field("", max_length=200, description="Text in the title or in what the user typed, or the id's beginning")
    repository: str = Field("", max_length=500, description="Scope key of the repository")
    agent: str = Field("", max_length=100, description="The harness, such as claude-code")
    model: str = Field("", max_length=200, description="A model that was asked")
    outcome: Literal["", "failed", "clean", "interrupted", "error", "memory"] = Field(
        "",
        description="failed: a tool call failed; clean: none did; interrupted: a turn was broken off; "
        "error: a model call failed; memory: memories were injected",
    )
    days: int = Field(0, ge=0, le=36_500, description="Only the newest this many days; 0: all")
    sort: Literal["newest", "cost", "tokens", "failures", "duration"] = Field("newest", description="Largest first")
    page: int = Field(1, ge=1, le=1_000_000)
    per_page: int = Field(50, ge=1, le=200)

    def query(self, **changes: Any) -> dict[str, str]:
        """The filter as a query string's fields, without what is the default anyway."""
        wanted = {**self.model_dump(), **changes}
        defaults = SessionFilter().model_dump()
        return {name: str(value) for name, value in wanted.items() if value != defaults[name]}


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of the list, and what all that was found adds up to."""

    rows: list[Row]
    """As the `sessions` view has them, and `models`: the names, most used first."""
    found: int
    failed: int
    cost_usd: float | None
    tokens: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be filtered for, most used first: (value, sessions)."""

    repositories: list[tuple[str, int]]
    agents: list[tuple[str, int]]
    models: list[tuple[str, int]]


_ORDERS: Final[Mapping[str, str]] = {
    "newest": "start_time",
    "cost": "cost_usd",
    "tokens": "coalesce(input_tokens, 0) + coalesce(output_tokens, 0)",
    "failures": "failures",
    "duration": "end_time - start_time",
}
_OUTCOMES: Final[Mapping[str, str]] = {
    "failed": "failures > 0",
    "clean": "failures = 0",
    "interrupted": "session_id IN (SELECT session_id FROM turns WHERE end = 'interrupted')",
    "error": "session_id IN (SELECT session_id FROM inferences WHERE error_type != '')",
    "memory": "session_id IN (SELECT session_id FROM inferences WHERE notEmpty(injected_memory_ids))",
}
_COLUMNS: Final = """
session_id, harness, repository, branch, title, inferences, tool_calls, failures, turns, input_tokens, output_tokens,
cache_read_tokens, toUnixTimestamp64Nano(start_time) AS start_time_ns, toUnixTimestamp64Nano(end_time) AS end_time_ns,
toFloat64(cost_usd) AS cost_usd"""
_TOTALS: Final = """
count() OVER () AS all_found, countIf(failures > 0) OVER () AS all_failed, sum(toFloat64(cost_usd)) OVER () AS all_cost,
sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) OVER () AS all_tokens"""


def find_sessions(source: RowSource, wanted: SessionFilter, now_ns: int) -> SessionPage:
    """The page asked for; the last one when there are fewer."""
    rows = _page(source, wanted, now_ns)
    if not rows and wanted.page > 1:
        first = _page(source, wanted.model_copy(update={"page": 1, "per_page": 1}), now_ns)
        pages = -(-int(first[0]["all_found"]) // wanted.per_page) if first else 1
        wanted = wanted.model_copy(update={"page": pages})
        rows = _page(source, wanted, now_ns)
    found = int(rows[0]["all_found"]) if rows else 0
    models = _models(source, [row["session_id"] for row in rows])
    for row in rows:
        row["models"] = models.get(row["session_id"], [])
    return SessionPage(
        rows=[{key: value for key, value in row.items() if not key.startswith("all_")} for row in rows],
        found=found,
        failed=int(rows[0]["all_failed"]) if rows else 0,
        cost_usd=rows[0]["all_cost"] if rows else None,
        tokens=int(rows[0]["all_tokens"]) if rows else 0,
        page=wanted.page,
        pages=max(1, -(-found // wanted.per_page)),
    )


def choices(source: RowSource) -> Choices:
    """What the filters offer."""
    rows = source.rows(
        "SELECT repository, harness, request_model, uniq(session_id) AS sessions FROM inferences "
        "WHERE call_class IN ('main', 'subagent', 'unknown') GROUP BY repository, harness, request_model LIMIT 10000"
    )
    return Choices(*(_counted(rows, column) for column in ("repository", "harness", "request_model")))


def _page(source: RowSource, wanted: SessionFilter, now_ns: int) -> list[Row]:
    conditions, values = ["session_id != ''"], dict[str, Any]()
    for column, value in (("repository", wanted.repository), ("harness", wanted.agent)):
        if value:
            conditions.append(f"{column} = {{{column}:String}}")
            values[column] = value
    if wanted.model:
        conditions.append(
            "session_id IN (SELECT session_id FROM inferences WHERE request_model = {model:String} "
            "OR response_model = {model:String})"
        )
        values["model"] = wanted.model
    if wanted.outcome:
        conditions.append(_OUTCOMES[wanted.outcome])
    if wanted.days:
        conditions.append("start_time >= fromUnixTimestamp64Nano({since:Int64})")
        values["since"] = max(0, now_ns - wanted.days * DAY_NS)
    if wanted.q:
        conditions.append(
            "(startsWith(session_id, {q:String}) OR positionCaseInsensitiveUTF8(title, {q:String}) > 0 "
            "OR session_id IN "
            "(SELECT session_id FROM human_messages WHERE positionCaseInsensitiveUTF8(text, {q:String}) > 0))"
        )
        values["q"] = wanted.q
    return source.rows(
        f"SELECT {_COLUMNS}, {_TOTALS} FROM sessions WHERE {' AND '.join(conditions)} "
        f"ORDER BY {_ORDERS[wanted.sort]} DESC NULLS LAST, session_id LIMIT {{limit:UInt32}} OFFSET {{offset:UInt64}}",
        {**values, "limit": wanted.per_page, "offset": (wanted.page - 1) * wanted.per_page},
    )


def _models(source: RowSource, session_ids: list[str]) -> dict[str, list[str]]:
    if not session_ids:
        return {}
    rows = source.rows(
        "SELECT session_id, request_model FROM inferences WHERE session_id IN {ids:Array(String)} "
        "AND request_model != '' GROUP BY session_id, request_model ORDER BY session_id, count() DESC",
        {"ids": session_ids},
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["session_id"], []).append(row["request_model"])
    return found


def _counted(rows: list[Row], column: str) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[column]] = counts.get(row[column], 0) + int(row["sessions"])
    counts.pop("", None)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

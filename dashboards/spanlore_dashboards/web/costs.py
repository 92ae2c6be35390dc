"""What was spent, by day and by what one asks for: model, repository, agent, or kind of call.

A call whose price is not known has no cost: it is counted apart, never as 0. Tokens that agents sent and got are
`exposed`; what spanlore's own judge uses is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spanlore_collector.store import ledgers
from spanlore_collector.store.views import Row, RowSource

DAY_NS: Final = 86_400_000_000_000
YEAR_DAYS: Final = 366
type Dimension = Literal["model", "repository", "agent", "call_class"]
_COLUMNS: Final[dict[str, str]] = {
    "model": "if(response_model != '', response_model, request_model)",
    "repository": "repository",
    "agent": "harness",
    "call_class": "call_class",
}


class CostFilter(BaseModel):
    """What is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: Dimension = Field("model", description="What the days are divided by")
    days: int = Field(30, ge=1, le=3650, description="The newest this many days, today included")
    repository: str = Field("", max_length=500, description="Only of this repository")


@dataclass(frozen=True, slots=True)
class Spent:
    """What one day, one name, or all of them used."""

    day: str
    """ISO date on this machine's clock; '' for a sum over days."""
    name: str
    calls: int
    sessions: int
    input_tokens: int
    """Cache reads and writes included."""
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced_calls: int

    @property
    def cache_share(self) -> float | None:
        """Share of the input that came from the cache, 0 to 1; None without input."""
        return self.cache_read_tokens / self.input_tokens if self.input_tokens else None


@dataclass(frozen=True, slots=True)
class Costs:
    """The days, the names, and the whole."""

    days: list[str]
    """Every day asked for, those without calls too; of more than a year only from the first call on."""
    cells: list[Spent]
    names: list[Spent]
    """Sums by name, most expensive first."""
    total: Spent
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Ledger:
    """What spanlore itself costs, in three parts that are never summed (see `store.ledgers`)."""

    exposed_requests: int
    exposed_tokens: int
    exposed_usd: float | None
    internal_requests: int
    internal_tokens: int
    internal_usd: float | None
    cache_delta_tokens: int
    cache_delta_usd: float | None


_SUMS: Final = """
count() AS calls, uniq(session_id) AS sessions, sum(ifNull(i.input_tokens, 0)) AS input_tokens,
sum(ifNull(i.cache_read_tokens, 0)) AS cache_read_tokens, sum(ifNull(i.cache_write_tokens, 0)) AS cache_write_tokens,
sum(ifNull(i.output_tokens, 0)) AS output_tokens, sum(ifNull(toFloat64(i.cost_usd), 0)) AS cost_usd,
countIf(i.cost_usd IS NULL AND ifNull(i.input_tokens, 0) > 0) AS unpriced_calls"""


def read_costs(source: RowSource, wanted: CostFilter, now: datetime) -> Costs:
    """The costs of the newest days. `now` has this machine's offset, which days are counted in."""
    offset = now.utcoffset() or timedelta()
    first = now.date() - timedelta(days=wanted.days - 1)
    start = datetime(first.year, first.month, first.day, tzinfo=UTC) - offset
    values: dict[str, Any] = {
        "since": int(start.timestamp()) * 10**9,
        "offset": int(offset.total_seconds()),
        "repository": wanted.repository,
        "internal": ledgers.INTERNAL,
    }
    where = (
        "start_time >= fromUnixTimestamp64Nano({since:Int64}) "
        "AND ({repository:String} = '' OR repository = {repository:String}) AND harness != {internal:String}"
    )
    day = "toString(toDate(start_time + toIntervalSecond({offset:Int32})))"
    rows = source.rows(
        f"SELECT {day} AS day, {_COLUMNS[wanted.by]} AS name, {_SUMS} FROM inferences AS i WHERE {where} "
        "GROUP BY GROUPING SETS ((day, name), (name), ()) ORDER BY day, name LIMIT 100000",
        values,
    )
    cells = [_spent(row) for row in rows if row["day"]]
    sums = [_spent(row) for row in rows if not row["day"]]
    total = max(sums, key=lambda item: item.calls, default=None)
    if total is not None:
        sums.remove(total)
    return Costs(
        days=_days(first, wanted.days, cells),
        cells=cells,
        names=sorted(sums, key=lambda item: (-item.cost_usd, -item.calls, item.name)),
        total=total or Spent("", "", 0, 0, 0, 0, 0, 0, 0.0, 0),
        ledger=_ledger(ledgers.read_costs(source, "repository", values["since"]), wanted.repository),
    )


def _days(first: date, count: int, cells: Iterable[Spent]) -> list[str]:
    """Every day; of a longer time than a year only those from the first call on."""
    days = [(first + timedelta(days=n)).isoformat() for n in range(count)]
    began = min((cell.day for cell in cells), default="") if count > YEAR_DAYS else ""
    return [day for day in days if day >= began]


def _ledger(rows: Iterable[ledgers.CostRow], repository: str) -> Ledger:
    chosen = [row for row in rows if repository in ("", row.key)]

    def usd(name: str) -> float | None:
        known = [getattr(row, name) for row in chosen if getattr(row, name) is not None]
        return sum(known) if known else None

    return Ledger(
        exposed_requests=sum(row.exposed_requests for row in chosen),
        exposed_tokens=sum(row.exposed_tokens for row in chosen),
        exposed_usd=usd("exposed_usd"),
        internal_requests=sum(row.internal_requests for row in chosen),
        internal_tokens=sum(row.internal_tokens for row in chosen),
        internal_usd=usd("internal_usd"),
        cache_delta_tokens=sum(row.cache_delta_tokens for row in chosen),
        cache_delta_usd=usd("cache_delta_usd"),
    )


def _spent(row: Row) -> Spent:
    whole = {key: int(row[key]) for key in _WHOLE}
    return Spent(day=row["day"], name=row["name"], cost_usd=float(row["cost_usd"]), **whole)


_WHOLE: Final = (
    "calls",
    "sessions",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "unpriced_calls",
)


def by_day(costs: Costs) -> list[Spent]:
    """One sum a day, in order, empty days too."""
    found: dict[str, list[Spent]] = {day: [] for day in costs.days}
    for cell in costs.cells:
        found.setdefault(cell.day, []).append(cell)
    return [_sum(day, cells) for day, cells in sorted(found.items())]


def _sum(day: str, cells: Iterable[Spent]) -> Spent:
    listed = list(cells)
    whole = {key: sum(getattr(cell, key) for cell in listed) for key in _WHOLE}
    return Spent(day=day, name="", cost_usd=sum(cell.cost_usd for cell in listed), **whole)


def today(now_ns: int) -> datetime:
    """The time on this machine's clock, with its offset."""
    return datetime.fromtimestamp(now_ns / 1e9, UTC).astimezone()

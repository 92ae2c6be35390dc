"""Dashboards as we describe them: boards of charts, each with its question, its query and the columns it gives.

Queries are for the ClickHouse datasource (its macros and variables), on the typed tables. A time series has the columns
`time`, then the series' name, then the value: the datasource makes one line of each name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Kind(StrEnum):
    """Grafana's panel plugins that are used."""

    STAT = "stat"
    TIMESERIES = "timeseries"
    TABLE = "table"
    BARS = "barchart"
    TRACES = "traces"
    TREND = "trend"
    """Lines over a number: the first column."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a click leads."""

    title: str
    url: str
    new_tab: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table is shown."""

    unit: str = ""
    links: Sequence[Link] = ()
    width: int = 0
    colors: Mapping[str, str] = field(default_factory=dict)
    """Value → colour."""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One panel."""

    title: str
    question: str
    """What it answers; the panel's description."""
    kind: Kind
    sql: str
    columns: tuple[str, ...]
    """What the query gives, in order."""
    unit: str = "short"
    width: int = 12
    height: int = 8
    stacked: bool = False
    formats: Mapping[str, Column] = field(default_factory=dict)
    colors: Mapping[str, str] = field(default_factory=dict)
    """Series → colour, where its name has a meaning; the others get one of the palette."""
    warn_at: float | None = None
    """From this value on it is coloured as a warning."""
    bad_at: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Of the query, for the datasource's builder."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a dashboard."""

    name: str
    label: str
    sql: str = ""
    """Gives the choices; '' is a text box."""
    default: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard."""

    uid: str
    title: str
    about: str
    rows: Sequence[tuple[str, Sequence[Chart]]]
    """(heading, charts)."""
    variables: Sequence[Variable] = ()
    time_from: str = "now-7d"
    refresh: str = ""
    """How often it asks again by itself; '' for never."""

    @property
    def charts(self) -> list[Chart]:
        """All charts, in order."""
        return [chart for _, charts in self.rows for chart in charts]


REPOSITORY: Final = Variable(
    "repository",
    "Repository",
    "SELECT DISTINCT repository FROM inferences WHERE $__timeFilter(start_time) AND repository != '' "
    "ORDER BY repository",
)
AGENT: Final = Variable(
    "agent",
    "Agent",
    "SELECT DISTINCT harness FROM inferences WHERE $__timeFilter(start_time) AND harness != '' ORDER BY harness",
)
MODEL: Final = Variable(
    "model",
    "Model",
    "SELECT DISTINCT request_model FROM inferences WHERE $__timeFilter(start_time) AND request_model != '' "
    "ORDER BY request_model",
)
WEB: Final = Variable(
    "web",
    "Web page",
    default="http://127.0.0.1:7720",
    about="Address of spanlore's own page, as `spanlore status` prints it; links lead there.",
)

OUTCOME_COLORS: Final = {"success": "green", "failure": "red", "rejected": "orange", "unknown": "gray"}


def cost_by_repository(shown: str) -> str:
    """The query of a stacked chart: the eight dearest repositories, named without their host, and the others."""
    return (
        "SELECT time, multiIf(repository = '', 'no repository', place > 8, 'others', "
        "arrayStringConcat(arraySlice(splitByChar('/', repository), -2), '/')) AS what, sum(spent) AS cost "
        "FROM (SELECT *, dense_rank() OVER (ORDER BY whole DESC, repository) AS place "
        "FROM (SELECT *, sum(spent) OVER (PARTITION BY repository) AS whole "
        "FROM (SELECT $__timeInterval(start_time) AS time, repository, toFloat64(sum(cost_usd)) AS spent "
        f"FROM inferences WHERE {shown} GROUP BY time, repository))) GROUP BY time, what ORDER BY time, what"
    )


HERE: Final = (
    "$__conditionalAll(repository IN (${repository:singlequote}), $repository) "
    "AND $__conditionalAll(harness IN (${agent:singlequote}), $agent)"
)
"""The chosen repositories and agents."""
SHOWN: Final = f"$__timeFilter(start_time) AND {HERE}"
"""In the chosen time, too."""

SESSION_LINKS: Final = (
    Link(
        "Open the session",
        "/d/spanlore-session?${__url_time_range}&var-session=${__data.fields.session}&${web:queryparam}",
    ),
    Link("Open in spanlore", "${web}/sessions/${__data.fields.session}", new_tab=True),
)
MEMORY_LINKS: Final = (Link("Open in spanlore", "${web}/memories/${__data.fields.memory}", new_tab=True),)

"""Every panel's query, as Grafana's datasource sends it, over and over: percentiles, against the budget."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from spanlore_dashboards.bench.filling import Filled
from spanlore_dashboards.grafana.board import Board, Chart
from spanlore_dashboards.grafana.boards.every import BOARDS
from spanlore_dashboards.grafana.macros import ALL, Looking, expanded

BUDGETS: Final = {"panel_p95_ms": 300.0}
POINTS: Final = 200
"""About as many as a panel is wide enough for."""
_SECONDS: Final = {"h": 3600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Timed:
    """One panel's runs."""

    board: str
    panel: str
    p50_ms: float
    p95_ms: float
    answer_bytes: int


def measure(store: Filled, runs: int) -> list[Timed]:
    """Runs every panel `runs` times, all panels in turn, so that no query has the caches for itself.

    Raises:
        RuntimeError: the store refuses a query.
    """
    pool = urllib3.PoolManager(
        headers=urllib3.make_headers(basic_auth=f"spanlore:{store.token}"), retries=False, timeout=120
    )
    taken: dict[tuple[str, str], list[float]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for _ in range(runs):
        for board, chart in _charts():
            key = (board.uid, chart.title)
            began = time.perf_counter()
            answer = _ask(pool, store, expanded(chart.sql, looking_at(board, store)))
            taken.setdefault(key, []).append((time.perf_counter() - began) * 1e3)
            sizes[key] = len(answer)
    return [
        Timed(board, panel, percentile(times, 50), percentile(times, 95), sizes[board, panel])
        for (board, panel), times in taken.items()
    ]


def report(timed: Sequence[Timed], spans: int, runs: int) -> dict[str, Any]:
    """The bench's one object."""
    rows = [
        {
            "what": f"{item.board.removeprefix('spanlore-')}: {item.panel}",
            "p50_ms": round(item.p50_ms, 1),
            "p95_ms": round(item.p95_ms, 1),
            "answer_bytes": item.answer_bytes,
        }
        for item in sorted(timed, key=lambda item: -item.p95_ms)
    ]
    within = all(item.p95_ms <= BUDGETS["panel_p95_ms"] for item in timed)
    return {
        "bench": "dashboards",
        "spans": spans,
        "runs": runs,
        "rows": rows,
        "budgets": BUDGETS,
        "within_budget": within,
    }


def table(result: dict[str, Any]) -> str:
    """For people, the slowest first."""
    lines = [f"{result['spans']:,} spans, {result['runs']} runs of each panel", f"{'panel':<56}{'p50':>10}{'p95':>10}"]
    for row in result["rows"]:
        mark = " !" if row["p95_ms"] > result["budgets"]["panel_p95_ms"] else ""
        lines.append(f"{row['what'][:55]:<56}{row['p50_ms']:>7.1f} ms{row['p95_ms']:>7.1f} ms{mark}")
    return "\n".join(lines)


def percentile(values: Sequence[float], share: int) -> float:
    """Of a few values the one at that rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def _charts() -> Iterator[tuple[Board, Chart]]:
    for board in BOARDS:
        for chart in board.charts:
            yield board, chart


def looking_at(board: Board, store: Filled, points: int = POINTS) -> Looking:
    """At the board's own time range, everything chosen; a chart is about so many points wide."""
    found = re.fullmatch(r"now-(\d+)([hd])", board.time_from)
    range_s = int(found[1]) * _SECONDS[found[2]] if found else 86_400
    now_s = store.now_ns // 10**9
    choices = {"repository": ALL, "agent": ALL, "model": ALL, "session": store.session, "trace": store.trace, "web": ""}
    return Looking(now_s - range_s, now_s + 60, max(range_s // points, 1), choices)


def _ask(pool: urllib3.PoolManager, store: Filled, sql: str) -> bytes:
    query = urlencode({"database": "spanlore", "default_format": "Native"})
    answer = pool.request("POST", f"{store.clickhouse_url}/?{query}", body=sql.encode())
    if answer.status != 200:
        raise RuntimeError(f"{answer.data[:300].decode('utf-8', 'replace')}\n{sql}")
    return bytes(answer.data)

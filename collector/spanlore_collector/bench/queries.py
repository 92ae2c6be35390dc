"""`spanlore bench queries`: how long what people look at takes, at 10,000, 100,000 and a million spans.

A store of each size is made (`bench.filling` tells how like a real one it is), a collector is started on it, and the
questions are asked through its ClickHouse interface, one at a time, as the CLI, the page and Grafana do: the last 50
sessions, one session, and what dashboards show. Every question is asked several times with other sessions and days.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from spanlore.settings import Paths
from spanlore_collector.bench.ingest import running_collector
from spanlore_collector.store import views
from spanlore_collector.store.reader import Reader
from spanlore_collector.store.views import list_sessions

BUDGETS_MS = {"last 50 sessions": 60, "one session": 40, "dashboard query": 300}
"""p95 at a million spans."""
BUDGET_SPANS = 1_000_000

_WEEK = "start_time >= {since:DateTime64(9)} AND start_time < {since:DateTime64(9)} + INTERVAL 7 DAY"
DASHBOARD = {
    "tokens and cost by day and model": (
        "SELECT toStartOfDay(start_time) AS day, response_model, sum(input_tokens), sum(output_tokens), "
        "sum(cache_read_tokens), sum(cost_usd) FROM inferences GROUP BY day, response_model ORDER BY day"
    ),
    "cost by repository, a week": (
        f"SELECT repository, harness, sum(cost_usd) AS cost, uniq(session_id) FROM inferences WHERE {_WEEK} "
        "GROUP BY repository, harness ORDER BY cost DESC LIMIT 50"
    ),
    "time to first token, quantiles by hour, a week": (
        "SELECT toStartOfHour(start_time) AS hour, quantiles(0.5, 0.95, 0.99)(ttft_ns), "
        f"quantiles(0.5, 0.95)(duration_ns) FROM inferences WHERE {_WEEK} GROUP BY hour ORDER BY hour"
    ),
    "tools: calls, failures, duration": (
        "SELECT tool_name, program, count() AS calls, countIf(outcome = 'failure') AS failures, "
        "quantile(0.95)(duration_ns) FROM tool_calls GROUP BY tool_name, program ORDER BY calls DESC LIMIT 50"
    ),
    "signatures that fail most, a week": (
        f"SELECT signature, any(error_line), count() AS failures, uniq(session_id) FROM tool_calls WHERE {_WEEK} "
        "AND outcome = 'failure' GROUP BY signature ORDER BY failures DESC LIMIT 20"
    ),
    "sessions, a week": (
        f"SELECT session_id, harness, repository, title, inferences, failures, cost_usd FROM sessions WHERE {_WEEK} "
        "ORDER BY start_time DESC LIMIT 200"
    ),
    "sessions by day": (
        "SELECT toStartOfDay(start_time) AS day, count(), sum(failures), sum(cost_usd) FROM sessions "
        "GROUP BY day ORDER BY day"
    ),
    "traces of a service, an hour": (
        "SELECT TraceId, ServiceName, SpanName, Timestamp, Duration FROM otel_traces "
        "WHERE Timestamp >= {since:DateTime64(9)} AND Timestamp < {since:DateTime64(9)} + INTERVAL 1 HOUR "
        "AND ParentSpanId = '' ORDER BY Timestamp DESC LIMIT 1000"
    ),
    "one trace": (
        "WITH (SELECT min(Start) FROM otel_traces_trace_id_ts WHERE TraceId = {trace:String}) AS first, "
        "(SELECT max(End) + 1 FROM otel_traces_trace_id_ts WHERE TraceId = {trace:String}) AS last "
        "SELECT TraceId, SpanId, ParentSpanId, ServiceName, SpanName, Timestamp, Duration, SpanAttributes, "
        "ResourceAttributes FROM otel_traces WHERE TraceId = {trace:String} "
        "AND Timestamp >= first AND Timestamp <= last LIMIT 1000"
    ),
    "spans by minute and status, a day": (
        "SELECT toStartOfMinute(Timestamp) AS minute, StatusCode, count() FROM otel_traces "
        "WHERE Timestamp >= {since:DateTime64(9)} AND Timestamp < {since:DateTime64(9)} + INTERVAL 1 DAY "
        "GROUP BY minute, StatusCode ORDER BY minute"
    ),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of which stores."""

    sizes: tuple[int, ...]
    rounds: int


def measure(plan: Plan) -> dict[str, Any]:
    """Makes the stores and asks; the result is what `--json` prints."""
    rows = []
    for spans in plan.sizes:
        with tempfile.TemporaryDirectory() as folder, _collector(Path(folder), spans) as (reader, process):
            rows += ask_all(reader, spans, plan.rounds)
            rows.append(
                {"what": "collector's memory", "spans": spans, "rss_mb": round(process.memory_info().rss / 1e6)}
            )
    return {
        "bench": "queries",
        "rows": rows,
        "budgets": {f"{what}, p95_ms at {BUDGET_SPANS:,} spans": budget for what, budget in BUDGETS_MS.items()},
        "within_budget": all(is_within(row) for row in rows),
    }


def is_within(row: dict[str, Any]) -> bool:
    """Whether a row keeps its budget; smaller stores must keep it too."""
    return bool(row.get("p95_ms", 0) <= BUDGETS_MS.get(row.get("kind", ""), float("inf")))


def ask_all(reader: Reader, spans: int, rounds: int) -> list[dict[str, Any]]:
    """The rows of one store."""
    chance = random.Random(spans)
    sessions = [
        row["session_id"]
        for row in reader.rows("SELECT DISTINCT session_id FROM inferences ORDER BY cityHash64(session_id) LIMIT 50")
    ]
    traces = [row["trace_id"] for row in reader.rows("SELECT DISTINCT trace_id FROM turns LIMIT 50")]
    hours = [row["hour"] for row in reader.rows("SELECT DISTINCT toStartOfHour(start_time) AS hour FROM turns")]

    def one_session() -> int:
        found = views.one_session(reader, chance.choice(sessions))
        return len(found[1].inferences) if found else 0

    def dashboard(sql: str) -> Callable[[], int]:
        return lambda: len(reader.rows(sql, {"since": chance.choice(hours), "trace": chance.choice(traces)}))

    asked: list[tuple[str, str, Callable[[], int]]] = [
        ("last 50 sessions", "last 50 sessions", lambda: len(list_sessions(reader, limit=50))),
        ("one session", "one session", one_session),
        *((name, "dashboard query", dashboard(sql)) for name, sql in DASHBOARD.items()),
    ]
    return [_timed(what, kind, spans, rounds, ask) for what, kind, ask in asked]


def _timed(what: str, kind: str, spans: int, rounds: int, ask: Callable[[], int]) -> dict[str, Any]:
    if not ask():
        raise RuntimeError(f"{what}: no rows at {spans} spans")
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    p95 = times[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
    return {
        "what": what,
        "kind": kind,
        "spans": spans,
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(p95, 1),
    }


def table(result: dict[str, Any]) -> str:
    """The result for people: a line a question, a column a size."""
    sizes = sorted({row["spans"] for row in result["rows"]})
    lines = [f"{'p50 / p95 in ms':<48}" + "".join(f"{size:>15,}" for size in sizes)]
    for what in dict.fromkeys(row["what"] for row in result["rows"]):
        cells = {row["spans"]: row for row in result["rows"] if row["what"] == what}
        lines.append(f"{what:<48}" + "".join(f"{_cell(cells.get(size)):>15}" for size in sizes))
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    return f"{row['rss_mb']} MB" if "rss_mb" in row else f"{row['p50_ms']} / {row['p95_ms']}"


@contextmanager
def _collector(folder: Path, spans: int) -> Iterator[tuple[Reader, psutil.Process]]:
    store_dir = Paths(folder / "config", folder).store_dir
    command: Sequence[str] = [sys.executable, "-m", "spanlore_collector.bench.filling", str(store_dir), str(spans)]
    filled = subprocess.run(command, capture_output=True, text=True, check=False)
    if filled.returncode:
        raise RuntimeError(f"the store was not filled: {filled.stderr[-500:]}")
    held = json.loads(filled.stdout)["otel_traces"]
    if held < spans:
        raise RuntimeError(f"the store holds {held} spans, not {spans}")
    with (
        running_collector(folder) as running,
        Reader(f"http://127.0.0.1:{running.clickhouse_port}", running.token) as reader,
    ):
        yield reader, running.process

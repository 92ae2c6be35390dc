"""`spanlore bench proxy`."""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from spanlore.main import group

if TYPE_CHECKING:
    from spanlore_proxy.bench.load import Target
    from spanlore_proxy.bench.targets import Stage

SIZES = {"10 KB": 10_000, "200 KB": 200_000, "1 MB": 1_000_000}
ADDED_BUDGET_MS = {"10 KB": 0.7, "200 KB": 1.0, "1 MB": 3.0}
"""DESIGN §11: request p50 added over bare mitmdump, everything on."""
RATE_BUDGET = 0.7
DELAY_BUDGET = 1.15
FLAT_BUDGET = 0.8
ROUNDS = 3
OURS, BARE = "spanlore", "bare mitmdump"
WORK = "what spanlore did of these requests"
RATE = "requests/s, 20 connections, 200 KB"
DELAY = "streamed chunk delay, 3 streams, 5 ms apart"
FLAT = "streamed chunks/s flat out, 10 streams"
FRAME_DELAY = "WebSocket frame delay, 3 connections, 5 ms apart"
FRAMES = "WebSocket frames/s flat out, 10 connections"
RESIDENT_BUDGET_MB = {"proxy": 200, "collector": 900}
RISE_BUDGET_MB = 15
"""What counts as flat: the allocator's own breathing stays below."""
SOAK_EXCHANGES = 2_000


def register(app: typer.Typer) -> None:
    """Adds `bench proxy`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("proxy")
    def proxy(
        requests: int = typer.Option(120, min=3, help="Requests of each size and target."),
        memories: int = typer.Option(200, min=1, help="Memories of the repository that the requests are about."),
        soak: bool = typer.Option(False, "--soak", help="Memory over 2,000 exchanges of 200 KB, too (some minutes)."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Requests, streamed chunks and WebSocket frames: direct, bare mitmdump and spanlore, interleaved."""
        with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
            result = asyncio.run(measure(Path(folder), requests, memories, SOAK_EXCHANGES if soak else 0))
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


async def measure(folder: Path, requests: int, memories: int = 200, soaked: int = 0) -> dict[str, Any]:
    """The whole benchmark: rows with milliseconds and ratios, the budgets, and whether they were kept. `soaked`: how
    many exchanges to watch the memory over."""
    from spanlore_proxy.bench.targets import stage

    with stage(folder, memories) as running:
        targets = running.targets
        rows = [await _request_row(targets, size, requests) for size in SIZES]
        rows.append(await _rate_row(targets))
        rows.append(_work_row(running))
        rows += await _stream_rows(targets)
        rows += await _frame_rows(targets)
        if soaked:
            from spanlore_proxy.bench.soak import soak

            ours = next(target for target in targets if target.name == OURS)
            rows.append(await soak(ours, soaked, running.resident_bytes))
    return judge(rows)


async def _request_row(targets: Sequence[Target], size: str, requests: int) -> dict[str, Any]:
    from spanlore_proxy.bench.bodies import conversation
    from spanlore_proxy.bench.load import latencies_ms
    from spanlore_proxy.bench.percentiles import percentile, ratio

    warm = max(requests // 10, 1)
    names = [target.name for target in targets]
    talks = {name: conversation(SIZES[size], requests + warm, 7, f"{name}-{size}") for name in names}
    found = await latencies_ms(targets, talks, warm)
    p50 = {name: percentile(found[name], 0.5) for name in names}
    p99 = {name: percentile(found[name], 0.99) for name in names}
    return {
        "what": f"request {size}",
        **{f"{name} p50_ms": round(p50[name], 2) for name in names},
        **{f"{name} p99_ms": round(p99[name], 2) for name in names},
        "added_over_bare_p50_ms": round(p50[OURS] - p50[BARE], 2),
        "added_over_bare_p99_ms": round(p99[OURS] - p99[BARE], 2),
        "x_bare_added": ratio(p50[OURS] - p50["direct"], p50[BARE] - p50["direct"]),
    }


async def _rate_row(targets: Sequence[Target]) -> dict[str, Any]:
    from spanlore_proxy.bench.bodies import conversation
    from spanlore_proxy.bench.load import requests_per_s
    from spanlore_proxy.bench.percentiles import percentile, ratio

    rates: dict[str, list[float]] = {target.name: [] for target in targets}
    for turn in range(ROUNDS):
        for target in targets:
            talks = [conversation(200_000, 5, n, f"{target.name}-{turn}-{n}") for n in range(20)]
            rates[target.name].append(await requests_per_s(target, talks))
    rate = {name: percentile(values, 0.5) for name, values in rates.items()}
    return {
        "what": RATE,
        **{f"{n} per_s": round(r, 1) for n, r in rate.items()},
        "x_bare": ratio(rate[OURS], rate[BARE]),
    }


def _work_row(running: Stage) -> dict[str, Any]:
    """That everything was on: what was injected, captured and stored of the requests so far."""
    return {"what": WORK, **{f"{name} count": count for name, count in running.settled().items()}}


async def _stream_rows(targets: Sequence[Target]) -> list[dict[str, Any]]:
    from spanlore_proxy.bench.bodies import conversation
    from spanlore_proxy.bench.load import chunk_delays_ms, chunks_per_s
    from spanlore_proxy.bench.percentiles import percentile, ratio

    body = conversation(10_000, 1, 3, "chunks").bodies[0]
    delays: dict[str, list[float]] = {target.name: [] for target in targets}
    flat: dict[str, list[float]] = {target.name: [] for target in targets}
    for _ in range(ROUNDS):
        for target in targets:
            delays[target.name] += await chunk_delays_ms(target, body, 3, 200, 5)
            flat[target.name].append(await chunks_per_s(target, body, 10, 2000))
    p50 = {name: percentile(values, 0.5) for name, values in delays.items()}
    p99 = {name: percentile(values, 0.99) for name, values in delays.items()}
    rate = {name: percentile(values, 0.5) for name, values in flat.items()}
    return [
        {
            "what": DELAY,
            **{f"{name} p50_ms": round(value, 3) for name, value in p50.items()},
            **{f"{name} p99_ms": round(value, 3) for name, value in p99.items()},
            "x_bare_p50": ratio(p50[OURS], p50[BARE]),
        },
        {"what": FLAT, **{f"{n} per_s": round(r) for n, r in rate.items()}, "x_bare": ratio(rate[OURS], rate[BARE])},
    ]


async def _frame_rows(targets: Sequence[Target]) -> list[dict[str, Any]]:
    from spanlore_proxy.bench.percentiles import percentile, ratio
    from spanlore_proxy.bench.sockets import frame_delays_ms, frames_per_s

    delays: dict[str, list[float]] = {target.name: [] for target in targets}
    flat: dict[str, list[float]] = {target.name: [] for target in targets}
    for _ in range(ROUNDS):
        for target in targets:
            delays[target.name] += await frame_delays_ms(target, 3, 200, 5)
            flat[target.name].append(await frames_per_s(target, 10, 4, 250))
    p50 = {name: percentile(values, 0.5) for name, values in delays.items()}
    p99 = {name: percentile(values, 0.99) for name, values in delays.items()}
    rate = {name: percentile(values, 0.5) for name, values in flat.items()}
    return [
        {
            "what": FRAME_DELAY,
            **{f"{name} p50_ms": round(value, 3) for name, value in p50.items()},
            **{f"{name} p99_ms": round(value, 3) for name, value in p99.items()},
            "x_bare_p50": ratio(p50[OURS], p50[BARE]),
        },
        {"what": FRAMES, **{f"{n} per_s": round(r) for n, r in rate.items()}, "x_bare": ratio(rate[OURS], rate[BARE])},
    ]


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows with the budgets of DESIGN §11 and whether every one was kept."""
    by_what = {row["what"]: row for row in rows}
    kept = [by_what[f"request {size}"]["added_over_bare_p50_ms"] <= ADDED_BUDGET_MS[size] for size in SIZES]
    kept.append(by_what[RATE]["x_bare"] >= RATE_BUDGET)
    work = by_what[WORK]
    kept.append(work["injected count"] == work["captured count"] == work["shipped count"] == work["requests count"])
    kept.append(by_what[DELAY]["x_bare_p50"] <= DELAY_BUDGET)
    kept.append(by_what[FLAT]["x_bare"] >= FLAT_BUDGET)
    kept.append(by_what[FRAME_DELAY]["x_bare_p50"] <= DELAY_BUDGET)
    kept.append(by_what[FRAMES]["x_bare"] >= FLAT_BUDGET)
    soaked: dict[str, float] = {}
    for row in rows:
        for name, limit in RESIDENT_BUDGET_MB.items() if "proxy rise_mb" in row else ():
            kept.append(row[f"{name} highest_mb"] <= limit and row[f"{name} rise_mb"] <= RISE_BUDGET_MB)
            soaked |= {f"{name} highest_mb at most": limit, f"{name} rise_mb at most": RISE_BUDGET_MB}
    return {
        "bench": "proxy",
        "rows": rows,
        "budgets": {
            **{f"request {size} added_over_bare_p50_ms at most": ms for size, ms in ADDED_BUDGET_MS.items()},
            "requests/s x_bare at least": RATE_BUDGET,
            "share of requests injected, captured and stored": 1.0,
            "chunk delay x_bare_p50 at most": DELAY_BUDGET,
            "chunks/s flat out x_bare at least": FLAT_BUDGET,
            "WebSocket frame delay x_bare_p50 at most": DELAY_BUDGET,
            "WebSocket frames/s flat out x_bare at least": FLAT_BUDGET,
            **soaked,
        },
        "within_budget": all(kept),
    }


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    lines = []
    for row in result["rows"]:
        lines.append(row["what"])
        for key, value in row.items():
            if key != "what" and not (isinstance(value, float) and math.isnan(value)):
                lines.append(f"    {key:32} {value if isinstance(value, list) else format(value, '>12')}")
    lines.append("budgets")
    lines += [f"    {what:60} {limit:>8}" for what, limit in result["budgets"].items()]
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)

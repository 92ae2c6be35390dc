"""Routes that tell how the collector is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from aiohttp import web

import spanlore
from spanlore.settings import Paths
from spanlore_collector.ingest.selfmetrics import SelfMetrics, prometheus
from spanlore_collector.store.backfill import BackFill
from spanlore_collector.store.client import Store
from spanlore_collector.store.figures import figures_of
from spanlore_collector.store.memories import MemoryTable
from spanlore_collector.store.writer import Writer


@dataclass(frozen=True, slots=True)
class StatusRoutes:
    """GET /healthz, /v1/status, /v1/completeness and /metrics."""

    store: Store
    writer: Writer
    table: MemoryTable
    metrics: SelfMetrics
    paths: Paths
    started_at_ns: int
    left: BackFill

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/healthz", self.health)
        app.router.add_get("/v1/status", self.status)
        app.router.add_get("/v1/completeness", self.completeness)
        app.router.add_get("/metrics", self.show_metrics)

    async def health(self, request: web.Request) -> web.Response:
        """200 as long as the writer lives."""
        if not self.writer.is_alive:
            return web.json_response({"status": "the writer has ended"}, status=503)
        return web.json_response({"status": "ok", "version": spanlore.__version__})

    async def status(self, request: web.Request) -> web.Response:
        """Counters of this process, and what the store holds."""
        figures = await asyncio.wrap_future(self.writer.call(figures_of))
        return web.json_response(
            {
                "version": spanlore.__version__,
                "started_at_ns": self.started_at_ns,
                "store": {
                    "url": self.store.label,
                    "kind": "chdb" if self.store.path else "server",
                    **figures,
                    "filling": {one.table: round(one.share, 3) for one in self.left.progress},
                    "filling_failure": self.left.failure,
                },
                "ingest": {
                    **asdict(self.writer.counters),
                    "waiting_bytes": self.writer.waiting_bytes,
                    "lag_ms": round(self.writer.lag_ms, 1),
                },
                "memories": dict(Counter(memory.status.value for memory in self.table.all())),
            }
        )

    async def completeness(self, request: web.Request) -> web.Response:
        """The way of what was captured, in numbers: see `completeness_of`."""
        points = await asyncio.to_thread(self.metrics.read)
        return web.json_response(completeness_of(_proxy_status(self.paths), points))

    async def show_metrics(self, request: web.Request) -> web.Response:
        """All of it as Prometheus reads it, the proxy's numbers included; JSON with `?format=json`."""
        points = [*await asyncio.to_thread(self.metrics.read), *proxy_points(_proxy_status(self.paths))]
        if request.query.get("format") == "json":
            return web.json_response({"metrics": points})
        return web.Response(text=prometheus(points), content_type="text/plain")


def completeness_of(proxy: Mapping[str, Any], points: list[dict[str, Any]]) -> dict[str, Any]:
    """{proxy: {captured, shipped, waiting, lost: {reason: n}, stripped: {reason: n}, since "ever"}, collector: {signal:
    {received, stored, dropped: {reason: n}}} since its start, complete}. `complete` is true when nothing waits and
    nothing was lost or dropped; the proxy counts exchanges, the collector spans, records and points."""
    counters = proxy.get("counters", {})
    totals = {name: sum(counters.get(name, {}).values()) for name in ("captured", "shipped")}
    waiting = proxy.get("spool", {}).get("records", 0)
    lost, stripped = ({k: v for k, v in counters.get(name, {}).items() if v} for name in ("lost", "stripped"))
    signals: dict[str, dict[str, Any]] = {}
    for point in points:
        what = point["name"].removeprefix("spanlore.collector.")
        if what not in ("received", "stored", "dropped"):
            continue
        told = signals.setdefault(point["attributes"]["signal"], {"received": 0, "stored": 0, "dropped": {}})
        if what == "dropped":
            told["dropped"][point["attributes"]["reason"]] = point["value"]
        else:
            told[what] = point["value"]
    dropped = any(told["dropped"] for told in signals.values())
    return {
        "proxy": {**totals, "waiting": waiting, "lost": lost, "stripped": stripped},
        "collector": signals,
        "complete": not waiting and not lost and not dropped,
    }


def proxy_points(proxy: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The proxy's counters, spool, lag and overhead percentiles as values like the collector's own."""
    for name, reasons in proxy.get("counters", {}).items():
        for reason, count in reasons.items():
            yield _value(f"spanlore.proxy.{name}", count, {"reason": reason}, is_counter=True)
    for name in ("bytes", "records"):
        if name in proxy.get("spool", {}):
            yield _value(f"spanlore.proxy.spool.{name}", proxy["spool"][name])
    for name, value in proxy.get("lag", {}).items():
        yield _value(f"spanlore.proxy.lag.{name}", value or 0)
    for name, value in (proxy.get("overhead_ns") or {}).items():
        if name != "count":
            yield _value("spanlore.proxy.overhead", value / 1e6, {"quantile": name}, "ms")


def _value(
    name: str, value: float, attributes: Mapping[str, str] | None = None, unit: str = "", *, is_counter: bool = False
) -> dict[str, Any]:
    return {"name": name, "unit": unit, "attributes": dict(attributes or {}), "value": value, "monotonic": is_counter}


def _proxy_status(paths: Paths) -> dict[str, Any]:
    """What the proxy wrote last; empty where none runs beside this collector."""
    try:
        data = orjson.loads(paths.proxy_status_file.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}

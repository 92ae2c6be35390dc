"""The collector's own numbers, kept with opentelemetry-sdk in this process and read at GET /metrics; sent nowhere.

Instruments (all `spanlore.collector.*`): `received`, `stored`, `dropped` (by signal, `dropped` by reason), `requests`
(by signal and status), `request.duration` (ms), and as observed values `waiting.bytes`, `writer.lag` (ms that the
oldest batch has waited), `writer.groups`, `writer.duplicates`, `writer.failures`, `process.memory`. What the proxy
counts (captured, spooled, lost by reason, its overhead) is read from its status file and shown beside them, so that one
place tells the whole way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

import spanlore

_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)

type Observed = Callable[[], float]


class SelfMetrics:
    """Counters and one histogram; `observed` are read when asked."""

    def __init__(self, observed: Mapping[str, Observed] | None = None) -> None:
        self._reader = InMemoryMetricReader()
        resource = Resource({"service.name": "spanlore-collector", "service.version": spanlore.__version__})
        self._provider = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("spanlore.collector", spanlore.__version__)
        self._received = meter.create_counter("spanlore.collector.received", "1", "spans, records, points that came")
        self._stored = meter.create_counter("spanlore.collector.stored", "1", "of them acknowledged as committed")
        self._dropped = meter.create_counter("spanlore.collector.dropped", "1", "of them refused for good, by reason")
        self._requests = meter.create_counter("spanlore.collector.requests", "1", "answers, by status")
        self._duration = meter.create_histogram(
            "spanlore.collector.request.duration",
            "ms",
            "from the request to its answer",
            explicit_bucket_boundaries_advisory=_BUCKETS_MS,
        )
        for name, read in (observed or {}).items():
            meter.create_observable_gauge(f"spanlore.collector.{name}", [_callback(read)])

    def received(self, signal: str, count: int) -> None:
        """So many items came in a request that could be read."""
        self._received.add(count, {"signal": signal})

    def stored(self, signal: str, count: int) -> None:
        """So many are acknowledged as committed, those that were there already included."""
        self._stored.add(count, {"signal": signal})

    def dropped(self, signal: str, reason: str, count: int = 1) -> None:
        """So many will never be stored. Of a request that can't be read one is counted."""
        if count:
            self._dropped.add(count, {"signal": signal, "reason": reason})

    def answered(self, signal: str, status: int, lasted_ns: int) -> None:
        """A request was answered."""
        self._requests.add(1, {"signal": signal, "status": status})
        self._duration.record(lasted_ns / 1e6, {"signal": signal})

    def read(self) -> list[dict[str, Any]]:
        """All values: {name, unit, attributes, value} or {…, count, sum, bounds, buckets}."""
        data = self._reader.get_metrics_data()
        out: list[dict[str, Any]] = []
        for resource_metrics in data.resource_metrics if data else ():
            for scope_metrics in resource_metrics.scope_metrics:
                for metric in scope_metrics.metrics:
                    out.extend(_point(metric, point) for point in metric.data.data_points)
        return out

    def close(self) -> None:
        """Ends the provider."""
        self._provider.shutdown()


class _NoMetrics(SelfMetrics):
    """For those who count nothing."""

    def __init__(self) -> None:
        pass

    def received(self, signal: str, count: int) -> None: ...
    def stored(self, signal: str, count: int) -> None: ...
    def dropped(self, signal: str, reason: str, count: int = 1) -> None: ...
    def answered(self, signal: str, status: int, lasted_ns: int) -> None: ...


NO_METRICS = _NoMetrics()


def prometheus(points: Iterable[Mapping[str, Any]]) -> str:
    """The values in Prometheus' text format (version 0.0.4)."""
    lines: list[str] = []
    seen: set[str] = set()
    for point in points:
        name = str(point["name"]).replace(".", "_")
        unit = {"ms": "_milliseconds", "By": "_bytes"}.get(str(point["unit"]), "")
        is_histogram, is_counter = "buckets" in point, bool(point.get("monotonic"))
        full = f"{name}{unit}" + ("_total" if is_counter else "")
        if full not in seen:
            seen.add(full)
            kind = "histogram" if is_histogram else "counter" if is_counter else "gauge"
            lines.append(f"# TYPE {full} {kind}")
        labels = {str(key): str(value) for key, value in point["attributes"].items()}
        if not is_histogram:
            lines.append(f"{full}{_labels(labels)} {point['value']}")
            continue
        total = 0
        for bound, count in zip([*point["bounds"], "+Inf"], point["buckets"], strict=True):
            total += count
            lines.append(f"{full}_bucket{_labels({**labels, 'le': str(bound)})} {total}")
        lines += [f"{full}_sum{_labels(labels)} {point['sum']}", f"{full}_count{_labels(labels)} {point['count']}"]
    return "\n".join(lines) + "\n"


def _point(metric: Any, point: Any) -> dict[str, Any]:
    base = {"name": metric.name, "unit": metric.unit or "", "attributes": dict(point.attributes or {})}
    if hasattr(point, "bucket_counts"):
        buckets = {"bounds": list(point.explicit_bounds), "buckets": list(point.bucket_counts)}
        return {**base, "count": point.count, "sum": point.sum, **buckets}
    return {**base, "value": point.value, "monotonic": bool(getattr(metric.data, "is_monotonic", False))}


def _callback(read: Observed) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(read())

    return observe


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    escaped = (
        (key, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for key, value in labels.items()
    )
    return "{" + ",".join(f'{key.replace(".", "_")}="{value}"' for key, value in escaped) + "}"

"""OTLP metric requests → rows of the five `otel_metrics_*` tables. Pure.

Source: opentelemetry-proto, `metrics/v1/metrics.proto`; the rows as collector-contrib's ClickHouse exporter writes them
(`internal/metrics/*.go`): one row a data point, integers as Float64, absent minimum, maximum and sum as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    SummaryDataPoint,
)

from spanlore.otlp.attributes import attributes_of
from spanlore.otlp.codec import MalformedOtlpError, ids_to_base64, read_json
from spanlore.otlp.json_items import FAULTS, Rejected, readable
from spanlore_collector.store.attributes import MAX_INT64, strings

_POINTS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_JSON_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram")


@dataclass(slots=True)
class MetricRows:
    """A request's data points as rows."""

    tables: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    """Table → rows, in the order of `store.signals.COLUMNS`."""
    refused: int = 0
    """Metrics of a kind that has no table."""


def decode_metrics(data: bytes) -> MetricRows:
    """The rows of a serialized `ExportMetricsServiceRequest`.

    Raises:
        MalformedOtlpError: not protobuf, or not this message.
    """
    try:
        return _rows(ExportMetricsServiceRequest.FromString(data))
    except DecodeError as error:
        raise MalformedOtlpError(f"not an OTLP metrics request: {error}") from None


def decode_json_metrics(data: bytes, rejected: Rejected | None = None) -> MetricRows:
    """The same from OTLP/JSON. Data points that can't be read, and those of a metric that can't, are left out and told
    `rejected`; without one they are an error.

    Raises:
        MalformedOtlpError: not JSON, or not this message.
    """

    def read(document: Any, rejected: Rejected | None) -> MetricRows:
        for scope_metrics in _json_scopes(document):
            metrics = scope_metrics.get("metrics") or ()
            if rejected is not None:
                scope_metrics["metrics"] = list(_readable_metrics(metrics, rejected))
            else:
                _ids_of_metrics(metrics)
        return _rows(ParseDict(document, ExportMetricsServiceRequest(), ignore_unknown_fields=True))

    return read_json(data, "metrics", read, rejected)


def _ids_of_metrics(metrics: Iterable[Any]) -> None:
    for metric in metrics:
        for kind in _JSON_POINTS:
            for point in (metric.get(kind) or {}).get("dataPoints") or ():
                _ids_of_point(point)


def _json_scopes(document: Any) -> Iterator[dict[str, Any]]:
    for resource_metrics in document.get("resourceMetrics") or ():
        yield from resource_metrics.get("scopeMetrics") or ()


def _readable_metrics(metrics: Iterable[Any], rejected: Rejected) -> Iterator[Any]:
    for metric in metrics:
        points = 0
        try:
            for kind, read in _READ_POINT.items():
                if data := metric.get(kind):
                    data["dataPoints"] = readable(data.get("dataPoints") or (), read, rejected)
                    points += len(data["dataPoints"])
            ParseDict(metric, Metric(), ignore_unknown_fields=True)
        except FAULTS as error:
            rejected.add(error, max(points, 1))
        else:
            yield metric


def _ids_of_point(point: dict[str, Any]) -> None:
    for exemplar in point.get("exemplars") or ():
        ids_to_base64(exemplar, ("traceId", "spanId"))


def _reading(kind: type[Message]) -> Callable[[Any], None]:
    def read(point: dict[str, Any]) -> None:
        _ids_of_point(point)
        ParseDict(point, kind(), ignore_unknown_fields=True)

    return read


_READ_POINT: Final = {
    "gauge": _reading(NumberDataPoint),
    "sum": _reading(NumberDataPoint),
    "histogram": _reading(HistogramDataPoint),
    "exponentialHistogram": _reading(ExponentialHistogramDataPoint),
    "summary": _reading(SummaryDataPoint),
}


def _rows(request: ExportMetricsServiceRequest) -> MetricRows:
    out = MetricRows()
    for resource_metrics in request.resource_metrics:
        attributes = attributes_of(resource_metrics.resource.attributes)
        resource = (strings(attributes), resource_metrics.schema_url)
        service = str(attributes.get("service.name", ""))
        for scope_metrics in resource_metrics.scope_metrics:
            scope = scope_metrics.scope
            origin = (
                *resource,
                scope.name,
                scope.version,
                strings(attributes_of(scope.attributes)),
                scope.dropped_attributes_count,
                scope_metrics.schema_url,
                service,
            )
            for metric in scope_metrics.metrics:
                _add(out, origin, metric)
    return out


def _add(out: MetricRows, origin: tuple[Any, ...], metric: Metric) -> None:
    kind = metric.WhichOneof("data")
    if kind not in _POINTS:
        out.refused += 1
        return
    rows = out.tables.setdefault(f"otel_metrics_{kind}", [])
    data: Any = getattr(metric, kind)
    named = (*origin, metric.name, metric.description, metric.unit)
    for point in data.data_points:
        where = (
            *named,
            strings(attributes_of(point.attributes)),
            min(point.start_time_unix_nano, MAX_INT64),
            min(point.time_unix_nano, MAX_INT64),
        )
        rows.append((*where, *_POINT[kind](point, data)))


def _gauge(point: Any, _: Any) -> tuple[Any, ...]:
    return _number(point), point.flags, *_exemplars(point)


def _sum(point: Any, data: Any) -> tuple[Any, ...]:
    return _number(point), point.flags, *_exemplars(point), data.aggregation_temporality, data.is_monotonic


def _histogram(point: Any, data: Any) -> tuple[Any, ...]:
    return (
        point.count,
        point.sum,
        list(point.bucket_counts),
        list(point.explicit_bounds),
        *_exemplars(point),
        point.flags,
        point.min,
        point.max,
        data.aggregation_temporality,
    )


def _exponential(point: Any, data: Any) -> tuple[Any, ...]:
    return (
        point.count,
        point.sum,
        point.scale,
        point.zero_count,
        point.positive.offset,
        list(point.positive.bucket_counts),
        point.negative.offset,
        list(point.negative.bucket_counts),
        *_exemplars(point),
        point.flags,
        point.min,
        point.max,
        data.aggregation_temporality,
    )


def _summary(point: Any, _: Any) -> tuple[Any, ...]:
    quantiles = point.quantile_values
    return point.count, point.sum, [q.quantile for q in quantiles], [q.value for q in quantiles], point.flags


_POINT = {
    "gauge": _gauge,
    "sum": _sum,
    "histogram": _histogram,
    "exponential_histogram": _exponential,
    "summary": _summary,
}


def _number(point: Any) -> float:
    return float(point.as_int) if point.WhichOneof("value") == "as_int" else point.as_double


def _exemplars(point: Any) -> tuple[list[Any], ...]:
    kept = point.exemplars
    return (
        [strings(attributes_of(item.filtered_attributes)) for item in kept],
        [min(item.time_unix_nano, MAX_INT64) for item in kept],
        [_number(item) for item in kept],
        [item.span_id.hex() for item in kept],
        [item.trace_id.hex() for item in kept],
    )

"""Logs and metrics in the store: their tables' columns, and an insert that a repeated request does not double.

Log records and data points have no ids. A sender that got no answer sends the same bytes again, so each insert carries
a token of the request: the engine drops what it has seen within its deduplication window (the newest 1,000 inserts of a
table). Blocks are split by partition after the token is applied, so a request over several days stays one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ORIGIN = (
    "ResourceAttributes",
    "ResourceSchemaUrl",
    "ScopeName",
    "ScopeVersion",
    "ScopeAttributes",
    "ScopeDroppedAttrCount",
    "ScopeSchemaUrl",
    "ServiceName",
    "MetricName",
    "MetricDescription",
    "MetricUnit",
    "Attributes",
    "StartTimeUnix",
    "TimeUnix",
)
_EXEMPLARS = (
    "Exemplars.FilteredAttributes",
    "Exemplars.TimeUnix",
    "Exemplars.Value",
    "Exemplars.SpanId",
    "Exemplars.TraceId",
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "otel_logs": (
        "Timestamp",
        "TraceId",
        "SpanId",
        "TraceFlags",
        "SeverityText",
        "SeverityNumber",
        "ServiceName",
        "Body",
        "ResourceSchemaUrl",
        "ResourceAttributes",
        "ScopeSchemaUrl",
        "ScopeName",
        "ScopeVersion",
        "ScopeAttributes",
        "LogAttributes",
        "EventName",
    ),
    "otel_metrics_gauge": (*_ORIGIN, "Value", "Flags", *_EXEMPLARS),
    "otel_metrics_sum": (*_ORIGIN, "Value", "Flags", *_EXEMPLARS, "AggregationTemporality", "IsMonotonic"),
    "otel_metrics_histogram": (
        *_ORIGIN,
        "Count",
        "Sum",
        "BucketCounts",
        "ExplicitBounds",
        *_EXEMPLARS,
        "Flags",
        "Min",
        "Max",
        "AggregationTemporality",
    ),
    "otel_metrics_exponential_histogram": (
        *_ORIGIN,
        "Count",
        "Sum",
        "Scale",
        "ZeroCount",
        "PositiveOffset",
        "PositiveBucketCounts",
        "NegativeOffset",
        "NegativeBucketCounts",
        *_EXEMPLARS,
        "Flags",
        "Min",
        "Max",
        "AggregationTemporality",
    ),
    "otel_metrics_summary": (
        *_ORIGIN,
        "Count",
        "Sum",
        "ValueAtQuantiles.Quantile",
        "ValueAtQuantiles.Value",
        "Flags",
    ),
}
"""Table → columns, in the order of its rows."""


@dataclass(frozen=True, slots=True)
class SignalRows:
    """The rows of one request, by table, with the token that names the request."""

    tables: Mapping[str, Sequence[tuple[Any, ...]]]
    token: str

    @property
    def count(self) -> int:
        """Rows in all."""
        return sum(len(rows) for rows in self.tables.values())

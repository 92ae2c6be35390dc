"""An OTLP metrics request with one metric of each kind."""

from __future__ import annotations

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")


def request_of_all_kinds() -> ExportMetricsServiceRequest:
    """One metric of each kind, and one without data."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add(schema_url="https://r")
    service = resource.resource.attributes.add(key="service.name")
    service.value.string_value = "claude-code"
    metrics = resource.scope_metrics.add(schema_url="https://s").metrics
    point = metrics.add(name="g", unit="1").gauge.data_points.add(time_unix_nano=10, as_int=3)
    exemplar = point.exemplars.add(time_unix_nano=9, as_double=2.5, span_id=b"s" * 8, trace_id=b"t" * 16)
    exemplar.filtered_attributes.add(key="k").value.string_value = "v"
    total = metrics.add(name="s", description="d").sum
    total.aggregation_temporality, total.is_monotonic = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA, True
    total.data_points.add(start_time_unix_nano=1, time_unix_nano=11, as_double=0.5)
    histogram = metrics.add(name="h").histogram
    histogram.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    histogram.data_points.add(
        time_unix_nano=12, count=3, sum=6, bucket_counts=[1, 2], explicit_bounds=[1.5], min=1, max=4
    )
    exponential = metrics.add(name="e").exponential_histogram.data_points.add(time_unix_nano=13, count=4, scale=2)
    exponential.positive.offset = -1
    exponential.positive.bucket_counts.extend([4])
    metrics.add(name="q").summary.data_points.add(time_unix_nano=14, count=2, sum=3).quantile_values.add(
        quantile=0.5, value=1.5
    )
    metrics.add(name="empty")
    return request

"""OTLP metrics become rows, one a data point."""

from __future__ import annotations

import pytest

from spanlore.otlp.codec import MalformedOtlpError
from spanlore_collector.ingest.metrics import decode_json_metrics, decode_metrics
from spanlore_collector.store.signals import COLUMNS
from support.metrics_request import request_of_all_kinds


def test_every_kind_has_its_table() -> None:
    """Gauge, sum, both histograms and summary; a metric without data is refused and counted."""
    found = decode_metrics(request_of_all_kinds().SerializeToString())
    rows = {
        table.removeprefix("otel_metrics_"): dict(zip(COLUMNS[table], only, strict=True))
        for table, (only,) in found.tables.items()
    }

    assert found.refused == 1
    assert {name: row["MetricName"] for name, row in rows.items()} == {
        "gauge": "g",
        "sum": "s",
        "histogram": "h",
        "exponential_histogram": "e",
        "summary": "q",
    }
    assert (rows["gauge"]["Value"], rows["gauge"]["ServiceName"], rows["gauge"]["TimeUnix"]) == (3.0, "claude-code", 10)
    assert (rows["gauge"]["Exemplars.Value"], rows["gauge"]["Exemplars.TraceId"]) == ([2.5], [(b"t" * 16).hex()])
    assert rows["gauge"]["Exemplars.FilteredAttributes"] == [{"k": "v"}]
    assert (rows["sum"]["AggregationTemporality"], rows["sum"]["IsMonotonic"]) == (1, True)
    assert (rows["histogram"]["BucketCounts"], rows["histogram"]["ExplicitBounds"]) == ([1, 2], [1.5])
    assert (rows["histogram"]["Min"], rows["histogram"]["Max"], rows["histogram"]["Sum"]) == (1, 4, 6)
    assert (rows["exponential_histogram"]["PositiveOffset"], rows["exponential_histogram"]["Scale"]) == (-1, 2)
    assert (rows["summary"]["ValueAtQuantiles.Quantile"], rows["summary"]["ValueAtQuantiles.Value"]) == ([0.5], [1.5])


def test_json_is_read_as_protobuf_is() -> None:
    """64-bit integers as text, hex ids in exemplars."""
    found = decode_json_metrics(
        b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"n","sum":{"isMonotonic":true,'
        b'"aggregationTemporality":1,"dataPoints":[{"timeUnixNano":"17","asInt":"4","exemplars":'
        b'[{"traceId":"5b8efff798038103d269b633813fc60c","asDouble":1}]}]}}]}]}]}'
    )
    row = dict(zip(COLUMNS["otel_metrics_sum"], found.tables["otel_metrics_sum"][0], strict=True))

    assert (row["TimeUnix"], row["Value"]) == (17, 4.0)
    assert row["Exemplars.TraceId"] == ["5b8efff798038103d269b633813fc60c"]


@pytest.mark.parametrize("body", [b"{", b'{"resourceMetrics": "x"}'])
def test_what_is_no_request_is_told(body: bytes) -> None:
    """JSON that is no metrics request is an error of the sender."""
    with pytest.raises(MalformedOtlpError):
        decode_json_metrics(body)

"""The collector's own numbers."""

from __future__ import annotations

from spanlore_collector.ingest.selfmetrics import NO_METRICS, SelfMetrics, prometheus


def test_what_is_counted_can_be_read() -> None:
    """Counters by signal and reason, a histogram of answers, and values read when asked."""
    metrics = SelfMetrics({"waiting.bytes": lambda: 7})
    metrics.received("traces", 5)
    metrics.stored("traces", 4)
    metrics.dropped("traces", "invalid_ids")
    metrics.dropped("traces", "nothing", 0)
    metrics.answered("traces", 200, 3_000_000)
    points = {(point["name"], point["attributes"].get("reason", "")): point for point in metrics.read()}
    text = prometheus(points.values())
    metrics.close()

    assert points["spanlore.collector.received", ""]["value"] == 5
    assert points["spanlore.collector.dropped", "invalid_ids"]["value"] == 1
    assert ("spanlore.collector.dropped", "nothing") not in points
    assert points["spanlore.collector.waiting.bytes", ""]["value"] == 7
    assert 'spanlore_collector_stored_total{signal="traces"} 4' in text
    assert 'request_duration_milliseconds_bucket{signal="traces",le="5"} 1' in text
    assert 'request_duration_milliseconds_bucket{signal="traces",le="2"} 0' in text


def test_nobody_has_to_count() -> None:
    """The one that counts nothing takes everything."""
    NO_METRICS.received("logs", 1)
    NO_METRICS.answered("logs", 200, 1)

"""How the collector is."""

from __future__ import annotations

import json

import spanlore
from spanlore_collector.api.status import completeness_of
from spanlore_collector.bench.sample import sample_spans
from support.collector_process import CollectorProcess


def test_status_counts_what_was_stored(collector: CollectorProcess) -> None:
    """Batches, spans and duplicates of this process; rows and bytes of the store."""
    before = collector.request("GET", "/v1/status").json()
    for _ in range(2):
        collector.post_spans(sample_spans(9, seed=61))
    after = collector.request("GET", "/v1/status").json()

    assert after["ingest"]["spans"] - before["ingest"]["spans"] == 9
    assert after["ingest"]["duplicates"] - before["ingest"]["duplicates"] == 9
    assert after["store"]["tables"]["otel_traces"]["rows"] >= 9
    assert (after["version"], after["store"]["kind"]) == (spanlore.__version__, "chdb")


def test_health_needs_no_token(collector: CollectorProcess) -> None:
    """For supervisors and load balancers."""
    assert collector.request("GET", "/healthz", headers={"Authorization": ""}).json()["status"] == "ok"


def test_the_whole_way_is_told_in_numbers(collector: CollectorProcess) -> None:
    """What came, was stored, was refused and why; the proxy's counters beside them, as JSON and as Prometheus."""
    counters = {"captured": {"total": 5}, "shipped": {"total": 3}, "lost": {"disk_full": 1}}
    proxy = {"counters": counters, "spool": {"records": 1, "bytes": 9}, "overhead_ns": {"count": 2, "p99": 1_500_000}}
    collector.post_spans(sample_spans(3, seed=62))
    collector.post_body(b"\xff\xff")
    collector.paths.proxy_status_file.write_text(json.dumps(proxy))
    try:
        whole = collector.request("GET", "/v1/completeness").json()
        text = collector.request("GET", "/metrics").body.decode()
        points = collector.request("GET", "/metrics?format=json").json()["metrics"]
    finally:
        collector.paths.proxy_status_file.unlink()

    assert whole["proxy"] == {"captured": 5, "shipped": 3, "waiting": 1, "lost": {"disk_full": 1}, "stripped": {}}
    assert whole["collector"]["traces"]["stored"] >= 3
    assert whole["collector"]["traces"]["dropped"]["malformed"] >= 1
    assert whole["complete"] is False
    assert 'spanlore_proxy_lost_total{reason="disk_full"} 1' in text
    assert 'spanlore_proxy_overhead_milliseconds{quantile="p99"} 1.5' in text
    assert {point["name"] for point in points} >= {"spanlore.collector.writer.lag", "spanlore.proxy.spool.records"}


def test_nothing_lost_is_complete() -> None:
    """Without a proxy beside it, and nothing refused, all is there."""
    assert completeness_of({}, [])["complete"] is True

"""How the collector is."""

from __future__ import annotations

import spanlore
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

"""Tidying the store while it is in use."""

from __future__ import annotations

from spanlore_collector.bench.sample import sample_spans
from support.collector_process import CollectorProcess


def test_the_store_is_compacted_in_use(collector: CollectorProcess) -> None:
    """All tables are merged and the answer says so; ingest goes on afterwards."""
    collector.post_spans(sample_spans(9, seed=63))
    done = collector.request("POST", "/v1/store/compact").json()

    assert {"otel_traces", "texts"} <= set(done["tables"])
    assert done["content_deleted"] == 0
    assert collector.post_spans(sample_spans(9, seed=64)).status == 200

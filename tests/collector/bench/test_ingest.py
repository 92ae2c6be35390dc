"""Measuring the collector."""

from __future__ import annotations

from dataclasses import replace

import psutil
import pytest

from spanlore_collector.bench.ingest import Round, Running, decode_s, latencies_ms, result_of, send_all, table
from support.collector_process import CollectorProcess

ROUND = Round(
    spans=1000,
    collected=90,
    engine=100,
    traces=200,
    decoded=50,
    latency_p50_ms=20,
    latency_p99_ms=30,
    start_mb=300,
    end_mb=400,
)


def running(collector: CollectorProcess) -> Running:
    return Running(collector.port, collector.clickhouse_port, collector.token, psutil.Process(collector.pid))


def test_all_spans_are_sent_and_counted(collector: CollectorProcess) -> None:
    """Several senders share the batches; what is stored is what was sent."""
    assert send_all(running(collector), 200, 64, 3, seed=71) > 0
    with pytest.raises(RuntimeError, match="0 spans were stored, not 200"):
        send_all(running(collector), 200, 64, 3, seed=71)


def test_latency_and_decoding_are_timed(collector: CollectorProcess) -> None:
    """A wait for each batch that ends when a query finds it; decoding takes time of its own."""
    assert all(wait > 0 for wait in latencies_ms(running(collector), 16, seed=72))
    assert decode_s(16) > 0


def test_ratios_are_those_of_each_round() -> None:
    """A slow moment slows both sides of its round; the median of the ratios is what counts, for each size."""
    rounds = [replace(ROUND, collected=60, end_mb=500), replace(ROUND, collected=6, engine=10, traces=20), ROUND]
    result = result_of([*rounds, replace(ROUND, spans=2000)])
    rows = {(row["what"], row["spans"]): row for row in result["rows"]}

    assert rows["collector / engine, same tables", 1000]["share_of_engine"] == 0.6
    assert rows["collector / engine, same tables", 2000]["share_of_engine"] == 0.9
    assert rows["collector / engine, otel_traces only", 1000]["share_of_traces"] == 0.3
    assert (rows["collector's memory", 1000]["start_mb"], rows["collector's memory", 1000]["rss_mb"]) == (300, 500)
    assert result["within_budget"] is True
    assert "within budget" in table(result)


@pytest.mark.parametrize("beyond", [replace(ROUND, collected=40), replace(ROUND, end_mb=1_000)])
def test_beyond_a_budget(beyond: Round) -> None:
    """Too slow against the engine, or too large."""
    result = result_of([ROUND, replace(beyond, spans=2000)])

    assert result["within_budget"] is False
    assert "NOT within budget" in table(result)

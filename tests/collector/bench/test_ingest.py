"""Measuring the collector."""

from __future__ import annotations

import psutil
import pytest

from spanlore_collector.bench.ingest import Plan, Round, Running, result_of, send_all, table
from support.collector_process import CollectorProcess


def test_all_spans_are_sent_and_counted(collector: CollectorProcess) -> None:
    """Several senders share the batches; what is stored is what was sent."""
    running = Running(collector.port, collector.token, psutil.Process(collector.pid))

    assert send_all(running, Plan(spans=200, batch=64, senders=3, rounds=1), seed=71) > 0
    with pytest.raises(RuntimeError, match="0 spans were stored, not 200"):
        send_all(running, Plan(spans=200, batch=64, senders=3, rounds=1), seed=71)


def test_ratios_are_those_of_each_round() -> None:
    """A slow moment slows both sides of its round; the median of the ratios is what counts."""
    result = result_of([Round(60, 100, 200, 300, 400), Round(6, 10, 20, 300, 410), Round(90, 100, 200, 300, 500)])

    assert result["rows"][3] == {"what": "collector / engine, same tables", "share_of_engine": 0.6}
    assert result["rows"][4] == {"what": "collector's memory", "start_mb": 300, "rss_mb": 500}
    assert result["within_budget"] is True
    assert "within budget" in table(result)


@pytest.mark.parametrize("beyond", [Round(40, 100, 200, 300, 400), Round(90, 100, 200, 300, 1_000)])
def test_beyond_a_budget(beyond: Round) -> None:
    """Too slow against the engine, or too large."""
    result = result_of([beyond])

    assert result["within_budget"] is False
    assert "NOT within budget" in table(result)

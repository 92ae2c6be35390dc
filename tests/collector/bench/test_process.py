"""A collector to measure."""

from __future__ import annotations

from pathlib import Path

from spanlore_collector.bench.process import running_collector
from spanlore_collector.store.reader import Reader


def test_it_answers_while_it_is_needed(tmp_path: Path) -> None:
    """On ports of its own, and is gone afterwards."""
    with running_collector(tmp_path) as running, Reader(running.clickhouse_url, running.token) as reader:
        assert reader.rows("SELECT 1 AS a") == [{"a": 1}]
        assert running.process.is_running()

    assert not running.process.is_running()

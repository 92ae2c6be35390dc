"""The benchmark of queries."""

from __future__ import annotations

from spanlore_collector.bench.queries import DASHBOARD, Plan, ask_all, is_within, measure, table
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.reader import Reader
from support.collector_process import CollectorProcess


def test_everything_is_asked_and_answered(collector: CollectorProcess) -> None:
    """A row a question, each with its times; a question without an answer is an error."""
    assert collector.post_spans(sample_spans(300, seed=91)).status == 200
    with Reader(collector.clickhouse_url, collector.token) as reader:
        rows = ask_all(reader, 300, rounds=2)

    assert [row["what"] for row in rows] == ["last 50 sessions", "one session", *DASHBOARD]
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows)


def test_a_small_run_of_all() -> None:
    """Filling, starting, asking, the table and the budgets."""
    result = measure(Plan((300,), 1))

    assert result["bench"] == "queries"
    assert {row["spans"] for row in result["rows"]} == {300}
    assert result["rows"][-1]["rss_mb"] > 50
    assert "last 50 sessions" in table(result)


def test_budgets_are_kept_or_not() -> None:
    """By kind of question; what has no time has no budget."""
    assert is_within({"what": "one session", "kind": "one session", "p95_ms": 40})
    assert not is_within({"what": "one session", "kind": "one session", "p95_ms": 41})
    assert not is_within({"what": "one trace", "kind": "dashboard query", "p95_ms": 301})
    assert is_within({"what": "collector's memory", "rss_mb": 500})

import pytest

from spanlore_collector.store.api_client import MemoryClient, RequestRefusedError
from support.collector_process import CollectorProcess


def test_summaries_are_kept(collector: CollectorProcess) -> None:
    """And asked for by SQL; what is no summary is refused with its place."""
    client = MemoryClient(collector.url, collector.token)
    row = {"session_id": "api-sum-1", "start_time_ns": 1, "end_time_ns": 2, "steps": 3, "text": "Goal: x", "json": "{}"}
    month = {"repository": "r", "period": "2026-10", "source": "a" * 32, "text": "t"}
    kept = client.keep_summaries([row], [month])
    found = collector.rows("SELECT text, steps FROM session_summaries WHERE session_id = 'api-sum-1'")

    assert kept == 2
    assert [list(row.values() if isinstance(row, dict) else row) for row in found] == [["Goal: x", 3]]
    with pytest.raises(RequestRefusedError, match=r"summaries\.0\.steps"):
        client.keep_summaries([{**row, "steps": -1}])
    with pytest.raises(RequestRefusedError, match=r"chapters\.0\.period"):
        client.keep_summaries(chapters=[{**month, "period": "2026"}])
    assert client.keep_summaries() == 0

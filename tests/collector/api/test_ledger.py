import orjson
import pytest

from spanlore_collector.store.api_client import MemoryClient, RequestRefusedError
from support.collector_process import CollectorProcess


def test_calls_are_kept_apart_from_the_agents(collector: CollectorProcess) -> None:
    """In the ledger by kind, never summed; a wrong row is refused with its place."""
    client = MemoryClient(collector.url, collector.token)
    call = {"phase": "judge", "memory_id": "m-led", "model": "small", "outcome": "keep", "input_tokens": 90,
            "output_tokens": 10, "cache_read_tokens": 40, "cost_usd": 0.5}  # fmt: skip
    added = client.add_internal_calls([call, {"phase": "judge", "memory_id": "m-led", "outcome": "not asked"}])
    [row] = collector.rows("SELECT count() AS n, sum(input_tokens) AS i FROM internal_calls WHERE memory_id = 'm-led'")
    [day] = collector.rows("SELECT internal_tokens, internal_cache_read_tokens, internal_usd, internal_calls "
                           "FROM token_ledger WHERE internal_calls > 0")  # fmt: skip

    assert added == 2
    assert [int(value) for value in (row.values() if isinstance(row, dict) else row)] == [2, 90]
    assert [float(value) for value in (day.values() if isinstance(day, dict) else day)] == [100, 40, 0.5, 1]
    with pytest.raises(RequestRefusedError, match=r"calls\.0\.outcome"):
        client.add_internal_calls([{"phase": "judge"}])
    assert collector.request("POST", "/v1/ledger", orjson.dumps([])).status == 400

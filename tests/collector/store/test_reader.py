"""Reading the store from another process."""

from __future__ import annotations

import pytest

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.reader import QueryFailedError, Reader, StoreUnavailableError
from support.collector_process import CollectorProcess


def test_rows_are_dictionaries(collector: CollectorProcess) -> None:
    """Parameters are bound by the engine; types are Python's own."""
    assert collector.post_spans(sample_spans(30, seed=41)).status == 200
    with Reader(collector.clickhouse_url, collector.token) as reader:
        rows = reader.rows(
            "SELECT session_id, sum(cost_usd) > 0 AS paid, any(injected_memory_ids) AS ids, count() AS n "
            "FROM inferences WHERE session_id = {session:String} AND start_time > toDateTime64(0, 9) "
            "GROUP BY session_id",
            {"session": "session-41-0"},
        )

        assert [(row["session_id"], row["paid"], row["ids"]) for row in rows] == [("session-41-0", 1, [])]
        assert rows[0]["n"] > 5
        assert reader.rows("SELECT 1 AS a WHERE 0") == []


def test_text_of_any_kind_is_a_parameter(collector: CollectorProcess) -> None:
    """Quotes, backslashes, tabs and newlines come back as they were."""
    text = 'it\'s "quoted"\\ \t and\nmore ünïcode'
    with Reader(collector.clickhouse_url, collector.token) as reader:
        assert reader.rows("SELECT {text:String} AS text", {"text": text}) == [{"text": text}]


def test_a_query_that_is_wrong_is_told(collector: CollectorProcess) -> None:
    """The engine's message, not a stack of the driver's."""
    with Reader(collector.clickhouse_url, collector.token) as reader, pytest.raises(QueryFailedError, match="nowhere"):
        reader.rows("SELECT * FROM nowhere")


@pytest.mark.parametrize("what", ["token", "port"])
def test_whoever_does_not_answer_is_unavailable(collector: CollectorProcess, what: str) -> None:
    """The message says what to do."""
    reader = Reader("http://127.0.0.1:1" if what == "port" else collector.clickhouse_url, "wrong")
    with reader, pytest.raises((StoreUnavailableError, QueryFailedError), match=r"spanlore up|AUTHENTICATION_FAILED"):
        reader.rows("SELECT 1")

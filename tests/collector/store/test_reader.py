"""Reading the store from another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.api_client import MemoryClient
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.reader import QueryFailedError, Reader, StoreUnavailableError
from spanlore_collector.store.rows import rows_of
from spanlore_collector.store.views import SessionSource, list_sessions, session_spans, sessions_named
from support.collector_process import CollectorProcess

SPANS = sample_spans(120, seed=43)


class InProcess:
    """The embedded store's own client as a source of rows."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """As `Reader.rows`."""
        return list(self._client.query(sql, parameters=parameters).named_results())

    def each(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[dict[str, Any]]]:
        """As `Reader.each`, one after the other: a connection of chDB runs one query at a time."""
        return [self.rows(*one) for one in asked]


def fill(store: Store) -> Client:
    """A client of a store that has the spans."""
    client = store.connect()
    Inserter(client).insert([[rows_of(span, 1_790_000_000_000) for span in SPANS]])
    return client


@pytest.fixture(params=["direct", "interface"])
def source(request: pytest.FixtureRequest, store: Store) -> Iterator[SessionSource]:
    """The same spans wherever they can be: chDB in this process, chDB behind the interface, a ClickHouse server."""
    if request.param == "interface":
        if not store.path:
            pytest.skip("a server is its own interface")
        collector: CollectorProcess = request.getfixturevalue("collector")
        assert collector.post_spans(SPANS).status == 200
        with Reader(collector.clickhouse_url, collector.token) as reader:
            yield reader
        return
    client = fill(store)
    try:
        if store.path:
            yield InProcess(client)
        else:
            with Reader(store.url) as reader:
                yield reader
    finally:
        client.close()


@pytest.mark.usefixtures("server_url")
def test_a_server_is_tested_too() -> None:
    """Says in the report why the tests above did not run on a server, where none is named."""


def test_the_same_wherever_the_rows_are(source: SessionSource) -> None:
    """Sessions, one session, types, parameters: one answer from all three."""
    listed = [row for row in list_sessions(source, limit=1000) if row["session_id"].startswith("session-43-")]
    found = sessions_named(source, "session-43-0")
    spans = session_spans(source, found[0])
    (row,) = source.rows(
        "SELECT {text:String} AS text, {n:Int64} AS n, {list:Array(String)} AS list, toDecimal64('1.5', 9) AS cost, "
        "toDateTime64('2026-01-02 03:04:05.123456789', 9, 'UTC') AS time, map('a', 'b') AS map, "
        "CAST(NULL, 'Nullable(UInt64)') AS nothing, toLowCardinality('x') AS word, [toNullable(1), NULL] AS gaps",
        {"text": "it's\t\n\\", "n": -5, "list": ["a'b", "c"]},
    )

    assert sum(session["inferences"] + session["tool_calls"] + session["turns"] for session in listed) == len(SPANS)
    assert [session["session_id"] for session in found] == ["session-43-0"]
    assert (len(spans.turns), len(spans.inferences), len(spans.tool_calls)) == tuple(
        found[0][name] for name in ("turns", "inferences", "tool_calls")
    )
    assert (row["text"], row["n"], row["list"]) == ("it's\t\n\\", -5, ["a'b", "c"])
    assert (row["cost"], row["map"], row["nothing"], row["word"]) == (Decimal("1.5"), {"a": "b"}, None, "x")
    assert list(row["gaps"]) == [1, None]
    assert str(row["time"]).startswith("2026-01-02 03:04:05.123456")


def test_rows_are_dictionaries(collector: CollectorProcess) -> None:
    """Parameters are bound by the engine; types are Python's own."""
    assert collector.post_spans(sample_spans(30, seed=41)).status == 200
    with Reader(collector.clickhouse_url, collector.token) as reader:
        rows = reader.rows(
            "SELECT session_id, sum(cost_usd) > 0 AS paid, any(branch) AS branch, count() AS n "
            "FROM inferences WHERE session_id = {session:String} AND start_time > toDateTime64(0, 9) "
            "GROUP BY session_id",
            {"session": "session-41-0"},
        )

        assert [(row["session_id"], row["paid"], row["branch"]) for row in rows] == [("session-41-0", 1, "main")]
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


def test_whose_connection_is_refused_is_told_in_the_systems_words() -> None:
    """Not in those of the libraries, which name each other."""
    reader, api = Reader("http://127.0.0.1:1"), MemoryClient("http://127.0.0.1:1", "x")
    for what, ask in (("store", lambda: reader.rows("SELECT 1")), ("collector", api.status)):
        with pytest.raises(StoreUnavailableError) as told:
            ask()
        assert str(told.value).startswith(
            f"the {what} does not answer at http://127.0.0.1:1 (connection refused). Is the"
        )


@pytest.mark.parametrize("what", ["token", "port"])
def test_whoever_does_not_answer_is_unavailable(collector: CollectorProcess, what: str) -> None:
    """The message says what to do."""
    reader = Reader("http://127.0.0.1:1" if what == "port" else collector.clickhouse_url, "wrong")
    with reader, pytest.raises((StoreUnavailableError, QueryFailedError), match=r"spanlore up|AUTHENTICATION_FAILED"):
        reader.rows("SELECT 1")

"""Logs and metrics in the store."""

from __future__ import annotations

from clickhouse_connect.driver.client import Client

from spanlore_collector.ingest.logs import LogRecord, log_rows
from spanlore_collector.ingest.metrics import decode_metrics
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.signals import COLUMNS, SignalRows
from support.metrics_request import KINDS, request_of_all_kinds


def _counts(client: Client) -> dict[str, int]:
    return {kind: client.query(f"SELECT count() FROM otel_metrics_{kind}").result_rows[0][0] for kind in KINDS}


def test_a_request_sent_twice_is_stored_once(store: Store) -> None:
    """All six tables take their rows; the same request again is dropped by its token, another one is not."""
    metrics = decode_metrics(request_of_all_kinds().SerializeToString()).tables
    times_ns = (1_790_000_000_000_000_000, 1_790_100_000_000_000_000)
    logs = log_rows([LogRecord(time_ns, "e", "twice", {"a": "b"}, {}) for time_ns in times_ns], 1)
    with store.connect() as client:
        inserter = Inserter(client)
        before = _counts(client)
        for token in ("signals-1", "signals-1", "signals-2"):
            inserter.insert_signals(SignalRows({"otel_logs": logs, **metrics}, token))
        counts = {kind: after - before[kind] for kind, after in _counts(client).items()}

        # Two days are two partitions, and still one insert.
        assert client.query("SELECT count() FROM otel_logs WHERE Body = 'twice'").result_rows == [(4,)]
        assert counts == dict.fromkeys(KINDS, 2)


def test_columns_are_those_of_the_tables(store: Store) -> None:
    """Every column of the exporter's tables is written, and no other."""
    with store.connect() as client:
        for table, columns in COLUMNS.items():
            sql = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {t:String}"
            assert {row[0] for row in client.query(sql, parameters={"t": table}).result_rows} == set(columns), table


def test_rows_are_counted_over_all_tables() -> None:
    """A request's size in rows."""
    assert SignalRows({"otel_logs": [(1,), (2,)], "otel_metrics_sum": [(3,)]}, "t").count == 3

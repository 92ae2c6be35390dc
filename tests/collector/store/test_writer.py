"""The one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store import writer as module
from spanlore_collector.store.client import Store
from spanlore_collector.store.rows import SpanRows, rows_of
from spanlore_collector.store.writer import BadRowsError, StoreFullError, Writer
from support.dying import FaultyClient

NOW_MS = 1_800_000_000_000
WAIT_S = 300


@pytest.fixture
def faulty(store: Store) -> FaultyClient:
    """A client that can be told to fail."""

    def fail() -> None:
        raise OSError("no space left")

    return FaultyClient(store.connect(), "", fail)


@pytest.fixture
def writer(faulty: Any) -> Iterator[Writer]:
    """A running writer."""
    writer = Writer(faulty)
    writer.start()
    yield writer
    assert writer.stop(WAIT_S)


def rows_for(seed: int, count: int = 20) -> list[SpanRows]:
    """Rows of spans that no other seed has."""
    return [rows_of(record, NOW_MS) for record in sample_spans(count, seed=seed)]


def test_a_future_is_done_when_the_rows_are_committed(store: Store, writer: Writer) -> None:
    """What was acknowledged is seen by another connection."""
    rows = rows_for(301)
    receipt = writer.submit(rows, 100).result(WAIT_S)
    with store.connect() as client:
        found = client.query(f"SELECT count() FROM otel_traces WHERE TraceId = '{rows[0].trace_id}'").result_rows[0][0]

    assert receipt.spans == 20
    assert found == sum(row.trace_id == rows[0].trace_id for row in rows)
    assert (writer.counters.batches, writer.counters.spans, writer.waiting_bytes) == (1, 20, 0)


def test_what_waits_is_written_together(writer: Writer) -> None:
    """Batches that arrive during other work become one group, and work keeps its place between them."""
    gate, order = threading.Event(), []
    writer.call(lambda _: gate.wait(WAIT_S))
    first = [writer.submit(rows_for(seed), 100) for seed in (302, 303, 304)]
    between = writer.call(lambda _: order.append(writer.counters.batches))
    last = writer.submit(rows_for(305), 100)
    gate.set()
    receipts = [future.result(WAIT_S) for future in (*first, last)]
    between.result(WAIT_S)

    assert [receipt.spans for receipt in receipts] == [20] * 4
    assert order == [3]
    assert writer.counters.groups == 2


def test_a_bad_batch_harms_only_its_sender(writer: Writer) -> None:
    """When a group fails its batches are tried one by one."""
    gate = threading.Event()
    writer.call(lambda _: gate.wait(WAIT_S))
    bad = rows_for(306)
    bad[3].trace = ("not a time", *bad[3].trace[1:])
    futures = [writer.submit(rows, 100) for rows in (rows_for(307), bad, rows_for(308))]
    gate.set()

    assert futures[0].result(WAIT_S).spans == 20
    with pytest.raises(BadRowsError):
        futures[1].result(WAIT_S)
    assert futures[2].result(WAIT_S).spans == 20


def test_a_store_that_refuses_is_told_and_tried_again(writer: Writer, faulty: FaultyClient) -> None:
    """A failing store is for the sender to try again; the writer lives on, and the repeated batch is stored once."""
    rows = rows_for(309)
    faulty.table = "inferences"
    with pytest.raises(StoreFullError, match="no space left") as raised:
        writer.submit(rows, 100).result(WAIT_S)
    faulty.table = ""
    receipt = writer.submit(rows, 100).result(WAIT_S)

    assert raised.value.retry_after_s > 0
    assert (receipt.spans, writer.counters.failures) == (20, 1)
    assert writer.is_alive


def test_too_much_waiting_is_refused(writer: Writer) -> None:
    """The queue is bounded by bytes, and a batch that is larger than the bound is still taken when nothing waits."""
    gate = threading.Event()
    writer.call(lambda _: gate.wait(WAIT_S))
    taken = writer.submit(rows_for(310), module.MAX_WAITING_BYTES + 1)
    with pytest.raises(StoreFullError, match="too much"):
        writer.submit(rows_for(311), 1)
    gate.set()

    assert taken.result(WAIT_S).spans == 20
    assert writer.submit(rows_for(311), 1).result(WAIT_S).spans == 20


def test_the_error_of_work_is_its_callers(writer: Writer) -> None:
    """Work that raises gives its error to whoever asked for it."""

    def work(_: object) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        writer.call(work).result(WAIT_S)
    assert writer.is_alive


def test_stopping_finishes_what_waits(store: Store) -> None:
    """Nothing that was accepted is left behind, and a second end is no harm."""
    writer = Writer(store.connect())
    writer.start()
    futures = [writer.submit(rows_for(seed), 100) for seed in (312, 313)]

    assert writer.stop(WAIT_S)
    assert [future.result(0).spans for future in futures] == [20, 20]
    assert not writer.is_alive

"""`python -m spanlore_collector.bench.engine DIR SPANS BATCH`: how fast the engine alone takes the collector's rows.

Rows are made beforehand; what is timed are the same inserts into the same tables in the same order, without looking for
duplicates, HTTP or decoding. Prints JSON: seconds for all tables, and for `otel_traces` alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter, tables_of, token_of
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.rows import SpanRows, rows_of

SLICE = 20_480
"""Spans whose rows are in memory at once."""


def main(folder: str, spans: str, batch: str) -> None:
    """Measures and prints."""
    store = Store(f"chdb://{folder}")
    client = store.connect(database="default")
    migrate(client, store.database)
    inserter = Inserter(client)
    _insert(inserter, [_rows(20, seed=99)])
    total, size = int(spans), int(batch)
    all_s, traces_s = 0.0, 0.0
    for number, start in enumerate(range(0, total, SLICE)):
        count = min(SLICE, total - start)
        all_s += _insert(inserter, _batches(count, size, seed=number * 2 + 100))
        traces_s += _insert(inserter, _batches(count, size, seed=number * 2 + 101), only="otel_traces")
    client.close()
    sys.stdout.write(json.dumps({"all_tables_s": all_s, "otel_traces_s": traces_s}) + "\n")


def _batches(spans: int, size: int, seed: int) -> list[list[SpanRows]]:
    rows = _rows(spans, seed)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _rows(spans: int, seed: int) -> list[SpanRows]:
    return [rows_of(record, 1_790_000_000_000) for record in sample_spans(spans, seed=seed)]


def _insert(inserter: Inserter, batches: Sequence[Sequence[SpanRows]], only: str = "") -> float:
    tables = [tables_of(batch) for batch in batches]
    began = time.perf_counter()
    for group, batch in zip(tables, batches, strict=True):
        for table, rows in group.items():
            if only in ("", table):
                inserter.insert_table(table, rows, token_of(batch))
    return time.perf_counter() - began


if __name__ == "__main__":
    main(*sys.argv[1:])

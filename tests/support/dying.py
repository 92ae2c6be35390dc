"""`python -m support.dying STORE_DIR SEEDS TABLE`: inserts spans of each seed, and is killed before TABLE is written.

With TABLE empty it lives on, and prints as JSON what the receipts say and how many rows stand in each table twice.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from clickhouse_connect.driver.client import Client

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.rows import rows_of

SPANS = 60
KEYS = {
    "otel_traces": "(TraceId, SpanId)",
    "inferences": "(trace_id, span_id)",
    "tool_calls": "(trace_id, span_id)",
    "turns": "(trace_id, span_id)",
    "human_messages": "(span_id, ordinal)",
    "session_facts": "span_id",
    "message_parts": "(span_id, direction, message_index, part_index)",
    "content": "hash",
}
"""Table → what identifies a row."""


class FaultyClient:
    """A store's client that does `fault` instead of inserting into `table`."""

    def __init__(self, client: Client, table: str, fault: Any) -> None:
        self._client = client
        self.table = table
        self._fault = fault

    def insert(self, table: str, *args: Any, **named: Any) -> Any:
        """Inserts, or does the fault."""
        if table == self.table:
            self._fault()
        return self._client.insert(table, *args, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def main(store_dir: str, seeds: str, table: str) -> None:
    """Runs it."""
    store = Store(f"chdb://{store_dir}")
    client = store.connect(database="default")
    migrate(client, store.database)
    faulty: Any = FaultyClient(client, table, lambda: os.kill(os.getpid(), signal.SIGKILL))
    inserter, receipts = Inserter(faulty), []
    for seed in seeds.split(","):
        receipt = inserter.insert(
            [[rows_of(record, 1_800_000_000_000) for record in sample_spans(SPANS, seed=int(seed))]]
        )[0]
        receipts.append([receipt.spans, receipt.duplicates])
    doubled = {
        name: client.query(f"SELECT count() - uniqExact({key}) FROM {name}").result_rows[0][0]
        for name, key in KEYS.items()
    }
    sys.stdout.write(json.dumps({"receipts": receipts, "doubled": doubled}) + "\n")
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`python -m support.dying STORE_DIR SEED TABLE`: inserts spans, and is killed before TABLE is written.

With TABLE empty it inserts all of them and prints what the receipt says, as JSON.
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


def main(store_dir: str, seed: str, table: str) -> None:
    """Runs it."""
    store = Store(f"chdb://{store_dir}")
    client = store.connect(database="default")
    migrate(client, store.database)
    faulty: Any = FaultyClient(client, table, lambda: os.kill(os.getpid(), signal.SIGKILL))
    receipts = Inserter(faulty).insert([[rows_of(record, 1_800_000_000_000) for record in sample_spans(60, seed=int(seed))]])
    sys.stdout.write(json.dumps([receipts[0].spans, receipts[0].duplicates]) + "\n")
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`python -m support.older_store STORE_DIR SPANS OF_SPANS SEED`: a store of before migration 0040, as it was left then.

It has the first SPANS of OF_SPANS sample spans in the tables of that time, content in the table of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from clickhouse_connect.driver.client import Client

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.cluster import statements_for
from spanlore_collector.store.inserting import COLUMNS, tables_of
from spanlore_collector.store.migrate import _RECORD, migrations, statements
from spanlore_collector.store.rows import rows_of

INGESTED_AT_MS: Final = 1_790_000_000_000
NEWER: Final = ("texts", "session_facts")
"""Tables that there were not."""


def rows_by_table(spans: int, of_spans: int, seed: int) -> Mapping[str, Sequence[Any]]:
    """The rows that the writer makes of these spans, in tables of today."""
    return tables_of([rows_of(span, INGESTED_AT_MS) for span in sample_spans(of_spans, seed=seed)[:spans]])


def make(client: Client, database: str, tables: Mapping[str, Sequence[Any]], content: Sequence[Any]) -> None:
    """Makes the database as of then, with these rows. `client` is left in it."""
    client.command(f"CREATE DATABASE {database}")
    client.database = database
    version = client.server_version or ""
    done = [name for name, _ in migrations() if name < "0040"]
    scripts = [_RECORD, *(sql for name, sql in migrations() if name in done)]
    for statement in (one for sql in scripts for one in statements(sql)):
        for text in statements_for(statement, database, "", version):
            client.command(text)
    client.insert("migrations", [[name] for name in done], column_names=["name"])
    for table, rows in tables.items():
        if table not in NEWER and rows:
            client.insert(table, rows, column_names=COLUMNS[table])
    client.insert("content", content, column_names=COLUMNS["texts"])


def main(store_dir: str, spans: str, of_spans: str, seed: str) -> None:
    """Makes it."""
    store = Store(f"chdb://{store_dir}")
    tables = rows_by_table(int(spans), int(of_spans), int(seed))
    with store.connect(database="default") as client:
        make(client, store.database, tables, tables["texts"])


if __name__ == "__main__":
    main(*sys.argv[1:])

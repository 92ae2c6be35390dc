"""The shapes of rows against the tables themselves."""

from __future__ import annotations

from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import COLUMNS
from spanlore_collector.store.memories import EventRow, MemoryRow


def test_row_types_have_the_columns_of_their_tables(store: Store) -> None:
    """Every column of a migration has its field, and the other way round."""
    with store.connect() as client:
        found: dict[str, set[str]] = {}
        sql = "SELECT table, name FROM system.columns WHERE database = currentDatabase()"
        for table, name in client.query(sql).result_rows:
            found.setdefault(table, set()).add(name)
    shapes = {**COLUMNS, "memories": MemoryRow._fields, "memory_events": EventRow._fields}

    assert {table: set(fields) for table, fields in shapes.items()} == {table: found[table] for table in shapes}

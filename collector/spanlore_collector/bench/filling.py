"""`python -m spanlore_collector.bench.filling DIR SPANS [DAY_SPANS]`: an embedded store with that many spans, fast.

The first 10,000 spans are a coding agent's day and go the collector's own way into all tables (`bench.sample`,
`store.inserting`). The others are copies of those rows that the engine makes, one copy a day: with ids of their own and
another day in every time, so that sessions, traces, partitions and sizes are those of so many spans. Content is not
copied: the copies name the content of the first day. A store that holds spans already is copied as it is, whatever
brought them, whole days until it has as many. Prints JSON: rows by table.
"""

from __future__ import annotations

import json
import sys

from clickhouse_connect.driver.client import Client

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import ENGINE_SETTINGS, Store
from spanlore_collector.store.inserting import COLUMNS, Inserter
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.rows import rows_of

DAY_SPANS = 10_000
_BATCH = 2_000
_COPIES_AT_ONCE = 10
"""Below the engine's bound of 100 partitions an insert, and the memory of one."""
FILLING_BYTES = 6 * 1024**3
_HEX_IDS = frozenset({"trace_id", "span_id", "parent_span_id", "TraceId", "SpanId", "ParentSpanId"})
_TEXT_IDS = frozenset({"conversation", "parent_conversation", "tool_call_id", "response_id", "provider_request_id"})


def main(folder: str, spans: str, day_spans: str = str(DAY_SPANS)) -> None:
    """Fills and prints."""
    # A process of its own, that copies whole days at once: the bound is the collector's, which then opens the store.
    ENGINE_SETTINGS["max_server_memory_usage"] = FILLING_BYTES
    store = Store(f"chdb://{folder}")
    client = store.connect(database="default")
    migrate(client, store.database)
    held = int(str(client.command("SELECT count() FROM otel_traces")))
    if held:
        copy(client, -(-int(spans) // held))
    else:
        fill(client, int(spans), int(day_spans))
    rows = {table: client.command(f"SELECT count() FROM {table}") for table in COLUMNS}
    client.close()
    sys.stdout.write(json.dumps(rows) + "\n")


def fill(client: Client, spans: int, day_spans: int = DAY_SPANS) -> None:
    """Puts `spans` spans into an empty store, to the next whole day beyond the first."""
    first = [rows_of(span, 1_790_000_000_000) for span in sample_spans(min(spans, day_spans))]
    inserter = Inserter(client)
    for start in range(0, len(first), _BATCH):
        inserter.insert([first[start : start + _BATCH]])
    copy(client, -(-spans // day_spans))


def copy(client: Client, days: int) -> None:
    """Copies all that a store holds, so that it is that of so many days."""
    for table in COLUMNS:
        if table != "texts" and days > 1:
            _copy(client, table, days)


def _copy(client: Client, table: str, days: int) -> None:
    described = client.query(f"DESCRIBE TABLE {table}").result_rows
    columns = [(str(row[0]), str(row[1])) for row in described]
    made = ", ".join(f"{_of_copy(name, kind)} AS `{name}`" for name, kind in columns)
    names = ", ".join(f"`{name}`" for name, _ in columns)
    client.command(f"CREATE TABLE first_day ENGINE = Memory AS SELECT {names} FROM {table}")
    for start in range(1, days, _COPIES_AT_ONCE):
        copies = min(_COPIES_AT_ONCE, days - start)
        client.command(
            f"INSERT INTO {table} ({names}) SELECT {made} FROM first_day AS f "
            f"CROSS JOIN (SELECT number + {start} AS day FROM numbers({copies})) AS d"
        )
    client.command("DROP TABLE first_day SYNC")


def _of_copy(name: str, kind: str) -> str:
    """The column of a copy, from that of the first day and the number of the copy's day."""
    column = f"f.`{name}`"
    if name == "session_id":
        return _random_id(column)
    if name in _HEX_IDS:
        return f"if({column} = '', '', substring({_random_id(column)}, 1, length({column})))"
    if name in _TEXT_IDS:
        return f"if({column} = '', '', concat({column}, '~', toString(d.day)))"
    if kind.startswith("DateTime"):
        return f"{column} + toIntervalDay(d.day)"
    if name == "SpanAttributes":
        session = _random_id(f"{column}['spanlore.session.id']")
        return f"CAST(mapUpdate({column}, map('spanlore.session.id', {session})), '{kind}')"
    return column


def _random_id(column: str) -> str:
    """As random as agents' ids are: the sessions of a day lie nowhere near each other."""
    return f"lower(hex(MD5(concat({column}, '~', toString(d.day)))))"


if __name__ == "__main__":
    main(*sys.argv[1:])

"""TTLs by setting, and content that nothing names any more."""

from __future__ import annotations

import time
from typing import Any

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store import retention
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.retention import (
    RAW,
    ROWS,
    Retention,
    apply_retention,
    bound_merges,
    compact,
    delete_rows,
    ttls,
)
from spanlore_collector.store.rows import rows_of

OLD_MS = 1_000_000_000_000


def test_ttls_follow_the_settings(store: Store) -> None:
    """Each tier gets its days, a repetition changes nothing, and 0 takes the TTL away again."""
    with store.connect() as client:
        first = apply_retention(client, Retention(raw_days=3000, rows_days=3650))
        set_ = dict(ttls(client))
        again = apply_retention(client, Retention(raw_days=3000, rows_days=3650))
        apply_retention(client, Retention())
        unset = dict(ttls(client))

    assert set(first) == {*RAW, *ROWS}
    assert {set_[table] for table in RAW} == {3000}
    assert {set_[table] for table in ROWS} == {3650}
    assert again == []
    assert set(unset.values()) == {0}


def test_content_goes_when_nothing_names_it(store: Store) -> None:
    """Content that is shared with what stays is kept; what went is written again when it comes again."""
    early, late = ([rows_of(record, OLD_MS) for record in sample_spans(20, seed=seed)] for seed in (351, 352))
    hashes = {content.hash for rows in early for content in rows.contents}
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([early, late])
        assert inserter.prune() == 0
        kept = {content.hash for rows in late for content in rows.contents}
        spans = ", ".join(f"'{rows.span_id}'" for rows in early)
        for table in ("message_parts", "tool_calls"):
            client.command(f"DELETE FROM {table} WHERE span_id IN ({spans})")
        gone = inserter.prune()
        named = ", ".join(f"'{one}'" for one in hashes | kept)
        left = {row[0] for row in client.query(f"SELECT hash FROM content WHERE hash IN ({named})").result_rows}

        assert gone > 0
        assert kept <= left
        assert not any(one in inserter.hashes for one in hashes - left)


def test_compacting_leaves_one_part_a_partition(store: Store) -> None:
    """Every table of ours is merged, in a database of its own."""
    with store.connect(database="default") as client:
        migrate(client, "compacting")
        inserter = Inserter(client)
        for seed in (353, 354):
            inserter.insert([[rows_of(record, OLD_MS) for record in sample_spans(10, seed=seed)]])
        tables = list(compact(client))
        sql = (
            "SELECT table FROM system.parts WHERE active AND database = currentDatabase() "
            "GROUP BY table, partition_id HAVING count() > 1"
        )

        assert {"texts", "inferences", "otel_traces", "memories"} <= set(tables)
        assert client.query(sql).result_rows == []
        client.command("DROP DATABASE compacting")


def test_rows_are_deleted_for_good(store: Store) -> None:
    """When it returns they are gone from the parts, not only marked."""
    rows = [rows_of(record, OLD_MS) for record in sample_spans(10, seed=355)]
    spans = ", ".join(f"'{row.span_id}'" for row in rows)
    marked = (
        "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() "
        "AND table = 'inferences' AND has_lightweight_delete"
    )
    with store.connect() as client:
        before = client.query(marked).result_rows
        Inserter(client).insert([rows])
        delete_rows(client, "inferences", f"span_id IN ({spans})")

        assert client.query(f"SELECT count() FROM inferences WHERE span_id IN ({spans})").result_rows == [(0,)]
        assert client.query(marked).result_rows == before


def test_a_table_too_large_to_merge_is_left(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is told and the others are merged; any other refusal ends it."""
    with store.connect() as client:
        command, code = client.command, 241

        def small_engine(cmd: str, *args: Any, **named: Any) -> Any:
            if cmd.startswith("OPTIMIZE TABLE inferences"):
                raise DatabaseError("refused", code=code)
            return command(cmd, *args, **named)

        monkeypatch.setitem(vars(client), "command", small_engine)
        left: list[str] = []
        tables = list(compact(client, left=left))
        code = 243
        with pytest.raises(DatabaseError, match="refused"):
            list(compact(client))

    assert left == ["inferences"]
    assert tables.index("inferences") < tables.index("turns")


def test_merges_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that are together beyond the bound, and content that is to be moved, stay in their parts, where those of
    another table are merged."""
    monkeypatch.setattr(retention, "MAX_MERGED_FACTS_BYTES", 1)
    tables = ("session_facts", "content_before", "unbounded")
    parts = (
        "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String} "
        "AND rows > 0"
    )

    def parts_of(table: str) -> int:
        return int(client.query(parts, {"table": table}).result_rows[0][0])

    with store.connect(database="default") as client:
        client.command("CREATE DATABASE bounded")
        client.database = "bounded"
        for table in tables:
            client.command(f"CREATE TABLE {table} (id UInt32) ENGINE = MergeTree ORDER BY id")
        bound_merges(client)
        bound_merges(client)
        for _ in range(12):
            for table in tables:
                client.command(f"INSERT INTO {table} SELECT number FROM numbers(1000)")

        patient_until_s = time.monotonic() + 60
        while parts_of("unbounded") == 12 and time.monotonic() < patient_until_s:
            time.sleep(0.1)
        assert [parts_of(table) for table in tables[:2]] == [12, 12]
        assert parts_of("unbounded") < 12
        client.command("DROP DATABASE bounded")

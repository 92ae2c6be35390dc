"""Each row exactly once, whatever happens between two tables."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from spanlore.semconv import lore
from spanlore.settings import child_environment
from spanlore.spans.record import SpanRecord
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import COLUMNS, Inserter, token_of
from spanlore_collector.store.rows import SpanRows, rows_of
from support.dying import SPANS, FaultyClient

NOW_MS = 1_800_000_000_000
TESTS = Path(__file__).parents[2]


def rows_for(seed: int, count: int = 60) -> list[SpanRows]:
    """Rows of spans that no other seed has."""
    return [rows_of(record, NOW_MS + seed) for record in sample_spans(count, seed=seed)]


def doubled(client: Client, rows: Sequence[SpanRows]) -> dict[str, tuple[int, int]]:
    """By table (there, expected), where the two differ."""
    traces = ",".join(sorted({f"'{row.trace_id}'" for row in rows}))
    hashes = {content.hash for row in rows for content in row.contents}
    expected: dict[str, int] = {
        "otel_traces": len(rows),
        "inferences": sum(1 for row in rows if row.inference),
        "tool_calls": sum(1 for row in rows if row.tool_call),
        "turns": sum(1 for row in rows if row.turn),
        "human_messages": sum(len(row.human) for row in rows),
        "session_facts": sum(1 for row in rows if row.fact),
        "opportunities": sum(len(row.opportunities) for row in rows),
        "message_parts": sum(len(row.parts) for row in rows),
        "content": len(hashes),
    }
    out = {}
    for table, count in expected.items():
        where = f"hash IN ({_quoted(hashes)})" if table == "content" else f"{_trace(table)} IN ({traces})"
        found = client.query(f"SELECT count() FROM {table} WHERE {where}").result_rows[0][0]
        if found != count:
            out[table] = (found, count)
    return out


def _trace(table: str) -> str:
    return "TraceId" if table == "otel_traces" else "trace_id"


def _quoted(words: Iterable[str]) -> str:
    return ",".join(f"'{word}'" for word in words)


def test_a_batch_again_and_overlapping_ones_add_nothing(store: Store) -> None:
    """The receipt tells new spans from those that were there, also within one group."""
    rows = rows_for(101)
    with store.connect() as client:
        inserter = Inserter(client)
        first = inserter.insert([rows[:40], rows[20:50]])
        second = inserter.insert([rows[:40]])
        third = inserter.insert([rows])

        assert [(receipt.spans, receipt.duplicates) for receipt in first] == [(40, 0), (10, 20)]
        assert [(receipt.spans, receipt.duplicates) for receipt in (*second, *third)] == [(0, 40), (10, 50)]
        assert doubled(client, rows) == {}


def test_another_process_knows_nothing_and_doubles_nothing(store: Store) -> None:
    """An inserter that has seen none of it asks the store."""
    rows = rows_for(102)
    with store.connect() as client:
        Inserter(client).insert([rows[:30]])
        receipt = Inserter(client).insert([rows])[0]

        assert (receipt.spans, receipt.duplicates) == (30, 30)
        assert doubled(client, rows) == {}


@pytest.mark.parametrize("is_same_process", [True, False])
@pytest.mark.parametrize("table", COLUMNS)
def test_an_insert_that_fails_between_two_tables_heals(store: Store, table: str, is_same_process: bool) -> None:
    """Wherever a group fails, its spans are not in otel_traces, and repeating it completes every table."""
    rows = rows_for(200 + 2 * list(COLUMNS).index(table) + is_same_process)
    with store.connect() as client:
        faulty: Any = FaultyClient(client, table, _fail)
        inserter = Inserter(faulty)
        with pytest.raises(OSError, match="no space"):
            inserter.insert([rows])
        assert doubled(client, rows)["otel_traces"] == (0, len(rows))
        faulty.table = ""
        if not is_same_process:
            inserter = Inserter(client)
        receipt = inserter.insert([rows])[0]

        assert (receipt.spans, receipt.duplicates) == (len(rows), 0)
        assert doubled(client, rows) == {}


def test_a_repeated_insert_of_which_nobody_heard_is_dropped(store: Store) -> None:
    """The deduplication token names an insert by its rows, so that the engine itself drops its repetition."""
    rows = rows_for(103, 5)
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([rows])
        inserter.insert_table("otel_traces", [row.trace for row in rows][::-1], token_of(rows))
        inserter.insert_table("inferences", [row.inference for row in rows if row.inference], token_of(rows))

        assert doubled(client, rows) == {}


def test_a_turn_told_again_takes_the_place_of_what_was_told(store: Store) -> None:
    """Whatever comes first or twice, in one group or in two, and after a death in between: the newest revision stands
    alone, in every table."""
    (turn,) = [record for record in sample_spans(60, seed=109) if "invoke_agent" in record.name][:1]
    first, second, third = (revised(turn, revision) for revision in (0, 1, 2))
    with store.connect() as client:
        Inserter(client).insert([[first]])
        assert counts_of(client, first) == [(0, 1)]
        (receipt,) = Inserter(client).insert([[second]])
        assert (receipt.spans, receipt.duplicates) == (1, 0)
        assert counts_of(client, first) == [(1, 1)]
        inserter = Inserter(client)
        inserter.insert([[second, third], [first]])
        inserter.insert([[third], [second]])
        assert counts_of(client, first) == [(2, 1)]
        assert doubled(client, [third]) == {}
        # It died when the old rows were half deleted: the sender repeats what nobody acknowledged.
        client.command(f"ALTER TABLE turns DELETE WHERE span_id = '{first.span_id}' SETTINGS mutations_sync = 2")
        last = revised(turn, 3)
        Inserter(client).insert([[last]])
        assert counts_of(client, first) == [(3, 1)]
        assert doubled(client, [last]) == {}


def revised(turn: SpanRecord, revision: int) -> SpanRows:
    """The turn's rows, with so many tool calls."""
    more = {lore.TURN_REVISION: revision} if revision else {}
    attributes = {**turn.attributes, lore.TURN_TOOL_CALLS: revision, **more}
    return rows_of(dataclasses.replace(turn, attributes=attributes), NOW_MS + revision)


def counts_of(client: Client, rows: SpanRows) -> list[tuple[int, int]]:
    """(tool calls that `turns` tells, rows of `otel_traces`) of a turn, for each row of `turns`."""
    return [
        (int(row[0]), int(row[1]))
        for row in client.query(
            f"SELECT tool_calls, (SELECT count() FROM otel_traces WHERE SpanId = '{rows.span_id}') FROM turns "
            f"WHERE span_id = '{rows.span_id}'"
        ).result_rows
    ]


def test_a_start_mends_the_times_of_traces(store: Store) -> None:
    """The companion table is fed by a view, which a crash can leave behind; the newest traces get their entry again."""
    rows = [rows_of(record, NOW_MS + 600_000) for record in sample_spans(30, seed=104)]
    traces = ",".join(sorted({f"'{row.trace_id}'" for row in rows}))
    covered = f"SELECT uniqExact(TraceId) FROM otel_traces_trace_id_ts WHERE TraceId IN ({traces})"
    with store.connect() as client:
        Inserter(client).insert([rows])
        there = client.query(covered).result_rows[0][0]
        client.command(f"DELETE FROM otel_traces_trace_id_ts WHERE TraceId IN ({traces})")
        gone = client.query(covered).result_rows[0][0]
        Inserter(client)

        assert (there, gone) == (len(traces.split(",")), 0)
        assert client.query(covered).result_rows[0][0] == there


def test_kill_between_two_tables_heals(tmp_path: Path) -> None:
    """kill -9 before a table is written, and another process repeats the batch: all is new, nothing is doubled."""
    early, late = _run(tmp_path, "7", "inferences"), _run(tmp_path, "8", "otel_traces")
    healed = json.loads(_run(tmp_path, "7,8,7,8", "").stdout)

    assert (early.returncode, late.returncode) == (-9, -9)
    assert healed["receipts"] == [[SPANS, 0], [SPANS, 0], [0, SPANS], [0, SPANS]]
    assert set(healed["doubled"].values()) == {0}


def _run(folder: Path, seeds: str, table: str) -> subprocess.CompletedProcess[str]:
    environment = child_environment({"PYTHONPATH": str(TESTS)})
    command = [sys.executable, "-m", "support.dying", str(folder / "store"), seeds, table]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


def _fail() -> None:
    raise OSError("no space left")

"""Stores of older versions are filled piece by piece, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from spanlore_collector.store import backfill
from spanlore_collector.store.backfill import BEFORE, BackFill
from spanlore_collector.store.client import Store
from spanlore_collector.store.migrate import migrate
from support.older_store import make, rows_by_table

DATABASE = "older"
TABLES = rows_by_table(150, 150, seed=45)
CONTENT = [(f"{number:032x}", f"text {number}", 6, 1_790_000_000_000 + number) for number in range(40)]


@pytest.fixture
def older(store: Store) -> Iterator[Client]:
    """A store of before `session_facts` and `texts`, with 150 spans and forty texts."""
    if not store.path:
        pytest.skip("of embedded stores")
    with store.connect(database="default") as client:
        make(client, DATABASE, TABLES, CONTENT)
        yield client
        client.database = "default"
        client.command(f"DROP DATABASE {DATABASE} SYNC")


def rows(client: Client, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in client.query(sql).result_rows]


FACTS = "session_id, span_id, inferences, tool_calls, failures, turns, input_tokens, title"


def test_an_older_store_is_usable_at_once_and_whole_in_the_end(older: Client) -> None:
    """Nothing is moved by migrating; content is shown all the time; the facts are those that the writer makes."""
    migrate(older, DATABASE)
    at_once = rows(older, "SELECT count() FROM session_facts"), rows(older, "SELECT hash, body FROM content ORDER BY 1")
    merges = rows(older, f"SELECT engine_full FROM system.tables WHERE database = '{DATABASE}' AND name = '{BEFORE}'")
    backfill.fill(older)

    made = {(row.session_id, row.span_id, row.inferences, row.tool_calls, row.failures, row.turns, row.input_tokens,
             row.title) for row in TABLES["session_facts"]}  # fmt: skip
    assert "max_bytes_to_merge_at_max_space_in_pool = 1" in merges[0][0]
    assert at_once == ([(0,)], [row[:2] for row in CONTENT])
    assert set(rows(older, f"SELECT {FACTS} FROM session_facts")) == made
    assert rows(older, "SELECT count() FROM session_facts") == [(len(made),)]
    assert rows(older, "SELECT hash, body FROM content ORDER BY hash") == [row[:2] for row in CONTENT]
    assert not rows(older, f"SELECT 1 FROM system.tables WHERE database = '{DATABASE}' AND name = 'content_before'")
    assert backfill.is_left(older) == []


def test_it_goes_on_after_a_kill(older: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any piece another process, which knows nothing of the first, does the rest; no fact stands there twice."""
    monkeypatch.setattr(backfill, "PIECE_SPANS", 10)
    monkeypatch.setattr(backfill, "PIECE_BYTES", 100)
    migrate(older, DATABASE)
    steps = 0
    while BackFill().step(older):
        steps += 1
        assert migrate(older, DATABASE) == []
        assert rows(older, "SELECT uniqExact(hash) FROM content") == [(len(CONTENT),)]

    assert steps > 10
    assert rows(older, "SELECT count(), uniqExact(span_id) FROM session_facts") == [(len(TABLES["session_facts"]),) * 2]
    assert sorted(rows(older, "SELECT hash, body FROM texts FINAL")) == [row[:2] for row in CONTENT]


def test_the_newest_sessions_come_first(older: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """And how far it is can be told."""
    monkeypatch.setattr(backfill, "PIECE_SPANS", 1)
    migrate(older, DATABASE)
    left = BackFill()
    left.step(older)

    (newest,) = rows(older, "SELECT argMax(session_id, start_time) FROM inferences")
    assert rows(older, "SELECT DISTINCT session_id FROM session_facts") == [newest]
    assert [one.table for one in left.progress] == ["session_facts"]
    left.step(older)
    assert 0 < left.progress[0].share < 1
    backfill.fill(older)


def test_a_piece_that_is_too_large_is_cut(older: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """In halves, where the engine has not the memory for it; what fails otherwise is told, and tried again."""
    migrate(older, DATABASE)
    fill_facts, tried = backfill._fill_facts, []

    def small_engine(client: Client, ids: list[str]) -> None:
        tried.append(len(ids))
        if len(tried) == 1:
            raise DatabaseError("disk full", code=243)
        if len(ids) > 1:
            raise DatabaseError("MEMORY_LIMIT_EXCEEDED", code=241)
        fill_facts(client, ids)

    monkeypatch.setattr(backfill, "_fill_facts", small_engine)
    left = BackFill()
    with pytest.raises(DatabaseError):
        left.step(older)
    assert "disk full" in left.failure
    while left.step(older):
        pass

    assert left.failure == ""
    assert max(tried) > 1
    assert rows(older, "SELECT count() FROM session_facts") == [(len(TABLES["session_facts"]),)]


def test_a_new_store_has_nothing_to_fill(store: Store) -> None:
    """One look, which is recorded."""
    with store.connect() as client:
        left = BackFill()
        while left.step(client):
            pass
        assert backfill.is_left(client) == []

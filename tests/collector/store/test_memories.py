"""Memories and their events."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status, Trigger
from spanlore.memory.operations import Operation, Verb
from spanlore_collector.store.client import Store
from spanlore_collector.store.memories import ConflictError, MemoryTable, events_of


def memory(memory_id: str, **fields: object) -> Memory:
    """A memory with evidence."""
    made = Memory(
        id=memory_id,
        kind=Kind.USAGE,
        source=Source.FAILURE_DELTA,
        status=Status.ACTIVE,
        scope="github.com/acme/widgets",
        text="pytest runs with `uv run pytest`",
        subject="pytest",
        trigger=Trigger(signatures=("00ff",), program="pytest"),
        evidence=(Evidence("ab" * 16, "cd" * 8, "s1", EvidenceRole.FAILURE, 5, "quote"),),
        created_at_ns=1_790_000_000_000_000_000,
        updated_at_ns=1_790_000_000_000_000_001,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def test_an_added_memory_is_read_back_whole(store: Store) -> None:
    """By another table on the same store, with its event."""
    added = memory("m-added")
    with store.connect() as client:
        applied = MemoryTable(client).apply(client, [Operation(Verb.ADDED, added, reason="seen twice")])
        events = events_of(client, added.id)
        row = client.query("SELECT version, status, json FROM memories FINAL WHERE id = 'm-added'").result_rows[0]

        assert MemoryTable(client).get(added.id) == added
    assert applied == 1
    assert [(event["verb"], event["reason"], event["version"]) for event in events] == [("added", "seen twice", 1)]
    assert events[0]["memory"]["evidence"][0]["span_id"] == "cd" * 8
    assert (row[0], row[1], orjson.loads(row[2])["text"]) == (1, "active", added.text)


def test_versions_follow_each_other(store: Store) -> None:
    """A change from an old state is a conflict, the same change twice is none, and a list is applied wholly or not."""
    first = memory("m-versions")
    second = replace(first, status=Status.RETIRED, version=2)
    with store.connect() as client:
        table = MemoryTable(client)
        table.apply(client, [Operation(Verb.ADDED, first)])
        with pytest.raises(ConflictError, match="m-versions is at version 1"):
            table.apply(
                client, [Operation(Verb.ADDED, memory("m-other")), Operation(Verb.UPDATED, replace(second, version=3))]
            )
        assert table.get("m-other") is None
        assert table.apply(client, [Operation(Verb.RETIRED, second)]) == 1
        assert table.apply(client, [Operation(Verb.RETIRED, second)]) == 0
        with pytest.raises(ConflictError):
            table.apply(client, [Operation(Verb.UPDATED, replace(first, text="other"))])

        assert table.get(first.id) == second
        assert len(events_of(client, first.id)) == 2


def test_several_changes_of_one_memory_in_one_list(store: Store) -> None:
    """They are applied in order, each with its event."""
    first = memory("m-chain")
    changes = [Operation(Verb.ADDED, first), Operation(Verb.PINNED, replace(first, pinned=True, version=2))]
    with store.connect() as client:
        table = MemoryTable(client)

        assert table.apply(client, changes) == 2
        assert client.query("SELECT version, pinned FROM memories FINAL WHERE id = 'm-chain'").result_rows == [
            (2, True)
        ]


def test_a_row_that_lags_behind_its_event_is_mended(store: Store) -> None:
    """A crash between the two tables: the next start writes the memory's row from its event."""
    lost = memory("m-lost")
    with store.connect() as client:
        MemoryTable(client).apply(client, [Operation(Verb.ADDED, lost)])
        client.command("DELETE FROM memories WHERE id = 'm-lost'")
        assert client.query("SELECT count() FROM memories WHERE id = 'm-lost'").first_row == (0,)
        MemoryTable(client)

        assert client.query("SELECT version FROM memories FINAL WHERE id = 'm-lost'").result_rows == [(1,)]


def test_the_snapshot_has_what_may_be_shown(store: Store) -> None:
    """Active and trial memories; its etag changes with them and only with them."""
    shown, hidden = memory("m-shown", status=Status.TRIAL), memory("m-hidden", status=Status.CANDIDATE)
    with store.connect() as client:
        table = MemoryTable(client)
        table.apply(client, [Operation(Verb.ADDED, shown), Operation(Verb.ADDED, hidden)])
        etag, body = table.snapshot()
        same, _ = MemoryTable(client).snapshot()
        table.apply(client, [Operation(Verb.FORGOTTEN, replace(shown, status=Status.FORGOTTEN, version=2))])
        other, _ = table.snapshot()
    ids = {item["id"] for item in orjson.loads(body)["memories"]}

    assert "m-shown" in ids and "m-hidden" not in ids
    assert etag == same != other


def test_the_snapshot_has_nothing_that_is_over(store: Store) -> None:
    """From the moment on, without any change."""
    now_ns = [10]
    with store.connect() as client:
        table = MemoryTable(client, clock=lambda: now_ns[0])
        table.apply(client, [Operation(Verb.ADDED, memory("m-ends", status=Status.ACTIVE, valid_to_ns=20))])
        etag, body = table.snapshot()
        now_ns[0] = 20
        other, without = table.snapshot()

    assert (b"m-ends" in body, b"m-ends" in without, etag != other) == (True, False, True)
    assert "m-ends" not in [item.id for item in table.shown()]


def test_mining_state_is_kept(store: Store) -> None:
    """The newest value of a key, also for the next process."""
    with store.connect() as client:
        table = MemoryTable(client)
        assert table.mining_state("watermark") is None
        table.set_mining_state(client, "watermark", "1")
        table.set_mining_state(client, "watermark", "2")

        assert (table.mining_state("watermark"), MemoryTable(client).mining_state("watermark")) == ("2", "2")

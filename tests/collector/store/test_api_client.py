"""The API's client, against a real collector."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.settings import Paths, Settings
from spanlore_collector.store.api_client import (
    MemoryClient,
    RequestRefusedError,
    VersionConflictError,
    connect,
)
from spanlore_collector.store.client import StoreUnavailableError
from support.collector_process import CollectorProcess


def memory(memory_id: str, **fields: object) -> Memory:
    """A small memory."""
    made = Memory(memory_id, Kind.USAGE, Source.EXPLICIT, Status.ACTIVE, "github.com/acme/client", "use uv")
    return replace(made, **fields)  # type: ignore[arg-type]


def test_memories_go_in_and_come_out(collector: CollectorProcess) -> None:
    """Whole, by id, by scope and status, with their events."""
    client = MemoryClient(collector.url, collector.token)
    first, second = memory("m-client1"), memory("m-client2", status=Status.CANDIDATE)
    applied = client.apply([Operation(Verb.ADDED, first, actor="user"), Operation(Verb.ADDED, second)])
    retired = replace(first, status=Status.RETIRED, version=2)
    client.apply([Operation(Verb.RETIRED, retired, reason="harm")])

    assert applied == 2
    assert client.memory("m-client1") == retired
    assert [(event["verb"], event["actor"], event["reason"]) for event in client.events("m-client1")] == [
        ("added", "user", ""),
        ("retired", "extractor", "harm"),
    ]
    assert client.memories(scope="github.com/acme/client", status=Status.CANDIDATE) == [second]
    assert {found.id for found in client.memories()} >= {"m-client1", "m-client2"}
    assert not {found.id for found in client.snapshot()} & {"m-client1", "m-client2"}
    assert (client.memory("m-none"), client.events("m-none")) == (None, [])
    client.close()


def test_conflicts_and_refusals_are_told_apart(collector: CollectorProcess) -> None:
    """An old version is a conflict; a wrong token is a refusal."""
    client = MemoryClient(collector.url, collector.token)
    with pytest.raises(VersionConflictError, match="m-conflict is at version 0"):
        client.apply([Operation(Verb.UPDATED, memory("m-conflict", version=5))])
    with pytest.raises(RequestRefusedError, match="token"):
        MemoryClient(collector.url, "wrong").snapshot()
    client.close()


def test_mining_state(collector: CollectorProcess) -> None:
    """Absent, then the newest; keys may have any characters."""
    client = MemoryClient(collector.url, collector.token)
    assert client.mining_state("a/b ü") is None
    client.set_mining_state("a/b ü", "1")
    client.set_mining_state("a/b ü", "zwei")

    assert client.mining_state("a/b ü") == "zwei"
    assert client.status()["memories"] is not None
    client.close()


def test_a_daemon_that_is_down_is_told(tmp_path: Path) -> None:
    """Both where no daemon left its file and where it left one and is gone."""
    paths = Paths(tmp_path / "config", tmp_path / "state")
    with pytest.raises(StoreUnavailableError, match="spanlore up"):
        connect(Settings(), paths)
    paths.ensure()
    paths.daemon_file.write_text(json.dumps({"collector_port": 1, "clickhouse_port": 1}))
    reader, client = connect(Settings(), paths)

    with pytest.raises(StoreUnavailableError, match="spanlore up"):
        client.snapshot()
    with pytest.raises(StoreUnavailableError, match="spanlore up"):
        reader.rows("SELECT 1")
    client.close()


def test_connect_finds_the_running_daemon(collector: CollectorProcess) -> None:
    """Ports from daemon.json, the token from its file."""
    ports = {"collector_port": collector.port, "clickhouse_port": collector.clickhouse_port}
    collector.paths.daemon_file.write_text(json.dumps(ports))
    reader, client = connect(Settings(), collector.paths)
    with reader:
        assert reader.rows("SELECT 1 AS a") == [{"a": 1}]
    assert isinstance(client.memories(), list)
    client.close()

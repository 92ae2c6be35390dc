"""A whole store, copied and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from clickhouse_connect.driver.client import Client

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.ingest.metrics import decode_metrics
from spanlore_collector.store import transfer
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.rows import rows_of
from spanlore_collector.store.signals import SignalRows
from support.metrics_request import request_of_all_kinds


@pytest.fixture
def source(store: Store) -> Iterator[Client]:
    """The store, with rows in most of its tables."""
    metrics = decode_metrics(request_of_all_kinds().SerializeToString()).tables
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([[rows_of(record, 1_790_000_000_000) for record in sample_spans(120, seed=401)]])
        inserter.insert_signals(SignalRows(metrics, "transfer"))
        yield client


@pytest.fixture
def target(store: Store) -> Iterator[Client]:
    """An empty, migrated database beside it."""
    with store.connect(database="default") as client:
        client.command("DROP DATABASE IF EXISTS elsewhere")
        migrate(client, "elsewhere")
        yield client
        client.command("DROP DATABASE elsewhere")


def test_a_copy_is_the_same(source: Client, target: Client) -> None:
    """Every table has the same rows; what is derived by a view is there as well."""
    seen: list[transfer.Chunk] = []
    tables = transfer.copy(source, target, seen.append)
    traces = "SELECT uniqExact(TraceId) FROM otel_traces_trace_id_ts"

    assert {table.table for table in tables if table.rows} >= {"otel_traces", "texts", "otel_metrics_histogram"}
    assert tables == transfer.sums(source)
    assert sum(chunk.rows for chunk in seen) >= sum(table.rows for table in tables)
    assert target.query(traces).result_rows == source.query(traces).result_rows


@pytest.mark.parametrize("form", ["native", "parquet"])
def test_an_export_can_be_read_again(source: Client, target: Client, tmp_path: Path, form: str) -> None:
    """Files and manifest hold the whole store, in either format."""
    transfer.export(source, tmp_path / "out", form)
    read: list[str] = []
    tables = transfer.load(tmp_path / "out", target, lambda name, rows: read.append(name))

    assert tables == transfer.sums(source) == transfer.sums(target)
    assert read and all(name.endswith(form) for name in read)


def test_an_older_export_can_be_read_too(source: Client, target: Client, tmp_path: Path) -> None:
    """Of before content had another table and sessions were added up in one: its rows come where they are now."""
    manifest = transfer.export(source, tmp_path / "out")
    told = json.loads(manifest.read_text())
    told["tables"] = [
        one | {"table": one["table"].replace("texts", "content")}
        for one in told["tables"]
        if one["table"] != "session_facts"
    ]
    told["files"] = [
        one | {"table": one["table"].replace("texts", "content")}
        for one in told["files"]
        if one["table"] != "session_facts"
    ]
    manifest.write_text(json.dumps(told))
    transfer.load(tmp_path / "out", target)

    mine = "WHERE startsWith(session_id, 'session-401-') ORDER BY session_id"
    for sql in ("SELECT uniqExact(hash) FROM content", f"SELECT * FROM sessions {mine}"):
        assert target.query(sql).result_rows == source.query(sql).result_rows
        assert source.query(sql).result_rows


def test_large_partitions_are_cut(source: Client, target: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition beyond the bound goes in several chunks, which together are all of it."""
    monkeypatch.setattr(transfer, "CHUNK_BYTES", 100_000)
    pieces = [chunk for chunk in transfer.chunks(source) if chunk.table == "texts"]
    tables = transfer.copy(source, target)

    assert len(pieces) > 1
    assert tables == transfer.sums(target)


def test_a_target_with_rows_is_refused(source: Client, target: Client) -> None:
    """Two stores are never mixed."""
    transfer.copy(source, target)

    with pytest.raises(transfer.TransferError, match="holds rows already"):
        transfer.copy(source, target)


def test_a_damaged_export_is_told(source: Client, target: Client, tmp_path: Path) -> None:
    """A changed file, a manifest that claims other rows, a missing manifest, a folder that is in use."""
    folder = tmp_path / "out"
    manifest = transfer.export(source, folder)
    with pytest.raises(transfer.TransferError, match="not empty"):
        transfer.export(source, folder)
    document = json.loads(manifest.read_bytes())
    file = folder / next(one["file"] for one in document["files"] if one["table"] == "turns")
    good = file.read_bytes()
    file.write_bytes(good[:-1])
    with pytest.raises(transfer.TransferError, match="damaged"):
        transfer.load(folder, target)
    for table in transfer.tables_of_store(target):
        target.command(f"TRUNCATE TABLE {table}")
    file.write_bytes(good)
    turns = next(one for one in document["tables"] if one["table"] == "turns")
    turns["rows"] += 1
    manifest.write_text(json.dumps(document))
    with pytest.raises(transfer.TransferError, match="not the same"):
        transfer.load(folder, target)
    manifest.unlink()
    with pytest.raises(transfer.TransferError, match="no whole export"):
        transfer.load(folder, target)


@pytest.mark.parametrize(
    "planted",
    [{"file": "../secret"}, {"file": "/etc/hostname"}, {"table": "migrations"}, {"table": "turns --"}],
)
def test_a_foreign_manifest_leads_nowhere(
    source: Client, target: Client, tmp_path: Path, planted: dict[str, str]
) -> None:
    """An export of somebody else's reads no file beside it and writes to no table but the store's."""
    manifest = transfer.export(source, tmp_path / "out")
    told = json.loads(manifest.read_text())
    told["files"][0] |= planted
    manifest.write_text(json.dumps(told))

    with pytest.raises(transfer.TransferError, match="names a file elsewhere"):
        transfer.load(tmp_path / "out", target)


def test_an_export_is_its_users_alone(source: Client, tmp_path: Path) -> None:
    """Everything that was said is in it; the folder may have been there, open to all."""
    (tmp_path / "out").mkdir(mode=0o755)
    transfer.export(source, tmp_path / "out")

    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "out").iterdir()} == {0o600}

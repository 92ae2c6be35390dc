"""What the engine knows of its tables outlives a disk that fills while a start changes them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.descriptions import kept, put_back


def _store(folder: Path) -> tuple[Path, Path, Path]:
    """A store's directory, and two descriptions in it."""
    store = folder / "store"
    database, table = store / "metadata" / "spanlore.sql", store / "store" / "3f3" / "3f3b91ef" / "turns.sql"
    for file in (database, table):
        file.parent.mkdir(parents=True)
        file.write_text(f"ATTACH {file.stem}")
    return store, database, table


def _cut_off(store: Path, *emptied: Path) -> None:
    """A start that ends with an error, and leaves these files without a byte."""
    with suppress(OSError), kept(store):
        for file in emptied:
            file.write_bytes(b"")
        raise OSError("no space left")


def test_what_was_emptied_is_put_back(tmp_path: Path) -> None:
    """Each empty description gets the text it had; the others stay as the start left them."""
    store, database, table = _store(tmp_path)
    _cut_off(store, table)
    database.write_text("ATTACH of the new version")

    assert put_back(store) == ["turns.sql"]
    assert table.read_text() == "ATTACH turns"
    assert database.read_text() == "ATTACH of the new version"
    assert put_back(store) == []


def test_a_table_that_was_being_made_is_set_aside(tmp_path: Path) -> None:
    """An empty description that nobody knew is no table yet; the engine would not start with it."""
    store, _, table = _store(tmp_path)
    fresh = table.with_name("fresh.sql")
    _cut_off(store, fresh)

    assert put_back(store) == ["fresh.sql"]
    assert not fresh.exists()
    assert fresh.with_name("fresh.sql.bak").exists()


def test_a_start_that_ended_well_leaves_no_copy(tmp_path: Path) -> None:
    """Nothing is put back later, whatever is empty then, and no file stays beside the store."""
    store, _, table = _store(tmp_path)
    with kept(store):
        table.write_text("ATTACH turns, changed")

    assert [file.name for file in tmp_path.iterdir()] == ["store"]
    table.write_bytes(b"")
    assert put_back(store) == []


def test_a_server_has_none() -> None:
    """Only the embedded engine's are ours to keep."""
    with kept(None):
        assert put_back(None) == []


def test_a_copy_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The message says what happened and that nothing is lost; the copy is left."""
    store, _, table = _store(tmp_path)
    _cut_off(store, table)
    copy = tmp_path / "store-descriptions.json"
    copy.unlink()
    copy.mkdir()

    with pytest.raises(StoreUnavailableError, match="no rows are lost"):
        put_back(store)

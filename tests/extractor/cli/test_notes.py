from pathlib import Path

import pytest

from support.collecting import Collecting
from support.memory_commands import data, spanlore


def test_notes_by_command(
    collector: Collecting, checkout: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path, status, sync; a status changes nothing; an edit by hand flows back."""
    folder = tmp_path_factory.mktemp("vault")
    monkeypatch.setitem(collector.environment, "SPANLORE_NOTES_DIRECTORY", str(folder))
    memory_id = data(collector, "remember", "run the linter with ruff")["memory"]["id"]
    before = data(collector, "notes", "status")
    empty = list(folder.iterdir())
    done = data(collector, "notes", "sync", "--sessions", "1")
    [file] = [name for name in done["written"] if memory_id in name]
    note = folder / file
    note.write_text(note.read_text().replace("with ruff", "with mypy"))
    told = spanlore(collector, "notes", "sync", "--sessions", "0").stdout

    assert data(collector, "notes", "path") == {"path": str(folder), "exists": True}
    assert file in before["written"] and empty == []
    assert f"{memory_id} edited" in told
    assert "with mypy" in data(collector, "why", memory_id)["memory"]["text"]


def test_a_working_tree_is_refused(collector: Collecting, checkout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to set."""
    monkeypatch.setitem(collector.environment, "SPANLORE_NOTES_DIRECTORY", str(Path.cwd() / "notes"))
    result = spanlore(collector, "notes", "sync")

    assert (result.exit_code, "inside_working_tree" in result.stderr) == (2, True)

from pathlib import Path

import pytest

from spanlore.memory.stated import remember
from spanlore.settings import Paths, Settings
from spanlore_extractor.notes.folder import (
    NotesPlaceError,
    folder_of,
    read_folder,
    read_index,
    sync,
    write_index,
)
from spanlore_extractor.notes.plan import Entry
from support.collecting import Collecting
from support.memory_commands import make_checkout

NOW_NS = 1_796_000_000 * 10**9


def settings_for(folder: Path, **more: bool) -> Settings:
    return Settings.model_validate({"notes": {"directory": str(folder), **more}})


def test_never_in_a_working_tree_unless_told(tmp_path: Path) -> None:
    """Not even a folder that is not there yet; by default they lie in the state directory."""
    make_checkout(tmp_path)
    with pytest.raises(NotesPlaceError, match="working tree"):
        folder_of(settings_for(tmp_path / "docs" / "notes"), Paths(tmp_path, tmp_path))
    told = settings_for(tmp_path / "docs", inside_working_tree=True)

    assert folder_of(told, Paths(tmp_path, tmp_path)) == tmp_path / "docs"
    assert folder_of(Settings(), Paths(Path("/c"), Path("/s"))) == Path("/s/notes")


def test_there_and_back(collector: Collecting, tmp_path: Path) -> None:
    """Written private and whole; an edit reaches the store, a deletion forgets; a changed session note is left."""
    settings, paths = settings_for(tmp_path / "notes"), Paths(tmp_path / "c", tmp_path / "s")
    scope = "example.org/notes/app"
    made = remember("run the tests with tox", scope, (), NOW_NS)[0]
    collector.client.apply([made])

    def round_trip(**more: bool) -> None:
        sync(collector.client, settings, paths, NOW_NS, sessions={"sessions/a/one.md": "theirs"}, **more)

    round_trip()
    [file] = (tmp_path / "notes" / "memories" / "example.org-notes-app").iterdir()
    mode, session = file.stat().st_mode & 0o777, tmp_path / "notes" / "sessions" / "a" / "one.md"
    file.write_text(file.read_text().replace("with tox", "with make check"))
    session.write_text("mine")
    round_trip(dry_run=True)
    before = collector.client.memory(made.memory.id)
    round_trip()
    edited = collector.client.memory(made.memory.id)
    file.unlink()
    round_trip()
    gone = collector.client.memory(made.memory.id)

    assert mode == 0o600
    assert before == made.memory
    assert edited is not None and edited.is_edited and "make check" in edited.text
    assert gone is not None and gone.status.value == "forgotten"
    assert session.read_text() == "mine"


def test_only_notes_are_read(tmp_path: Path) -> None:
    """No links out, no hidden folders; an index that can't be read is none."""
    notes = tmp_path / "notes"
    (notes / ".obsidian").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("x")
    (notes / "link.md").symlink_to(tmp_path / "secret.md")
    for name in ("a.md", "a.md.conflict", "b.txt", ".obsidian/c.md"):
        (notes / name).write_text("x")
    found = read_folder(notes)
    write_index(tmp_path / "i" / "index.json", {"m-1": Entry("a.md", "d", "s")})

    assert set(found.files) == {"a.md"}
    assert found.conflicts == {"a.md.conflict"}
    assert read_folder(tmp_path / "nothing").is_new
    assert read_index(tmp_path / "i" / "index.json") == {"m-1": Entry("a.md", "d", "s")}
    assert read_index(tmp_path / "secret.md") == {}

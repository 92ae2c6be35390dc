import sqlite3
from pathlib import Path

import pytest

from spanlore_proxy.capture.state_db import StateDb, open_database


def test_states_come_back_newest_last(tmp_path: Path) -> None:
    """What was saved is loaded by another connection, the longest unused first."""
    db = StateDb(tmp_path / "proxy.sqlite")
    db.save([("a", '{"a":1}'), ("b", '{"b":1}')], 1)
    db.save([("a", '{"a":2}')], 2)
    other = StateDb(tmp_path / "proxy.sqlite")
    states = list(other.load(10))
    newest = list(other.load(1))
    other.close()
    db.close()

    assert (states, newest) == (['{"b":1}', '{"a":2}'], ['{"a":2}'])
    assert (tmp_path / "proxy.sqlite").stat().st_mode & 0o777 == 0o600


def test_pruning_keeps_those_used_last(tmp_path: Path) -> None:
    """The file does not grow with every conversation there ever was."""
    db = StateDb(tmp_path / "proxy.sqlite")
    for number in range(10):
        db.save([(f"c{number}", f"{number}")], number)
    db.prune(keep=3)
    states = list(db.load(100))
    db.close()

    assert states == ["7", "8", "9"]


def test_an_unreadable_row_is_left_out(tmp_path: Path) -> None:
    """One damaged state costs one conversation, not the start."""
    db = StateDb(tmp_path / "proxy.sqlite")
    db.save([("a", "good")], 1)
    raw = open_database(tmp_path / "proxy.sqlite")
    with raw:
        raw.execute("INSERT INTO conversations VALUES ('b', 2, x'00')")
    raw.close()
    states = list(db.load(10))
    db.close()

    assert states == ["good"]


def test_what_is_no_database_is_an_error(tmp_path: Path) -> None:
    """A file of something else is not written over here; who opens it decides."""
    (tmp_path / "proxy.sqlite").write_text("not a database, but long enough to have a header" * 10)

    with pytest.raises(sqlite3.DatabaseError):
        StateDb(tmp_path / "proxy.sqlite")

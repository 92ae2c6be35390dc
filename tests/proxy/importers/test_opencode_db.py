"""OpenCode's database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spanlore.transcripts.opencode import read
from spanlore_proxy.importers.opencode_db import UnreadableDatabaseError, exports_in


def database(folder: Path) -> Path:
    """With the tables that the importer reads, as OpenCode 1.18 makes them."""
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as made, made:
        made.executescript(
            "CREATE TABLE session (id TEXT, directory TEXT, version TEXT, time_created INTEGER);"
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        )
        made.execute("INSERT INTO session VALUES ('ses_1', '/r', '1.18', 1)")
        user, assistant = {"role": "user"}, {"role": "assistant", "modelID": "m"}
        tool = {
            "type": "tool",
            "tool": "bash",
            "callID": "c",
            "state": {"status": "completed", "metadata": {"exit": 3}},
        }
        made.execute("INSERT INTO message VALUES ('m2', 'ses_1', 20, ?)", (json.dumps(assistant),))
        made.execute("INSERT INTO message VALUES ('m1', 'ses_1', 10, ?)", (json.dumps(user),))
        made.execute(
            "INSERT INTO part VALUES ('p1', 'm1', 'ses_1', 10, ?)", (json.dumps({"type": "text", "text": "go"}),)
        )
        made.execute("INSERT INTO part VALUES ('p2', 'm2', 'ses_1', 20, ?)", (json.dumps(tool),))
        made.execute("INSERT INTO part VALUES ('p3', 'm2', 'ses_1', 21, '{torn')")
    return path


def test_sessions_are_exports(tmp_path: Path) -> None:
    """In order of their time; a torn part is passed over."""
    [export] = exports_in(database(tmp_path))
    found = read(export)

    assert (found.session_id, found.cwd, found.version) == ("ses_1", "/r", "1.18")
    assert [type(event).__name__ for event in found.events] == ["Said", "Answered", "Result"]
    assert getattr(found.events[2], "exit_code", None) == 3


def test_other_files_are_told(tmp_path: Path) -> None:
    """No database, or one of something else."""
    (tmp_path / "x.db").write_text("hello")

    with pytest.raises(UnreadableDatabaseError, match=r"x\.db"):
        list(exports_in(tmp_path / "x.db"))
    with pytest.raises(UnreadableDatabaseError):
        list(exports_in(tmp_path / "missing.db"))

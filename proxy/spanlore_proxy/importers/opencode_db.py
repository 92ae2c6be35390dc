"""Sessions in OpenCode's database (versions since 1.2), each as the export that `opencode export` would make.

`session`, `message` and `part` rows; the rows' `data` is JSON without the ids. Opened read-only: a running OpenCode is
not disturbed, and its write-ahead log is read along.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from spanlore.genai import jsontext
from spanlore.transcripts.opencode import export_of


class UnreadableDatabaseError(ValueError):
    """The file is no database of OpenCode's, or cannot be read now."""


def exports_in(path: Path) -> Iterator[dict[str, Any]]:
    """The export of every session, oldest first.

    Raises:
        UnreadableDatabaseError: see there.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            database.row_factory = sqlite3.Row
            for session in database.execute("SELECT * FROM session ORDER BY time_created, id").fetchall():
                yield _export(database, session)
    except sqlite3.Error as error:
        raise UnreadableDatabaseError(f"{path}: {error}") from error


def _export(database: sqlite3.Connection, session: sqlite3.Row) -> dict[str, Any]:
    id_ = session["id"]
    messages = [_row(row) for row in database.execute("SELECT * FROM message WHERE session_id = ?", (id_,))]
    parts: dict[str, list[Any]] = {}
    for row in database.execute("SELECT * FROM part WHERE session_id = ?", (id_,)):
        parts.setdefault(row["message_id"], []).append(_row(row))
    return export_of(dict(zip(session.keys(), session, strict=True)), messages, parts)


def _row(row: sqlite3.Row) -> dict[str, Any]:
    try:
        data = jsontext.loads(row["data"])
    except (ValueError, TypeError):
        data = {}
    return {"time": {"created": row["time_created"]}, **(data if isinstance(data, dict) else {}), "id": row["id"]}

"""OpenCode's storage folder."""

from __future__ import annotations

import json
from pathlib import Path

from spanlore.transcripts.opencode_storage import export_at


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_session_is_put_together(tmp_path: Path) -> None:
    """From three folders; a torn file is left out."""
    storage = tmp_path / "storage"
    session = write(storage / "session" / "p" / "ses_1.json", {"id": "ses_1", "directory": "/r"})
    write(storage / "message" / "ses_1" / "msg_1.json", {"id": "msg_1", "role": "user"})
    write(storage / "message" / "ses_1" / "msg_2.json", "{torn")
    write(storage / "part" / "msg_1" / "prt_1.json", {"id": "prt_1", "type": "text", "text": "go"})

    export = export_at(session)

    assert export is not None
    assert export["info"]["directory"] == "/r"
    assert [part["text"] for message in export["messages"] for part in message["parts"]] == ["go"]


def test_other_files_are_none(tmp_path: Path) -> None:
    """A file that lies elsewhere is no session of a storage."""
    assert export_at(write(tmp_path / "a.json", {})) is None

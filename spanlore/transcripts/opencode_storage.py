"""Sessions in OpenCode's storage folder, put together to exports.

`storage/session/PROJECT/SESSION.json`, `storage/message/SESSION/MESSAGE.json`, `storage/part/MESSAGE/PART.json`; newer
versions keep a database instead. A file that can't be read is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spanlore.genai import jsontext
from spanlore.transcripts.loose import mapping, string
from spanlore.transcripts.opencode import export_of


def export_at(path: Path) -> dict[str, Any] | None:
    """The export of the session file `path`; None when that is no session in a storage folder."""
    if path.suffix != ".json" or len(path.parents) < 3 or path.parents[1].name != "session":
        return None
    storage = path.parents[2]
    info = _load(path)
    id_ = string(mapping(info).get("id"))
    if not id_ or not (storage / "message").is_dir():
        return None
    messages = list(_load_all(storage / "message" / id_))
    ids = [string(mapping(message).get("id")) for message in messages]
    return export_of(info, messages, {one: list(_load_all(storage / "part" / one)) for one in ids if one})


def _load_all(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.json")):
        value = _load(path)
        if value is not None:
            yield value


def _load(path: Path) -> Any:
    try:
        return jsontext.loads(path.read_bytes())
    except (OSError, ValueError):
        return None

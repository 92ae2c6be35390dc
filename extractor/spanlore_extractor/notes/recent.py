"""The notes of the last sessions, out of the store."""

from __future__ import annotations

from typing import Final

from spanlore_collector.store.api_client import MemoryClient
from spanlore_extractor.notes.sessions import session_file, session_note
from spanlore_extractor.reading import Rows, read_sessions

_RECENT: Final = """
SELECT session_id, max(end_time) AS ended FROM turns WHERE session_id != ''
GROUP BY session_id ORDER BY ended DESC, session_id LIMIT {count:UInt32}
"""


def recent_notes(reader: Rows, client: MemoryClient, count: int) -> dict[str, str]:
    """Relative path → note of the last sessions in which something was done."""
    ids = [str(row["session_id"]) for row in reader.rows(_RECENT, {"count": count})]
    if not ids:
        return {}
    memories = client.memories()
    notes = ((session_file(session), session_note(session, memories)) for session in read_sessions(reader, ids))
    return {file: text for file, text in notes if text}

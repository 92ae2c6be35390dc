"""What happened to memories, from `memory_events`: the last changes, earlier states, and all memories as of a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from spanlore.memory.memory import Memory, memory_from_json

_LAST: Final = """
SELECT toUnixTimestamp64Nano(at) AS at_ns, id, version, verb, actor, reason
FROM memory_events
WHERE at IN (SELECT DISTINCT at FROM memory_events ORDER BY at DESC LIMIT {limit:UInt32})
ORDER BY at DESC, id, version
"""
_STATES: Final = """
SELECT id, version, any(json) AS json FROM memory_events
WHERE id IN {ids:Array(String)} GROUP BY id, version
"""
_AS_OF: Final = """
SELECT id, argMax(json, version) AS json FROM memory_events
WHERE at <= fromUnixTimestamp64Nano({at:Int64}) GROUP BY id ORDER BY id
"""


class Rows(Protocol):
    """What `spanlore_collector.store.reader.Reader` offers."""

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One memory's change, without the state it led to."""

    at_ns: int
    """The same for all changes that were made at once."""
    id: str
    version: int
    verb: str
    actor: str
    reason: str


def last_changes(reader: Rows, limit: int = 50) -> list[list[Change]]:
    """The last `limit` lists of changes that were made at once, newest first."""
    out: list[list[Change]] = []
    for row in reader.rows(_LAST, {"limit": limit}):
        change = Change(
            int(row["at_ns"]), row["id"], int(row["version"]), row["verb"], row["actor"], row["reason"]
        )  # fmt: skip
        if not out or out[-1][0].at_ns != change.at_ns:
            out.append([])
        out[-1].append(change)
    return out


def states(reader: Rows, ids: Iterable[str]) -> dict[tuple[str, int], Memory]:
    """Every state of these memories, by id and version."""
    wanted = sorted(set(ids))
    rows = reader.rows(_STATES, {"ids": wanted}) if wanted else []
    return {(row["id"], int(row["version"])): memory_from_json(orjson.loads(row["json"])) for row in rows}


def memories_as_of(reader: Rows, at_ns: int) -> list[Memory]:
    """All memories as they were recorded at that time, by id."""
    return [memory_from_json(orjson.loads(row["json"])) for row in reader.rows(_AS_OF, {"at": at_ns})]

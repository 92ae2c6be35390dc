"""Memories, their events, and how far mining has come: held in memory, written through the one writer.

`memory_events` is the truth: an event is committed before the memory's row, and when a process starts, rows that lag
behind their newest event are written again. An operation carries the state after it, with a version one higher than the
state it was made from; any other version is a conflict, and then nothing of the list is applied. The very same
operation a second time is no conflict: the sender did not hear the first answer.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from clickhouse_connect.driver.client import Client

from spanlore.memory.memory import Memory, memory_from_json, memory_to_json
from spanlore.memory.operations import Operation
from spanlore.memory.sharing import Sharing, sharing_to_json

FORKS_KEY = "forks"
"""Mining's state: JSON of fork → upstream, as checkouts on this machine tell."""


class ConflictError(ValueError):
    """The sender made its change from a state that is not the newest."""


class MemoryRow(NamedTuple):
    """A row of `memories`."""

    id: str
    version: int
    status: str
    kind: str
    source: str
    scope: str
    harness: str
    subject: str
    slot: str
    value: str
    text: str
    confidence: float
    session_count: int
    pinned: bool
    created_at: int
    updated_at: int
    recorded_at: int
    json: str


class EventRow(NamedTuple):
    """A row of `memory_events`."""

    id: str
    version: int
    verb: str
    actor: str
    reason: str
    at: int
    json: str


class MemoryTable:
    """All memories. Made and changed on the writer's thread, read from anywhere."""

    def __init__(self, client: Client, sharing: Sharing | None = None, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._sharing = sharing or Sharing()
        self._memories = {memory.id: memory for memory in _newest(client)}
        self._mining: dict[str, str] = _pairs(
            client.query("SELECT key, argMax(value, updated_at) FROM mining_state GROUP BY key").result_rows
        )
        self._snapshot: tuple[str, bytes, int] | None = None
        _repair(client, self._memories.values())

    def all(self) -> list[Memory]:
        """Every memory, whatever its status, by id."""
        return [memory for _, memory in sorted(self._memories.items())]

    def get(self, memory_id: str) -> Memory | None:
        """One memory."""
        return self._memories.get(memory_id)

    def snapshot(self) -> tuple[str, bytes]:
        """(etag, JSON body) of the memories an agent may be shown."""
        made = self._snapshot
        if made is None or 0 < made[2] <= self._clock():
            shown = self.shown()
            body = orjson.dumps(
                {"memories": [memory_to_json(memory) for memory in shown], **sharing_to_json(self.sharing())}
            )
            ends_ns = min((memory.valid_to_ns for memory in shown if memory.valid_to_ns), default=0)
            made = self._snapshot = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"', body, ends_ns
        return made[:2]

    def shown(self) -> list[Memory]:
        """The memories an agent may be shown now, by id."""
        now_ns = self._clock()
        return [memory for memory in self.all() if memory.is_shown and not memory.is_over(now_ns)]

    def sharing(self) -> Sharing:
        """Which repositories read which others' memories: as set, and as checkouts told."""
        try:
            seen = orjson.loads(self._mining.get(FORKS_KEY, "{}"))
            found = {str(fork): str(parent) for fork, parent in seen.items()}
        except (orjson.JSONDecodeError, AttributeError):
            found = {}
        return Sharing({**found, **self._sharing.forks}, self._sharing.public)

    def apply(self, client: Client, operations: Sequence[Operation]) -> int:
        """Applies the operations in order, all or none; returns how many changed something.

        Raises:
            ConflictError: an operation was not made from the newest version.
        """
        state = dict(self._memories)
        events: list[EventRow] = []
        at_ns = time.time_ns()
        for operation in operations:
            memory, current = operation.memory, state.get(operation.memory.id)
            if memory == current:
                continue
            version = current.version if current else 0
            if memory.version != version + 1:
                raise ConflictError(
                    f"{memory.id} is at version {version}, and this change would make it {memory.version}. "
                    "Read it again, and make the change from that."
                )
            state[memory.id] = memory
            events.append(_event(operation, at_ns))
        if events:
            _insert(client, "memory_events", events)
            changed = [state[memory_id] for memory_id in dict.fromkeys(event.id for event in events)]
            _insert(client, "memories", [_row(memory) for memory in changed])
            self._memories, self._snapshot = state, None
        return len(events)

    def mining_state(self, key: str) -> str | None:
        """The value of a key of mining's own."""
        return self._mining.get(key)

    def set_mining_state(self, client: Client, key: str, value: str) -> None:
        """Sets it."""
        client.insert("mining_state", [[key, value, time.time_ns()]], column_names=["key", "value", "updated_at"])
        self._mining = {**self._mining, key: value}
        if key == FORKS_KEY:
            self._snapshot = None


def events_of(client: Client, memory_id: str) -> list[dict[str, Any]]:
    """What happened to a memory, oldest first: {verb, actor, reason, version, at_ns, memory}."""
    rows = client.query(
        "SELECT version, verb, actor, reason, toUnixTimestamp64Nano(at), json FROM memory_events "
        "WHERE id = {id:String} ORDER BY version, at",
        parameters={"id": memory_id},
    ).result_rows
    return [
        {
            "version": row[0],
            "verb": row[1],
            "actor": row[2],
            "reason": row[3],
            "at_ns": row[4],
            "memory": orjson.loads(row[5]),
        }
        for row in rows
    ]


def _pairs(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    return {row[0]: row[1] for row in rows}


def _newest(client: Client) -> list[Memory]:
    rows = client.query("SELECT argMax(json, version) FROM memory_events GROUP BY id").result_rows
    return [memory_from_json(orjson.loads(row[0])) for row in rows]


def _repair(client: Client, memories: Iterable[Memory]) -> None:
    there: dict[str, int] = _pairs(client.query("SELECT id, max(version) FROM memories GROUP BY id").result_rows)
    _insert(client, "memories", [_row(memory) for memory in memories if there.get(memory.id, 0) < memory.version])


def _insert(client: Client, table: str, rows: Sequence[MemoryRow] | Sequence[EventRow]) -> None:
    if rows:
        client.insert(table, list(rows), column_names=rows[0]._fields)


def _row(memory: Memory) -> MemoryRow:
    return MemoryRow(
        id=memory.id,
        version=memory.version,
        status=memory.status.value,
        kind=memory.kind.value,
        source=memory.source.value,
        scope=memory.scope,
        harness=memory.harness,
        subject=memory.subject,
        slot=memory.slot,
        value=memory.value,
        text=memory.text,
        confidence=memory.confidence,
        session_count=memory.session_count,
        pinned=memory.pinned,
        created_at=memory.created_at_ns,
        updated_at=memory.updated_at_ns,
        recorded_at=time.time_ns() // 1_000_000,
        json=orjson.dumps(memory_to_json(memory)).decode(),
    )


def _event(operation: Operation, at_ns: int) -> EventRow:
    """`at_ns` is the same for all of one list: what was done at once can be undone at once."""
    memory = operation.memory
    return EventRow(
        id=memory.id,
        version=memory.version,
        verb=operation.verb.value,
        actor=operation.actor,
        reason=operation.reason,
        at=at_ns,
        json=orjson.dumps(memory_to_json(memory)).decode(),
    )

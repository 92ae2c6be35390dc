"""Routes of memories and of mining's state."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import orjson
from aiohttp import web

from spanlore.memory.memory import Memory, memory_to_json
from spanlore.memory.operations import Operation, operation_from_json
from spanlore_collector.api.guard import problem
from spanlore_collector.store.memories import ConflictError, MemoryTable, events_of
from spanlore_collector.store.writer import Writer

_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
"""An id becomes part of file names, in notes."""


class MemoryRoutes:
    """Reads from the table in memory, writes through the writer."""

    def __init__(self, table: MemoryTable, writer: Writer) -> None:
        self._table = table
        self._writer = writer

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/v1/memories/snapshot", self.snapshot)
        app.router.add_post("/v1/memories/operations", self.operations)
        app.router.add_get("/v1/memories", self.memories)
        app.router.add_get("/v1/memories/{id}", self.memory)
        app.router.add_get("/v1/mining/state/{key}", self.mining_state)
        app.router.add_put("/v1/mining/state/{key}", self.set_mining_state)

    async def snapshot(self, request: web.Request) -> web.Response:
        """{"memories": […]} an agent may be shown; 304 when the client has this one already."""
        etag, body = self._table.snapshot()
        if etag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(body=body, content_type="application/json", headers={"ETag": etag})

    async def memories(self, request: web.Request) -> web.Response:
        """{"memories": […]}, of `?scope=` and `?status=` where given."""
        scope, status = request.query.get("scope"), request.query.get("status")
        found = [
            memory_to_json(memory)
            for memory in self._table.all()
            if scope in (None, memory.scope) and status in (None, memory.status.value)
        ]
        return _json({"memories": found})

    async def memory(self, request: web.Request) -> web.Response:
        """{"memory": …, "events": […]}."""
        found = self._table.get(request.match_info["id"])
        if found is None:
            return problem(404, f"there is no memory {request.match_info['id']}")
        events = await asyncio.wrap_future(self._writer.call(lambda client: events_of(client, found.id)))
        return _json({"memory": memory_to_json(found), "events": events})

    async def operations(self, request: web.Request) -> web.Response:
        """Applies {"operations": […]}, all or none: {"applied": n}, or 409."""
        try:
            operations = _operations(await request.read())
        except ValueError as error:
            return problem(400, str(error))
        try:
            applied = await asyncio.shield(
                asyncio.wrap_future(self._writer.call(lambda client: self._table.apply(client, operations)))
            )
        except ConflictError as error:
            return problem(409, str(error))
        return _json({"applied": applied})

    async def mining_state(self, request: web.Request) -> web.Response:
        """{"value": …} of a key."""
        value = self._table.mining_state(request.match_info["key"])
        return problem(404, "nothing is kept under that key") if value is None else _json({"value": value})

    async def set_mining_state(self, request: web.Request) -> web.Response:
        """Keeps {"value": …} under a key."""
        key = request.match_info["key"]
        try:
            value = orjson.loads(await request.read())["value"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            value = None
        if not isinstance(value, str):
            return problem(400, 'the body must be {"value": "…"}')
        await asyncio.shield(
            asyncio.wrap_future(self._writer.call(lambda client: self._table.set_mining_state(client, key, value)))
        )
        return _json({"value": value})


def _operations(body: bytes) -> list[Operation]:
    try:
        data = orjson.loads(body)["operations"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        data = None
    if not isinstance(data, list):
        raise ValueError('the body must be {"operations": […]}')
    operations = [operation_from_json(item) for item in data]
    for operation in operations:
        _check(operation.memory)
    return operations


def _check(memory: Memory) -> None:
    if not isinstance(memory.id, str) or not isinstance(memory.text, str) or not _ID.fullmatch(memory.id):
        raise ValueError("a memory needs an id (letters, digits and dashes) and a text")
    if not isinstance(memory.version, int) or not 0 < memory.version < 2**32:
        raise ValueError(f"the version of {memory.id} must be a positive number")


def _json(data: Any) -> web.Response:
    return web.Response(body=orjson.dumps(data), content_type="application/json")

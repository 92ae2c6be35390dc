"""The collector's API for memories, from another process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import urllib3

from spanlore.memory.memory import Memory, Status, memory_from_json
from spanlore.memory.operations import Operation, operation_to_json
from spanlore.settings import Paths, Settings
from spanlore_collector.store.client import StoreUnavailableError, not_answering
from spanlore_collector.store.reader import Reader


class VersionConflictError(ValueError):
    """Somebody changed a memory in between: read it again, and make the change from that."""


class RequestRefusedError(ValueError):
    """The collector does not understand the request, or does not allow it."""


class MemoryClient:
    """Memories, operations on them, and mining's own state. Safe for several threads."""

    def __init__(self, base_url: str, token: str, timeout_s: float = 10) -> None:
        self._base_url = base_url.rstrip("/")
        self._pool = urllib3.PoolManager(
            headers={"Authorization": f"Bearer {token}"}, timeout=timeout_s, retries=False, maxsize=4
        )

    def close(self) -> None:
        """Closes the connections."""
        self._pool.clear()

    def snapshot(self) -> list[Memory]:
        """The memories an agent may be shown: active and on trial."""
        return _memories(self._get("/v1/memories/snapshot"))

    def memories(self, scope: str | None = None, status: Status | str | None = None) -> list[Memory]:
        """All memories, or those of a scope or a status."""
        wanted = {"scope": scope, "status": str(status) if status is not None else None}
        query = urlencode({key: value for key, value in wanted.items() if value is not None})
        return _memories(self._get(f"/v1/memories?{query}"))

    def memory(self, memory_id: str) -> Memory | None:
        """One memory; None when there is none of that id."""
        found = self._get(f"/v1/memories/{quote(memory_id, safe='')}", or_none=True)
        return memory_from_json(found["memory"]) if found else None

    def events(self, memory_id: str) -> list[dict[str, Any]]:
        """What happened to it, oldest first: {verb, actor, reason, version, at_ns, memory}."""
        found = self._get(f"/v1/memories/{quote(memory_id, safe='')}", or_none=True)
        return list(found["events"]) if found else []

    def apply(self, operations: Sequence[Operation]) -> int:
        """Applies all or none, in order; returns how many changed something.

        Raises:
            VersionConflictError: one was not made from the newest version of its memory.
        """
        body = orjson.dumps({"operations": [operation_to_json(operation) for operation in operations]})
        return int(self._request("POST", "/v1/memories/operations", body)["applied"])

    def mining_state(self, key: str) -> str | None:
        """The value that mining left under the key."""
        found = self._get(f"/v1/mining/state/{quote(key, safe='')}", or_none=True)
        return str(found["value"]) if found else None

    def set_mining_state(self, key: str, value: str) -> None:
        """Leaves a value there."""
        self._request("PUT", f"/v1/mining/state/{quote(key, safe='')}", orjson.dumps({"value": value}))

    def add_internal_calls(self, calls: Sequence[dict[str, Any]]) -> int:
        """Adds our own model calls to the ledger (`store.ledger.InternalCall`); returns how many."""
        return int(self._request("POST", "/v1/ledger", orjson.dumps({"calls": list(calls)}))["appended"])

    def keep_summaries(self, summaries: Sequence[dict[str, Any]] = (), chapters: Sequence[dict[str, Any]] = ()) -> int:
        """Keeps summaries of sessions and of months (`store.summaries`); returns how many."""
        body = orjson.dumps({"summaries": list(summaries), "chapters": list(chapters)})
        return int(self._request("POST", "/v1/summaries", body)["kept"])

    def status(self) -> dict[str, Any]:
        """The collector's own figures."""
        return dict(self._get("/v1/status"))

    def _get(self, path: str, *, or_none: bool = False) -> Any:
        return self._request("GET", path, None, or_none=or_none)

    def _request(self, method: str, path: str, body: bytes | None, *, or_none: bool = False) -> Any:
        headers = {**self._pool.headers, "Content-Type": "application/json"}
        try:
            answer = self._pool.request(method, self._base_url + path, body=body, headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise not_answering("the collector", self._base_url, error) from error
        if answer.status == 404 and or_none:
            return None
        if answer.status >= 400:
            raise _error(answer.status, answer.data)
        return orjson.loads(answer.data)


def connect(settings: Settings, paths: Paths) -> tuple[Reader, MemoryClient]:
    """The reading side and the API of the daemon, or of the collector alone, that runs here.

    Raises:
        StoreUnavailableError: no daemon is running.
    """
    ports = _ports(paths.daemon_file) or _ports(paths.collector_file)
    if ports is None:
        raise StoreUnavailableError("the daemon is not running; `spanlore up --detach` starts it.")
    collector, clickhouse = ports
    token = paths.token()
    reader = (
        Reader(settings.clickhouse_url) if settings.clickhouse_url else Reader(f"http://127.0.0.1:{clickhouse}", token)
    )
    return reader, MemoryClient(f"http://127.0.0.1:{collector}", token)


def _ports(file: Path) -> tuple[int, int] | None:
    """(collector, ClickHouse interface), None when the file is not there or not whole."""
    try:
        told = json.loads(file.read_text())
        return int(told["collector_port"]), int(told["clickhouse_port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _memories(data: dict[str, Any]) -> list[Memory]:
    return [memory_from_json(item) for item in data["memories"]]


def _error(status: int, body: bytes) -> Exception:
    try:
        message = str(orjson.loads(body)["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = body[:300].decode("utf-8", "replace")
    if status == 409:
        return VersionConflictError(message)
    if status in (502, 503, 504):
        return StoreUnavailableError(f"the collector can't do it now: {message}")
    return RequestRefusedError(f"the collector says {status}: {message}")

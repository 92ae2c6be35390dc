"""Routes of memories, in what the client of tests/collector/store/test_api_client.py does not show."""

from __future__ import annotations

import orjson
import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb, operation_to_json
from support.collector_process import CollectorProcess


def added(memory_id: str) -> bytes:
    """The body that adds a memory."""
    memory = Memory(memory_id, Kind.USAGE, Source.EXPLICIT, Status.ACTIVE, "user", "use uv")
    return orjson.dumps({"operations": [operation_to_json(Operation(Verb.ADDED, memory))]})


def test_the_snapshot_is_sent_only_when_it_changed(collector: CollectorProcess) -> None:
    """304 for the etag one has, a new etag after a change."""
    collector.request("POST", "/v1/memories/operations", added("m-etag1"))
    first = collector.request("GET", "/v1/memories/snapshot")
    same = collector.request("GET", "/v1/memories/snapshot", headers={"If-None-Match": first.headers["ETag"]})
    collector.request("POST", "/v1/memories/operations", added("m-etag2"))
    other = collector.request("GET", "/v1/memories/snapshot", headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status, same.status, same.body, other.status) == (200, 304, b"", 200)
    assert {"m-etag1", "m-etag2"} <= {item["id"] for item in other.json()["memories"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/memories/operations", b"{", 400),
        ("POST", "/v1/memories/operations", b'{"operations": 1}', 400),
        ("POST", "/v1/memories/operations", b'{"operations": [{"verb": "added"}]}', 400),
        ("POST", "/v1/memories/operations", b'{"operations": [{"verb": "eaten", "memory": {}}]}', 400),
        ("PUT", "/v1/mining/state/k", b'{"value": 1}', 400),
        ("GET", "/v1/mining/state/none", None, 404),
        ("GET", "/v1/memories/m-none", None, 404),
        ("GET", "/nowhere", None, 404),
    ],
)
def test_wrong_requests_say_what_is_wrong(
    collector: CollectorProcess, method: str, path: str, body: bytes | None, status: int
) -> None:
    """A status and, where the API knows the route, a message."""
    reply = collector.request(method, path, body)

    assert reply.status == status
    if path != "/nowhere":
        assert reply.json()["message"]

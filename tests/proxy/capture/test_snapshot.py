"""The proxy's copy of the memories: fetched, kept, and never lost to trouble."""

import asyncio
import contextlib
import logging
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from spanlore.memory.memory import Memory, memory_to_json
from spanlore.recall.snapshot import Snapshot
from spanlore_proxy.capture import snapshot as module
from spanlore_proxy.capture.snapshot import SnapshotCache, SnapshotError, read_snapshot
from support.injecting import make_memory


@dataclass
class Collector:
    """A small real server with one endpoint."""

    memories: list[Memory] = field(default_factory=list)
    etag: str = '"1"'
    status: int = 200
    body: bytes | None = None
    answered: list[int] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer token"
        status = 304 if request.headers.get("If-None-Match") == self.etag else self.status
        self.answered.append(status)
        if status != 200:
            return web.Response(status=status)
        body = self.body or orjson.dumps({"memories": [memory_to_json(memory) for memory in self.memories]})
        return web.Response(body=body, headers={"ETag": self.etag})


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    """A collector on a free port of the loopback."""
    server = Collector([make_memory("a")])
    app = web.Application()
    app.router.add_get("/v1/memories/snapshot", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """A client."""
    async with aiohttp.ClientSession() as opened:
        yield opened


async def test_new_memories_are_taken_and_kept_on_disk(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """The file is the user's own, and a proxy that starts alone begins with it."""
    path = tmp_path / "snapshot.json"
    cache = SnapshotCache(collector.url + "/", "token", path)

    assert cache.current == Snapshot()
    assert await cache.refresh(session)
    assert cache.current.memories == (make_memory("a"),)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_snapshot(path).memories == (make_memory("a"),)
    assert SnapshotCache("http://127.0.0.1:9", "token", path).current.memories == (make_memory("a"),)
    assert _names(tmp_path) == ["snapshot.json"]


async def test_an_unchanged_state_is_not_sent_again(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """The second time the collector answers 304 and the very same snapshot stays; a new one replaces it whole."""
    cache = SnapshotCache(collector.url, "token", tmp_path / "s.json")
    await cache.refresh(session)
    first = cache.current
    assert not await cache.refresh(session)
    assert cache.current is first
    collector.memories, collector.etag = [make_memory("b")], '"2"'
    assert await cache.refresh(session)

    assert collector.answered == [200, 304, 200]
    assert cache.current.memories == (make_memory("b"),)
    assert first.memories == (make_memory("a"),)


@pytest.mark.parametrize(("status", "body"), [(500, None), (401, None), (200, b"<html>"), (200, b'{"memories": 3}')])
async def test_nonsense_leaves_the_old_snapshot(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path, status: int, body: bytes | None
) -> None:
    """Neither memory nor file is touched by an answer that is no snapshot."""
    cache = SnapshotCache(collector.url, "token", tmp_path / "s.json")
    await cache.refresh(session)
    collector.status, collector.body, collector.etag = status, body, '"2"'
    with pytest.raises(SnapshotError):
        await cache.refresh(session)

    assert cache.current.memories == read_snapshot(tmp_path / "s.json").memories == (make_memory("a"),)


async def test_an_endless_answer_is_not_taken(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy's memory is bounded."""
    monkeypatch.setattr(module, "MAX_BYTES", 100)  # the true bound would make a slow test
    cache = SnapshotCache(collector.url, "token", tmp_path / "s.json")

    with pytest.raises(SnapshotError, match="larger than 100"):
        await cache.refresh(session)


async def test_running_it_survives_a_collector_that_is_down(
    collector: Collector, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Trouble is told once when it begins and once when it ends, and memories come in when it is over."""
    caplog.set_level(logging.INFO, logger=module.__name__)
    collector.status = 503
    cache = SnapshotCache(collector.url, "token", tmp_path / "s.json")
    task = asyncio.create_task(cache.run(interval_s=0.005))
    await _until(lambda: len(collector.answered) >= 3)
    collector.status = 200
    await _until(lambda: bool(cache.current.memories) and "again" in caplog.text)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_nobody_listening_is_no_crash(tmp_path: Path) -> None:
    """A refused connection leaves what was there and goes on trying."""
    cache = SnapshotCache("http://127.0.0.1:9", "token", tmp_path / "s.json")
    task = asyncio.create_task(cache.run(interval_s=0.005))
    await asyncio.sleep(0.05)
    is_running = not task.done()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

    assert is_running
    assert cache.current == Snapshot()


async def test_a_full_disk_costs_the_copy_and_not_the_memories(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """Where the file can't be written the memories are used all the same."""
    cache = SnapshotCache(collector.url, "token", tmp_path / "missing" / "s.json")

    assert await cache.refresh(session)
    assert cache.current.memories == (make_memory("a"),)


def test_no_file_is_no_memories_and_a_broken_one_is_told(tmp_path: Path) -> None:
    """`spanlore run` hears of a broken file; the proxy starts without it."""
    path = tmp_path / "s.json"
    assert read_snapshot(path) == Snapshot()
    path.write_bytes(b"{")

    with pytest.raises(SnapshotError):
        read_snapshot(path)
    assert SnapshotCache("http://127.0.0.1:9", "t", path).current == Snapshot()


def _names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def _until(condition: object, timeout_s: float = 5.0) -> None:
    assert callable(condition)
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in another task's state
            await asyncio.sleep(0.005)


async def test_what_is_over_is_let_go_of_without_the_collector(
    collector: Collector, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """Also when the file is read by the next proxy."""
    now_ns = [10]
    lasting, ends = make_memory("a"), make_memory("b", valid_to_ns=20)
    collector.memories = [lasting, ends]
    cache = SnapshotCache(collector.url, "token", tmp_path / "s.json", lambda: now_ns[0])
    await cache.refresh(session)
    before = [memory.id for memory in cache.current.memories]
    now_ns[0] = 20
    cache.drop_ended()
    next_one = SnapshotCache("http://127.0.0.1:9", "token", tmp_path / "s.json", lambda: now_ns[0])

    assert sorted(before) == sorted([lasting.id, ends.id])
    assert [memory.id for memory in cache.current.memories] == [lasting.id]
    assert [memory.id for memory in next_one.current.memories] == [lasting.id]

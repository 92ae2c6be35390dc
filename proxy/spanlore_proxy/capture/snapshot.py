"""The proxy's copy of the memories that may be shown.

Fetched from the collector in the background (ETag, so that an unchanged state costs one 304), kept on disk (0600) so
that a proxy that starts alone has the last one, and swapped whole: whoever holds `current` holds something that never
changes. When the collector is down, or answers nonsense, the old one stays.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from spanlore import private_file
from spanlore.recall.snapshot import Snapshot, snapshot_from_json

if TYPE_CHECKING:
    import aiohttp

INTERVAL_S: Final = 1.0
TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 64 * 1024**2
"""A larger answer is not taken: about 50,000 memories with their evidence."""

_log = logging.getLogger(__name__)


class SnapshotError(ValueError):
    """The collector answered something that is no snapshot, or too much of it."""


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot in the file; the empty one when there is no such file.

    Raises:
        SnapshotError: the file holds something else.
        OSError: it can't be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Snapshot()
    return _parse(data, "", Snapshot())


class SnapshotCache:
    """The current snapshot. `refresh` once, or `run` for as long as the proxy lives."""

    def __init__(self, url: str, token: str, path: Path, clock: Callable[[], int] = time.time_ns) -> None:
        """`url` is the collector's (`http://127.0.0.1:7718`); an unreadable file at `path` is as good as none."""
        self._clock = clock
        self._url = f"{url.rstrip('/')}/v1/memories/snapshot"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._path = path
        self._is_down = False
        self._current = _read_or_empty(path)
        self.drop_ended()

    @property
    def current(self) -> Snapshot:
        """The newest snapshot; never None, never changing."""
        return self._current

    async def run(self, interval_s: float = INTERVAL_S) -> None:
        """Refreshes until cancelled. Trouble is logged when it begins and when it ends, not once a second."""
        # Not at the top: `spanlore run` reads the file and need not pay for an HTTP client.
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            while True:
                await self._try_refresh(session)
                await asyncio.to_thread(self.drop_ended)
                await asyncio.sleep(interval_s)

    async def refresh(self, session: aiohttp.ClientSession) -> bool:
        """Asks the collector once. True when there is a new snapshot.

        Raises:
            SnapshotError: no usable answer; the old snapshot stays.
            aiohttp.ClientError, TimeoutError: no answer; the old snapshot stays.
        """
        headers = {**self._headers, "If-None-Match": self._current.etag} if self._current.etag else self._headers
        async with session.get(self._url, headers=headers) as response:
            if response.status == 304:
                return False
            if response.status != 200:
                raise SnapshotError(f"the collector answered {response.status}")
            data = await _read_bounded(response)
            etag = response.headers.get("ETag", "")
        await asyncio.to_thread(self._take, data, etag)
        return True

    def drop_ended(self) -> None:
        """Lets go of what is over, whether the collector answers or not: requests need not look at a clock."""
        self._current = self._current.holding_at(self._clock())

    async def _try_refresh(self, session: aiohttp.ClientSession) -> None:
        import aiohttp

        try:
            await self.refresh(session)
        except (aiohttp.ClientError, TimeoutError, SnapshotError, OSError) as error:
            if not self._is_down:
                _log.warning("memories can't be refreshed, the last known stay: %s", error or type(error).__name__)
            self._is_down = True
        else:
            if self._is_down:
                _log.info("memories are refreshed again")
            self._is_down = False

    def _take(self, data: bytes, etag: str) -> None:
        """Off the event loop: 10,000 memories take a second at first, a fifth of that when few of them changed."""
        snapshot = _parse(data, etag, self._current)
        _write(self._path, data)
        self._current = snapshot.holding_at(self._clock())
        if snapshot.left_out:
            _log.warning("%d memories could not be read", snapshot.left_out)


def _parse(data: bytes, etag: str, before: Snapshot) -> Snapshot:
    try:
        return snapshot_from_json(orjson.loads(data), etag, before)
    except ValueError as error:
        raise SnapshotError(f"no snapshot: {error}") from error


def _read_or_empty(path: Path) -> Snapshot:
    try:
        return read_snapshot(path)
    except (SnapshotError, OSError) as error:
        _log.warning("the last snapshot can't be read, starting without memories: %s", error)
        return Snapshot()


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    pieces, size = [], 0
    async for chunk in response.content.iter_chunked(1 << 16):
        size += len(chunk)
        if size > MAX_BYTES:
            raise SnapshotError(f"the collector's snapshot is larger than {MAX_BYTES} bytes")
        pieces.append(chunk)
    return b"".join(pieces)


def _write(path: Path, data: bytes) -> None:
    """A full disk costs the copy, not the memories."""
    try:
        private_file.replace(path, data)
    except OSError as error:
        _log.warning("the snapshot can't be kept on disk: %s", error)

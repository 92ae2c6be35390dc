"""Questions to the store and to the collector's API, from an event loop: a few threads, each with a reader of its own.

Connections are opened at the first question, and again after the daemon was away: the page may start before it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from spanlore.settings import Paths, Settings
from spanlore_collector.store.api_client import MemoryClient, connect
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.reader import Reader

THREADS: Final = 3
"""The ClickHouse interface has four sessions; one is left for others."""
PATIENCE_S: Final = 35.0
"""A query may take 30 s (`reader_settings`). A collector that is stopped, or on a disk that hangs, answers never."""


class Asking:
    """Runs a question in a thread. For the loop's thread only."""

    def __init__(self, settings: Settings, paths: Paths, patience_s: float = PATIENCE_S) -> None:
        """`patience_s`: how long a question is waited for."""
        self._settings = settings
        self._paths = paths
        self._patience_s = patience_s
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="asking")
        self._local = threading.local()

    async def read[T](self, question: Callable[[Reader], T]) -> T:
        """What the question finds in the store.

        Raises:
            StoreUnavailableError: the daemon is away, or does not answer.
            QueryFailedError: the store refuses the query.
        """
        return await self._ask(lambda reader, _: question(reader))

    async def call[T](self, question: Callable[[MemoryClient], T]) -> T:
        """What the collector's API answers; see `MemoryClient` for what it raises."""
        return await self._ask(lambda _, client: question(client))

    def close(self) -> None:
        """Waits for questions that run, and ends the threads; connections end with them."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _ask[T](self, question: Callable[[Reader, MemoryClient], T]) -> T:
        def run() -> T:
            reader, client = self._connections()
            try:
                return question(reader, client)
            except StoreUnavailableError:
                reader.close()
                client.close()
                del self._local.connections
                raise

        try:
            async with asyncio.timeout(self._patience_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        except TimeoutError as error:
            raise StoreUnavailableError(
                f"the store has not answered for {self._patience_s:.0f} s: it is busy or hangs; see `spanlore status`."
            ) from error

    def _connections(self) -> tuple[Reader, MemoryClient]:
        found: tuple[Reader, MemoryClient] | None = getattr(self._local, "connections", None)
        if found is None:
            found = self._local.connections = connect(self._settings, self._paths)
        return found

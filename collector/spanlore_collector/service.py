"""The collector as a whole: opens the store, serves OTLP and the API, and the ClickHouse interface beside them."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
from aiohttp import web
from clickhouse_connect.driver.client import Client

from spanlore import opening
from spanlore.heap import release_when_idle
from spanlore.memory.sharing import Sharing
from spanlore.redaction.redact import Redactor
from spanlore.settings import Paths, Settings
from spanlore.spans.price import use_own_prices
from spanlore_collector.api.guard import guard
from spanlore_collector.api.ledger import LedgerRoutes
from spanlore_collector.api.memories import MemoryRoutes
from spanlore_collector.api.recall import RecallRoutes
from spanlore_collector.api.status import StatusRoutes
from spanlore_collector.api.store import StoreRoutes
from spanlore_collector.api.summaries import SummaryRoutes
from spanlore_collector.clickhouse_http.interface import ClickHouseInterface
from spanlore_collector.ingest.bodies import MAX_BODY_BYTES
from spanlore_collector.ingest.receiver import Receiver
from spanlore_collector.ingest.selfmetrics import SelfMetrics
from spanlore_collector.store import descriptions
from spanlore_collector.store.backfill import BackFill
from spanlore_collector.store.client import Store, is_out_of_memory, store_of
from spanlore_collector.store.memories import MemoryTable
from spanlore_collector.store.migrate import migrate, refuse_without_room
from spanlore_collector.store.retention import Retention, apply_retention, bound_merges
from spanlore_collector.store.sessions import SessionPool
from spanlore_collector.store.writer import Writer

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
READER_SESSIONS = 16
STOP_WRITER_S = 4.0
CLOSE_CONNECTIONS_S = 1.0
PRUNE_EVERY_S = 24 * 3600.0
PAUSES_S = (1, 2, 4, 8, 15)
BACKFILL_PATIENCE_S = 30.0
"""After a piece that failed."""


class PortTakenError(RuntimeError):
    """A port the collector is to listen on is in use. The message says which setting names it."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the collector listens; `clickhouse` is 0 when a server holds the store."""

    collector: int
    clickhouse: int


class Service:
    """One running collector."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings = settings
        use_own_prices(settings.prices)
        self._paths = paths
        self._store: Store = store_of(settings.clickhouse_url, paths.store_dir)
        self._token = paths.token()
        self._stack = AsyncExitStack()

    async def start(self) -> Ports:
        """Opens the store and listens.

        Raises:
            StoreLockedError, StoreUnavailableError: the store can't be opened.
            PortTakenError: a port is in use.
        """
        try:
            return await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stops listening, writes what was accepted, closes the store."""
        await self._stack.aclose()

    async def _start(self) -> Ports:
        collector = self._listen(self._settings.collector.port, "SPANLORE_COLLECTOR_PORT")
        clickhouse = None
        if self._store.path:
            port = self._settings.collector.clickhouse_port
            clickhouse = self._listen(port, "SPANLORE_COLLECTOR_CLICKHOUSE_PORT")
        self._store.claim()
        told = self._paths.opening_file
        self._stack.callback(told.unlink, missing_ok=True)
        opening.tell(told, "opening the store")
        if self._store.path:
            await asyncio.to_thread(_use_own_temporary_files, self._paths.state_dir / "collector-tmp")
        if mended := await asyncio.to_thread(descriptions.put_back, self._store.path):
            log.warning("a full disk had emptied the descriptions of tables; put back: %s", ", ".join(mended))
        client = await asyncio.to_thread(self._store.connect, database="default")
        cluster = self._settings.collector.cluster
        if self._store.path:
            await asyncio.to_thread(refuse_without_room, client, self._store.database, self._store.path)
        with descriptions.kept(self._store.path):
            await self._shape(client, cluster, told)
        sharing = Sharing(self._settings.memory.forks, self._settings.memory.public_repositories)
        table = await _patiently(MemoryTable, client, sharing)
        opening.tell(told, "looking what was written last")
        beside = await asyncio.to_thread(self._store.connect)
        writer = await _patiently(Writer, client, beside, cluster)
        writer.start()
        self._stack.push_async_callback(asyncio.to_thread, writer.stop, STOP_WRITER_S)
        if clickhouse:
            await self._serve_clickhouse(clickhouse)
        await self._serve_api(collector, writer, table, sharing)
        told.unlink(missing_ok=True)
        return Ports(collector.getsockname()[1], clickhouse.getsockname()[1] if clickhouse else 0)

    async def _shape(self, client: Client, cluster: str, told: Path) -> None:
        applied = await _patiently(migrate, client, self._store.database, cluster, _upgrade_teller(told))
        if self._store.path:
            await _patiently(bound_merges, client)
        if applied:
            log.info("migrations applied: %s", ", ".join(applied))
        retention = Retention(self._settings.retention.raw_days, self._settings.retention.rows_days)
        changed = await asyncio.to_thread(apply_retention, client, retention, cluster)
        if changed:
            log.info("retention changed: %s", ", ".join(changed))

    async def _serve_api(self, listener: socket.socket, writer: Writer, table: MemoryTable, sharing: Sharing) -> None:
        threads = self._stack.enter_context(ThreadPoolExecutor(2, thread_name_prefix="decode"))
        app = web.Application(middlewares=[guard(self._token)], client_max_size=MAX_BODY_BYTES)
        metrics = SelfMetrics(
            {
                "waiting.bytes": lambda: writer.waiting_bytes,
                "writer.lag": lambda: writer.lag_ms,
                "writer.groups": lambda: writer.counters.groups,
                "writer.duplicates": lambda: writer.counters.duplicates,
                "writer.failures": lambda: writer.counters.failures,
                "process.memory": lambda: psutil.Process().memory_info().rss,
            }
        )
        self._stack.callback(metrics.close)
        cluster = self._settings.collector.cluster
        if self._settings.retention.raw_days:
            pruning = asyncio.create_task(_prune_daily(writer), name="prune")
            self._stack.callback(pruning.cancel)
        receiver = Receiver(writer, threads, metrics, Redactor(self._settings.capture.redact), cluster)
        receiver.add_to(app)
        receiver.attach_left()
        idle = release_when_idle(lambda: not writer.waiting_bytes, lambda: writer.counters.batches)
        self._stack.callback(asyncio.create_task(idle, name="release").cancel)
        MemoryRoutes(table, writer).add_to(app)
        RecallRoutes(table, sharing, self._settings.recall.backend).add_to(app)
        LedgerRoutes(writer).add_to(app)
        SummaryRoutes(writer).add_to(app)
        StoreRoutes(self._store, writer, cluster).add_to(app)
        left = BackFill(cluster)
        filling = asyncio.create_task(_fill_back(writer, left), name="back-fill")
        self._stack.callback(filling.cancel)
        StatusRoutes(self._store, writer, table, metrics, self._paths, time.time_ns(), left).add_to(app)
        # Bodies are decompressed by the receiver, within its bounds and off the event loop.
        await self._serve(app, listener, auto_decompress=False)

    async def _serve_clickhouse(self, listener: socket.socket) -> None:
        assert self._store.path is not None
        pool = await asyncio.to_thread(SessionPool, self._store.path, self._store.database, READER_SESSIONS)
        self._stack.callback(pool.close)
        threads = self._stack.enter_context(ThreadPoolExecutor(READER_SESSIONS, thread_name_prefix="reader"))
        interface = ClickHouseInterface(pool, self._token, threads)
        await self._serve(interface.app(), listener, auto_decompress=False)

    async def _serve(self, app: web.Application, listener: socket.socket, *, auto_decompress: bool = True) -> None:
        runner = web.AppRunner(
            app, auto_decompress=auto_decompress, access_log=None, shutdown_timeout=CLOSE_CONNECTIONS_S
        )
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        await web.SockSite(runner, listener).start()

    def _listen(self, port: int, setting: str) -> socket.socket:
        """A bound socket: a taken port is told at once, before the store is opened."""
        listener = self._stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise PortTakenError(
                f"port {port} is in use. Is another spanlore running (`spanlore status`)? Else set {setting} to "
                "another port, or to 0 for a free one."
            ) from error
        return listener


def _upgrade_teller(file: Path) -> Callable[[str, int, int], None]:
    is_new = False

    def tell(name: str, done: int, of: int) -> None:
        nonlocal is_new
        is_new = is_new or name.startswith("0001_")  # a new store is made by all the steps
        doing = "making the store" if is_new else f"bringing the store to this version ({name})"
        opening.tell(file, doing, done, of)

    return tell


def _use_own_temporary_files(folder: Path) -> None:
    """Inserts go through files (`store.inserting`), with what people said in them: below the state directory, which is
    theirs alone, and taken away when a process was killed in the middle of one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    tempfile.tempdir = str(folder)


async def _patiently[**P, T](run: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In a thread; after a while again where the engine has not the memory, as while it merges what was left to do."""
    for pause_s in PAUSES_S:
        try:
            return await asyncio.to_thread(run, *args, **kwargs)
        # The store knows its errors; all but one are raised again.
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            log.warning("the store has too much in memory to be opened now, trying again in %d s", pause_s)
            await asyncio.sleep(pause_s)
    return await asyncio.to_thread(run, *args, **kwargs)


async def _fill_back(writer: Writer, left: BackFill) -> None:
    """Moves what older versions stored, as long in a piece as between two: what agents send comes first."""
    began_s = time.monotonic()
    while True:
        piece_s = time.monotonic()
        try:
            if not await asyncio.wrap_future(writer.call(left.step)):
                break
            if len(left.progress) and time.monotonic() - began_s > 10:
                began_s = time.monotonic()
                log.info("filling %s", ", ".join(f"{one.table}: {one.share:.0%}" for one in left.progress))
            await asyncio.sleep(time.monotonic() - piece_s)
        except Exception:
            # Nobody waits for it: what is wrong is told, and tried again as long as the collector runs.
            log.exception("a piece of what an older version stored can't be moved")
            await asyncio.sleep(BACKFILL_PATIENCE_S)


async def _prune_daily(writer: Writer) -> None:
    """Content has no TTL of its own: what old spans named goes after them."""
    while True:
        gone = await asyncio.wrap_future(writer.prune())
        if gone:
            log.info("content that nothing names any more: %d rows deleted", gone)
        await asyncio.sleep(PRUNE_EVERY_S)

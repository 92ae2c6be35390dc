"""The proxy process put together: what is opened in which order, what runs beside it, and how it ends.

At the end connections are no longer accepted, running exchanges get some seconds, then the recorder writes what it
has. The spool needs no goodbye: what is in it goes out after the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

import spanlore
from spanlore.heap import release_when_idle
from spanlore.redaction.redact import Redactor
from spanlore.settings import Paths, Settings
from spanlore.spans.price import load_prices, use_own_prices
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.addon import CaptureAddon
from spanlore_proxy.capture.base_urls import BaseUrls
from spanlore_proxy.capture.beyond import Beyond, Trusting
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.held import HeldExchanges, Tally
from spanlore_proxy.capture.ignored import ignored_files
from spanlore_proxy.capture.interception import Interception, OpenedHosts
from spanlore_proxy.capture.ledger_db import LedgerDb
from spanlore_proxy.capture.master import EmbeddedProxy
from spanlore_proxy.capture.quiet import Pace, QuietMoments
from spanlore_proxy.capture.recorder import Recorder
from spanlore_proxy.capture.redacting import redact_with
from spanlore_proxy.capture.runs import RunRegistry
from spanlore_proxy.capture.shipper import Shipper
from spanlore_proxy.capture.snapshot import SnapshotCache
from spanlore_proxy.capture.spool import Spool
from spanlore_proxy.capture.state_db import StateDb
from spanlore_proxy.capture.status import StatusFile, read_status
from spanlore_proxy.capture.strip import strip_payload
from spanlore_proxy.capture.upstream_db import UpstreamDb
from spanlore_proxy.capture.upstreams import parse_upstreams, write_roots
from spanlore_proxy.capture.wire_log import WireLog
from spanlore_proxy.capture.workplaces import Checkouts, Workplaces
from spanlore_proxy.conversation.tracker import Tracker, state_from_json
from spanlore_proxy.injection.injector import Injector, is_off
from spanlore_proxy.injection.ledger import MemoryLedger
from spanlore_proxy.injection.wording import STANDARD, Wording
from spanlore_proxy.launch.ca import ensure_ca, fingerprint

GRACE_S: Final = 4.0
"""Running exchanges get this long to end after SIGTERM; the supervisor's own patience is longer."""
FLUSH_S: Final = 3.0
LEDGER_FLUSH_S: Final = 0.5
"""What the ledger writes later, it writes so much later at most."""
QUIET_S: Final = 0.5
"""A handshake takes milliseconds, and on a machine that is busy hundreds of them."""
RESTART_S: Final = 1.0
RESTORED_CONVERSATIONS: Final = 500

_log = logging.getLogger(__name__)


class ProxyService:
    """Everything one proxy process consists of; `serving` starts and ends it."""

    def __init__(
        self, settings: Settings, paths: Paths, words: Wording = STANDARD, held_fds: Sequence[int] = ()
    ) -> None:
        """Opens files; must be made inside the event loop. `held_fds`: of `held`.

        Raises:
            SettingsError: a setting leads nowhere.
            SpoolLockedError: another proxy runs on this state directory.
            OSError: the state directory cannot be used.
        """
        paths.ensure()
        ensure_ca(paths)
        self._ca = fingerprint(paths)
        upstreams = parse_upstreams(settings.upstreams)
        roots = write_roots(paths.ca_dir, settings.proxy.upstream_ca)
        collector = f"http://127.0.0.1:{settings.collector.port}"
        self._settings = settings
        self._paths = paths
        self._started_at_ns = time.time_ns()
        self._closing = contextlib.ExitStack()
        self.counts = Counters(read_status(paths.proxy_status_file).get("counters"))
        self.spool = Spool(
            paths.spool_dir, max_bytes=settings.proxy.spool_max_bytes, counts=self.counts, strip=strip_payload
        )
        self._closing.callback(self.spool.close)
        self._shipper = Shipper(self.spool, f"{collector}/v1/traces", paths.token(), self.counts)
        self._snapshot = SnapshotCache(collector, paths.token(), paths.snapshot_file)
        self._runs = RunRegistry(paths.runs_dir)
        self._base_urls = BaseUrls(self._runs, self.counts)
        beyond = Beyond(self._runs)
        self._workplaces = Workplaces(self._runs, Checkouts())
        self._closing.callback(self._workplaces.close)
        self._loop = asyncio.get_running_loop()
        self._held = HeldExchanges(held_fds)
        self._recorder = self._make_recorder()
        self._injector = self._make_injector(words)
        is_opened = OpenedHosts(settings.proxy.hosts, upstreams)
        self.addon = CaptureAddon(
            is_opened=is_opened,
            upstreams=upstreams,
            base_urls=self._base_urls,
            beyond=beyond,
            workplaces=self._workplaces,
            injector=self._injector,
            sink=self._recorder,
            is_off=lambda workplace: is_off(
                workplace, settings.capture.off_repositories, settings.capture.only_repositories
            ),
            settings=settings,
            counts=self.counts,
        )
        interception = Interception(is_opened, lambda host: self.counts.add(counters.TUNNELLED))
        self._proxy = EmbeddedProxy([self.addon, interception], [Trusting(beyond)], ca_dir=paths.ca_dir, roots=roots)
        self._status = StatusFile(paths.proxy_status_file, self.describe)
        self._tasks: list[asyncio.Task[None]] = []
        self.address = ("", 0)
        """Where it listens."""

    async def start(self, listening: socket.socket) -> None:
        """Serves the socket."""
        host, port = listening.getsockname()[:2]
        self.address = (host, port)
        own_addresses = frozenset((name, port) for name in (host, "localhost", "127.0.0.1", "::1"))
        self.addon.own_addresses = self._base_urls.own_addresses = own_addresses
        use_own_prices(self._settings.prices)
        load_prices()
        self._recorder.recover()
        self._recorder.start()
        await self._proxy.start(listening)
        beside = {"shipper": self._shipper.run, "snapshot": self._snapshot.run, "status": self._status.run}
        if self._ledger is not None:
            beside["ledger"] = self._keep_ledger
        beside["heap"] = lambda: release_when_idle(self._is_idle, lambda: self.counts.count(counters.REQUESTS))
        for name, run in beside.items():
            self._tasks.append(asyncio.create_task(self._keep_running(name, run), name=name))
        _log.info("listening at %s:%d", host, port)

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Ends everything in order."""
        self._proxy.stop_accepting()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._quiet(), grace_s)
        await self._proxy.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not await asyncio.to_thread(self._recorder.stop, FLUSH_S):
            _log.error("the recorder did not end in %.0f s; exchanges in its queue are lost", FLUSH_S)
        self._status.write()
        self._closing.close()

    async def _quiet(self) -> None:
        """Nothing is under way, and whoever is connected has had a moment to ask: one that is still shaking hands has
        no exchange yet, and would be cut off."""
        asked = -1
        while self.connections and asked != (asked := self.counts.count(counters.REQUESTS)):
            await self.addon.idle.wait()
            await asyncio.sleep(QUIET_S)
        await self.addon.idle.wait()

    @property
    def running(self) -> int:
        """Exchanges under way. From any thread."""
        return self.addon.running

    @property
    def connections(self) -> int:
        """Clients that are connected. From any thread."""
        return self._proxy.connections

    def describe(self) -> dict[str, Any]:
        """The status document, see `status`."""
        spool = self.spool.state()
        now_ns = time.time_ns()
        waiting_s = (now_ns - spool.oldest_time_ns) / 1e9 if spool.oldest_time_ns else 0.0
        return {
            "pid": os.getpid(),
            "version": spanlore.__version__,
            "started_at_ns": self._started_at_ns,
            "written_at_ns": now_ns,
            "listening": f"{self.address[0]}:{self.address[1]}",
            "ca": self._ca,
            "counters": self.counts.snapshot(),
            "lag": {"recorder_ms": round(self._recorder.lag_ns / 1e6, 3), "delivery_s": round(waiting_s, 3)},
            "queue_bytes": self._recorder.queued_bytes,
            "held": {"exchanges": len(self._held), "bytes": self._held.size_bytes},
            "spool": asdict(spool),
            "delivery_trouble": self._shipper.trouble,
            "overhead_ns": self.addon.overheads.percentiles(),
            "agents": {name: asdict(agent) for name, agent in sorted(self._recorder.agents.items())},
            "running": self.running,
            "connections": self.connections,
            "resident_bytes": psutil.Process().memory_info().rss,
        }

    def _is_idle(self) -> bool:
        return not self.addon.running and not self._recorder.queued_bytes

    async def _keep_running(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await run()
            except Exception:
                # The border of a task that nobody awaits: without this it would end in silence, and with it deliveries.
                _log.exception("%s failed, starting it again", name)
                self.counts.add(counters.DEGRADED, name)
                await asyncio.sleep(RESTART_S)

    def _make_recorder(self) -> Recorder:
        settings = self._settings
        ignored = ignored_files(settings.capture)
        redact = redact_with(Redactor(settings.capture.redact))
        if ignored is not None:
            redact = ignored.redacting(redact)
        pace = Pace()
        redact = pace.paced(redact)
        states = self._open("state_db", self._paths.proxy_db, StateDb)
        wire_log = None
        # Bodies are content: in metadata mode none are kept.
        if settings.proxy.wire_log_max_bytes and settings.capture.mode == "full":
            max_bytes = settings.proxy.wire_log_max_bytes
            wire_log = self._open(
                "wire_log", self._paths.wire_log, lambda path: WireLog(path, max_bytes=max_bytes, redact=redact)
            )
        return Recorder(
            spool=self.spool,
            tracker=_restored(Tracker(), states),
            states=states,
            wire_log=wire_log,
            bodies=self._open("upstream_db", self._paths.proxy_db, UpstreamDb),
            redact=redact,
            settings=settings,
            counts=self.counts,
            held=self._held,
            pace=pace,
            tally=self._open("tally", self._paths.proxy_tally, Tally),
            ignored=ignored,
            refresh=self._workplaces.refreshed,
            on_spooled=self._shipper.wake,
            is_alive=self._runs.is_alive,
            on_prefix_changed=self._switch_off,
            give_way=QuietMoments(asyncio.get_running_loop(), lambda: self.addon.is_serving()).wait,
        )

    def _switch_off(self, conversation: str, section: str) -> None:
        """Called in the recorder's thread; the injector lives on the loop."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: so is the proxy
            self._loop.call_soon_threadsafe(self._injector.switch_off, conversation, section)

    async def _keep_ledger(self) -> None:
        """What of the ledger is not written at once."""
        while self._ledger is not None:
            await asyncio.sleep(LEDGER_FLUSH_S)
            self._flush_ledger(self._ledger)

    def _flush_ledger(self, ledger: LedgerDb) -> None:
        try:
            ledger.flush(time.time_ns())
        except OSError as error:
            _log.warning("how far conversations have come can't be written: %s", error)

    def _make_injector(self, words: Wording) -> Injector:
        ledger = self._ledger = self._open("ledger_db", self._paths.proxy_db, LedgerDb)
        if ledger is not None:
            self._closing.callback(self._flush_ledger, ledger)  # before it is closed
        return Injector(
            self._settings,
            # Without its file the ledger lives as long as the process: what was placed is replayed until then.
            ledger if ledger is not None else MemoryLedger(),
            lambda: self._snapshot.current,
            clock_ns=time.perf_counter_ns,
            now_ns=time.time_ns,
            is_killed=self._paths.kill_file.exists,
            words=words,
        )

    def _open[Database: (StateDb, LedgerDb, UpstreamDb, WireLog, Tally)](
        self, name: str, path: Path, make: Callable[[Path], Database]
    ) -> Database | None:
        """A file of ours; a broken SQLite file is moved aside, since the proxy can work without its past."""
        for is_first in (True, False):
            try:
                database = make(path)
            except (sqlite3.Error, OSError) as error:
                _log.error("%s: %s", path, error)
                self.counts.add(counters.DEGRADED, name)
                if is_first and isinstance(error, sqlite3.DatabaseError):
                    _set_aside(path)
                    continue
                return None
            self._closing.callback(database.close)
            return database
        return None


@contextlib.asynccontextmanager
async def serving(
    settings: Settings,
    paths: Paths,
    listening: socket.socket,
    *,
    grace_s: float = GRACE_S,
    words: Wording = STANDARD,
    held_fds: Sequence[int] = (),
) -> AsyncIterator[ProxyService]:
    """A running proxy on the socket, ended in order when the block is left.

    Raises:
        SettingsError, SpoolLockedError, OSError: as `ProxyService`.
    """
    service = ProxyService(settings, paths, words, held_fds)
    await service.start(listening)
    try:
        yield service
    finally:
        await service.stop(grace_s)


def _restored(tracker: Tracker, states: StateDb | None) -> Tracker:
    if states is None:
        return tracker
    known = []
    for text in states.load(RESTORED_CONVERSATIONS):
        try:
            known.append(state_from_json(text))
        except ValueError:
            continue  # of another version: that conversation is told again, under the same span ids
    tracker.restore(known)
    return tracker


def _set_aside(path: Path) -> None:
    path.replace(path.with_name(f"{path.name}.broken"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)

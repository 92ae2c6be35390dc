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
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

import spanlore
from spanlore.redaction.redact import Redactor
from spanlore.settings import Paths, Settings
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.addon import CaptureAddon
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.interception import Interception
from spanlore_proxy.capture.ledger_db import LedgerDb
from spanlore_proxy.capture.master import EmbeddedProxy
from spanlore_proxy.capture.recorder import Recorder
from spanlore_proxy.capture.redacting import redact_with
from spanlore_proxy.capture.runs import RunRegistry
from spanlore_proxy.capture.shipper import Shipper
from spanlore_proxy.capture.snapshot import SnapshotCache
from spanlore_proxy.capture.spool import Spool
from spanlore_proxy.capture.state_db import StateDb
from spanlore_proxy.capture.status import StatusFile, read_status
from spanlore_proxy.capture.strip import strip_payload
from spanlore_proxy.capture.upstreams import parse_upstreams, write_roots
from spanlore_proxy.capture.wire_log import WireLog
from spanlore_proxy.capture.workplaces import Checkouts, Workplaces, is_off
from spanlore_proxy.conversation.tracker import Tracker, state_from_json
from spanlore_proxy.injection.injector import Injector
from spanlore_proxy.injection.ledger import LedgerStore, MemoryLedger
from spanlore_proxy.launch.ca import ensure_ca
from spanlore_proxy.wire.hosts import is_llm_host

GRACE_S: Final = 4.0
"""Running exchanges get this long to end after SIGTERM; the supervisor's own patience is longer."""
FLUSH_S: Final = 3.0
RESTORED_CONVERSATIONS: Final = 500

_log = logging.getLogger(__name__)


class ProxyService:
    """Everything one proxy process consists of. Use `serving`."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        """Opens files; must be made inside the event loop.

        Raises:
            SettingsError: a setting leads nowhere.
            SpoolLockedError: another proxy runs on this state directory.
            OSError: the state directory cannot be used.
        """
        paths.ensure()
        ensure_ca(paths)
        upstreams = parse_upstreams(settings.upstreams)
        roots = write_roots(paths.ca_dir, settings.proxy.upstream_ca)
        redact = redact_with(Redactor(settings.capture.redact))
        collector = f"http://127.0.0.1:{settings.collector.port}"
        self._paths = paths
        self._started_at_ns = time.time_ns()
        self.counts = Counters(read_status(paths.proxy_status_file).get("counters"))
        self._exit = contextlib.ExitStack()
        self.spool = Spool(
            paths.spool_dir, max_bytes=settings.proxy.spool_max_bytes, counts=self.counts, strip=strip_payload
        )
        self._exit.callback(self.spool.close)
        self._shipper = Shipper(self.spool, f"{collector}/v1/traces", paths.token(), self.counts)
        self._workplaces = Workplaces(RunRegistry(paths.runs_dir), Checkouts())
        self._exit.callback(self._workplaces.close)
        self._snapshot = SnapshotCache(collector, paths.token(), paths.snapshot_file)
        self._states = self._optional("state_db", lambda: StateDb(paths.proxy_db))
        ledger = self._optional("ledger_db", lambda: LedgerDb(paths.proxy_db))
        self._recorder = Recorder(
            spool=self.spool,
            tracker=self._restored_tracker(),
            states=self._states,
            wire_log=self._open_wire_log(settings, redact),
            redact=redact,
            settings=settings,
            counts=self.counts,
            refresh=self._workplaces.refreshed,
            on_spooled=self._shipper.wake,
        )
        injector = Injector(
            settings,
            # Without its file the ledger lives as long as the process: what was placed is still replayed until then.
            ledger if ledger is not None else MemoryLedger(),
            lambda: self._snapshot.current,
            clock_ns=time.perf_counter_ns,
            now_ns=time.time_ns,
            is_killed=paths.kill_file.exists,
        )
        opened: dict[str, bool] = {}

        def is_opened(host: str) -> bool:
            if host not in opened:
                if len(opened) > 4096:
                    opened.clear()
                opened[host] = host.lower() in upstreams or is_llm_host(host, settings.proxy.hosts)
            return opened[host]

        self.addon = CaptureAddon(
            is_opened=is_opened,
            upstreams=upstreams,
            workplaces=self._workplaces,
            injector=injector,
            submit=self._recorder.submit,
            is_off=lambda workplace: is_off(workplace, settings.capture.off_repositories),
            settings=settings,
            counts=self.counts,
        )
        interception = Interception(is_opened, lambda host: self.counts.add(counters.TUNNELLED))
        self._proxy = EmbeddedProxy([self.addon, interception], ca_dir=paths.ca_dir, roots=roots)
        self._status = StatusFile(paths.proxy_status_file, self.describe)
        self.address = ("", 0)
        """Where it listens."""

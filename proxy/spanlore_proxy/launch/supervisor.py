"""The daemon: one per user, three processes, restarted when they fall, stopped in order.

Order of starting: lock, leftovers of a killed daemon, CA, ports, processes, health, `daemon.json`. Order of stopping:
extractor, proxy (its spool stays), collector last, so that what the proxy still ships is taken. The supervisor owns the
proxy's listening socket, so while the proxy restarts an agent's connection waits instead of being refused.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final

import psutil

import spanlore
from spanlore import opening
from spanlore.settings import Paths, Settings, child_environment
from spanlore_proxy.launch import ports as port_settling
from spanlore_proxy.launch.ca import ensure_ca
from spanlore_proxy.launch.child import Child, Program
from spanlore_proxy.launch.daemon import ChildState, Daemon, DaemonLock, settings_digest, write_daemon
from spanlore_proxy.launch.ports import HOST, Ports
from spanlore_proxy.launch.runs import Run, is_running, live_runs, prune_runs

START_DEADLINE_S: Final = 60.0
"""From spawning to all answering. About 3 s on an idle machine; the rest is for loaded ones. It begins anew with each
step of a collector that opens a large store, and with each second of work at one."""
GIVE_UP_AFTER: Final = 4
"""Failures in a row before the first health that end the start with the log's last lines."""
LEFTOVER_PATIENCE_S: Final = 12.0
"""The leash takes up to 8 s to end the processes of a supervisor that was killed."""

BRIEF_PATIENCE_S: Final = 1.5
"""With a port that another program has, or one of ours that is about to end."""

KEEP_S: Final = 1.0
"""How often it is looked whether the token's file and the state directory are what they were."""
PROXY: Final = "proxy"
WEB: Final = "web"
"""The process whose port is `web.port`."""
WEB_TRIES: Final = 200
"""20 a second: ten seconds."""

log = logging.getLogger(__name__)


class StartError(RuntimeError):
    """The daemon did not come up. The message says which process and shows the end of its log."""


def programs(paths: Paths, ports: Ports) -> list[Program]:
    """The processes, in the order they start."""
    environment = child_environment(
        {
            "SPANLORE_PROXY_PORT": str(ports.proxy_port),
            "SPANLORE_COLLECTOR_PORT": str(ports.collector),
            "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": str(ports.clickhouse),
            "SPANLORE_WEB_PORT": str(ports.web),
            "SPANLORE_CONFIG_DIR": str(paths.config_dir),
            "SPANLORE_STATE_DIR": str(paths.state_dir),
            # The daemon may be started from a shell whose HTTPS_PROXY is a proxy, perhaps this very one.
            "NO_PROXY": "localhost,127.0.0.1,::1",
            "no_proxy": "localhost,127.0.0.1,::1",
            "PYTHONUNBUFFERED": "1",
        }
    )
    descriptor = ports.proxy.fileno()
    return [
        Program("collector", "spanlore_collector", environment=environment),
        Program(
            PROXY,
            "spanlore_proxy",
            ("--listen-fd", str(descriptor)),
            pass_fds=(descriptor,),
            environment=environment,
            holds_exchanges=True,
        ),
        Program("extractor", "spanlore_extractor", environment=environment),
        *(Program(name, module, environment=environment) for name, module in further_processes()),
    ]


def further_processes() -> list[tuple[str, str]]:
    """(name, module) of the processes that other components bring, as far as they are installed here."""
    points = sorted(entry_points(group="spanlore.processes"), key=lambda point: point.name)
    return [(point.name, point.module) for point in points if find_spec(point.module.partition(".")[0]) is not None]


class Supervisor:
    """One daemon's life."""

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        made: Callable[[Paths, Ports], list[Program]] = programs,
        *,
        listening: socket.socket | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`made` names the processes, in the order they start; `listening` is the socket of a proxy whose supervisor
        was killed; `tell` hears how far a store is opened, where that takes its time."""
        self._settings = settings
        self._paths = paths
        self._programs = made
        self._listening = listening
        self._tell = tell
        self._started_at_ns = 0
        self._ports: Ports | None = None
        self._children: list[Child] = []
        self._stop = asyncio.Event()
        self._is_up = False
        self._runs: list[Run] = []

    async def run(self, on_up: Callable[[Daemon], None] = lambda daemon: None) -> None:
        """Runs until SIGTERM, SIGINT or SIGHUP.

        Raises:
            DaemonRunningError: another daemon of this user runs.
            PortTakenError: a configured port is not free.
            StartError: a process does not come up.
        """
        with DaemonLock(self._paths) as lock:
            self._started_at_ns = time.time_ns()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.add_signal_handler(number, self.stop)
            await end_leftovers(lock.before.processes if lock.before else ())
            prune_runs(self._paths, time.time_ns())
            ensure_ca(self._paths)
            self._paths.opening_file.unlink(missing_ok=True)
            self._ports = await self._settled()
            try:
                await self._serve(on_up, lock)
            finally:
                await self._end_all()
                self._ports.proxy.close()
                if lock.is_in_place:
                    self._paths.daemon_file.unlink(missing_ok=True)

    def stop(self) -> None:
        """Ends `run` in order."""
        self._stop.set()

    async def _settled(self) -> Ports:
        """The ports; those of a daemon whose directory was deleted are free in a moment. What of it ends last does
        not tell whose it was, so a taken one is looked at for a while."""
        now, may_wait = time.monotonic(), self._listening is None
        end = now + (BRIEF_PATIENCE_S if may_wait else 0.0)
        while True:
            try:
                return port_settling.settle(self._settings, self._listening)
            except port_settling.PortTakenError as error:
                if may_wait and port_settling.is_left_behind(error.port, self._paths.state_dir):
                    end = now + LEFTOVER_PATIENCE_S
                if time.monotonic() >= end:
                    raise
            await asyncio.sleep(0.2)

    async def _serve(self, on_up: Callable[[Daemon], None], lock: DaemonLock) -> None:
        assert self._ports is not None
        self._children = [
            Child(program, self._paths.log_dir, self._write) for program in self._programs(self._paths, self._ports)
        ]
        for child in self._children:
            child.start()
        health = asyncio.create_task(self._wait_for_health(self._ports))
        stopping = asyncio.create_task(self._stop.wait())
        keeping = asyncio.create_task(self._keep(lock, self._paths.token()))
        try:
            await asyncio.wait([health, stopping, keeping], return_when=asyncio.FIRST_COMPLETED)
            if health.done():
                health.result()
                self._is_up = True
                self._write()
                on_up(self._daemon())
                log.info("up: proxy %s, collector %s", self._ports.proxy_port, self._ports.collector)
            await asyncio.wait([stopping, keeping], return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                await self._outlive(stopping)
            log.info("stopping")
        finally:
            for task in (health, stopping, keeping):
                task.cancel()
            await asyncio.gather(health, stopping, keeping, return_exceptions=True)

    async def _keep(self, lock: DaemonLock, token: str) -> None:
        """Puts the token back as long as the state directory is ours; returns when it is gone.

        A token whose file was removed would be made anew by the next process or command that needs one, and refused by
        those that run already.
        """
        seen_ns = 0
        while lock.is_in_place:
            with suppress(OSError):
                self._paths.put_back(token)
                changed_ns = self._paths.runs_dir.stat().st_mtime_ns
                if changed_ns != seen_ns:
                    seen_ns, self._runs = changed_ns, live_runs(self._paths)
            await asyncio.sleep(KEEP_S)

    async def _outlive(self, stopping: asyncio.Task[bool]) -> None:
        """The state directory was deleted: what would write there ends. The proxy passes on what agents say as long as
        any is at work, since they know no other way, and its port is free then."""
        self._is_up = False
        log.error("the state directory %s was deleted: nothing is kept any more, ending", self._paths.state_dir)
        for child in reversed(self._children):
            if child.program.name != PROXY:
                await child.stop()
        while not stopping.done() and self._has_agents():
            await asyncio.wait([stopping], timeout=KEEP_S)

    def _has_agents(self) -> bool:
        if any(is_running(run.pid, run.created_at_ns) for run in self._runs):
            return True
        assert self._ports is not None
        pids = [child.state.pid for child in self._children if child.program.name == PROXY]
        try:
            found = [one for pid in pids if pid for one in psutil.Process(pid).net_connections("tcp4")]
        except psutil.Error:
            return False
        port = self._ports.proxy_port
        return any(one.status == psutil.CONN_ESTABLISHED and one.laddr.port == port for one in found)

    async def _end_all(self) -> None:
        # The reverse of starting.
        for child in reversed(self._children):
            await child.stop()

    async def _wait_for_health(self, ports: Ports) -> None:
        waiting = {"collector": ports.collector, "ClickHouse interface": ports.clickhouse, "proxy": ports.proxy_port}
        await self._wait_for(waiting)
        if self._has_web and not await self._comes_up(ports.web):
            # Agents and what they do can be captured without anybody looking.
            log.warning("the web page does not answer; see %s", self._paths.log_dir / "web.log")

    async def _comes_up(self, port: int) -> bool:
        web = next(child for child in self._children if child.program.name == WEB)
        for _ in range(WEB_TRIES):
            if await answers(port, "/healthz"):
                return True
            if web.failures_in_a_row >= GIVE_UP_AFTER:
                break
            await asyncio.sleep(0.05)
        return False

    async def _wait_for(self, waiting: dict[str, int]) -> None:
        began, progress, told = time.monotonic(), None, ""
        end = began + START_DEADLINE_S
        while waiting:
            if (now := _progress(self._paths)) != progress:
                end, progress = time.monotonic() + START_DEADLINE_S, now
            doing = str(now[0]) if now else ""
            if doing not in ("", told) and time.monotonic() - began > opening.QUIET_S:
                told, began = doing, time.monotonic()
                self._tell(f"the collector is {told}")
            for name, port in list(waiting.items()):
                if await answers(port, "/healthz" if name == "collector" else None):
                    del waiting[name]
            needed = [child for child in self._children if child.program.name != WEB]
            failing = [child for child in needed if child.failures_in_a_row >= GIVE_UP_AFTER]
            if failing and waiting:
                raise StartError(f"the {failing[0].program.name} does not start:\n{failing[0].log_tail()}")
            if waiting and time.monotonic() > end:
                names = " and ".join(waiting)
                raise StartError(f"no answer from {names} in {START_DEADLINE_S:.0f} s; see {self._paths.log_dir}")
            await asyncio.sleep(0.05 if waiting else 0)

    @property
    def _has_web(self) -> bool:
        return any(child.program.name == WEB for child in self._children)

    def _daemon(self) -> Daemon:
        assert self._ports is not None
        return Daemon(
            pid=os.getpid(),
            version=spanlore.__version__,
            started_at_ns=self._started_at_ns,
            proxy_port=self._ports.proxy_port,
            collector_port=self._ports.collector,
            clickhouse_port=self._ports.clickhouse,
            web_port=self._ports.web if self._has_web else 0,
            settings_digest=settings_digest(self._settings),
            processes=tuple(child.state for child in self._children),
        )

    def _write(self) -> None:
        """`daemon.json`, rewritten whenever a process was started again."""
        if self._is_up:
            write_daemon(self._paths, self._daemon())


async def answers(port: int, path: str | None = None, patience_s: float = 2.0) -> bool:
    """Whether something behind `port` answers: with 200 on `path`, or anything at all on a bare request.

    The proxy's socket accepts before the proxy runs, so a connection alone proves nothing. A request that is addressed
    to the proxy itself and names no run is answered with 404, without going anywhere.
    """
    try:
        async with asyncio.timeout(patience_s):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(f"GET {path or '/'} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode())
                line = await reader.readline()
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except (OSError, TimeoutError):
        return False
    words = line.split()
    return line.startswith(b"HTTP/") and (path is None or words[1:2] == [b"200"])


async def end_leftovers(children: Sequence[ChildState], patience_s: float = LEFTOVER_PATIENCE_S) -> None:
    """Waits for the processes of a supervisor that was killed: they hold the store and the ports for some seconds."""
    left = [process for child in children if (process := _ours(child)) is not None]
    end = time.monotonic() + patience_s
    while left and time.monotonic() < end:
        await asyncio.sleep(0.05)
        left = [process for process in left if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        log.warning("killing pid %s, left behind by a daemon that was killed", process.pid)
        with suppress(psutil.Error):
            process.kill()


def _progress(paths: Paths) -> tuple[opening.Opening, int] | None:
    """What the collector does that opens its store, and the seconds of CPU time that it worked: as long as either
    changes it gets on, however large the store is and however busy the machine."""
    doing = opening.read(paths.opening_file)
    try:
        return (doing, int(sum(psutil.Process(doing.pid).cpu_times()[:2]))) if doing else None
    except psutil.Error:
        return None


def _ours(child: ChildState) -> psutil.Process | None:
    """The process, if that pid still is it: started within a minute of what was noted (the system derives start times
    from the boot time, which moves with clock corrections), and running one of our modules."""
    try:
        process = psutil.Process(child.pid)
        same_time = abs(process.create_time() * 1e9 - child.started_at_ns) < 60e9
        if child.pid and same_time and any("spanlore_" in word for word in process.cmdline()):
            return process
    except psutil.Error:
        pass
    return None

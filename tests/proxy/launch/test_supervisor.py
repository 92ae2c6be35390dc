"""The daemon's life, with stand-ins for its three processes: real processes, sockets and signals."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from spanlore.settings import Paths, Settings
from spanlore_proxy.launch.child import Program
from spanlore_proxy.launch.daemon import Daemon, DaemonRunningError, last_daemon, running_daemon
from spanlore_proxy.launch.ports import Ports, PortTakenError
from spanlore_proxy.launch.runs import new_run, write_run
from spanlore_proxy.launch.supervisor import KEEP_S, StartError, Supervisor, answers

TESTS = Path(__file__).parents[2]
FREE = Settings.model_validate(
    {"proxy": {"port": 0}, "collector": {"port": 0, "clickhouse_port": 0}, "web": {"port": 0}}
)
ENVIRONMENT = {"PYTHONPATH": str(TESTS), "PATH": os.defpath}


def stand_ins(paths: Paths, ports: Ports) -> list[Program]:
    """Three processes that answer where the real ones would."""
    descriptor = ports.proxy.fileno()
    collector = ("--port", str(ports.collector), "--port", str(ports.clickhouse))
    return [
        Program("collector", "support.stand_in", collector, environment=ENVIRONMENT),
        Program("proxy", "support.stand_in", ("--listen-fd", str(descriptor)), (descriptor,), ENVIRONMENT),
        Program("extractor", "support.stand_in", environment=ENVIRONMENT),
    ]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")


async def with_daemon(supervisor: Supervisor, use: Callable[[Daemon], None]) -> None:
    """Runs the daemon, `use`s it in a thread once it is up, and stops it."""
    up: asyncio.Queue[Daemon] = asyncio.Queue()
    task = asyncio.create_task(supervisor.run(up.put_nowait))
    first = asyncio.create_task(up.get())
    await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if first.done():
            await asyncio.to_thread(use, first.result())
    finally:
        first.cancel()
        supervisor.stop()
        await task


def start_and_kill(paths: Paths, folder: Path) -> None:
    """A daemon in a process of its own, killed as soon as it is up."""
    script = folder / "daemon.py"
    script.write_text(
        "import asyncio, sys\nfrom pathlib import Path\nfrom proxy.launch.test_supervisor import FREE, stand_ins\n"
        "from spanlore.settings import Paths\nfrom spanlore_proxy.launch.supervisor import Supervisor\n"
        "paths = Paths(config_dir=Path(sys.argv[1]), state_dir=Path(sys.argv[2]))\n"
        "asyncio.run(Supervisor(FREE, paths, stand_ins).run())\n"
    )
    command = [sys.executable, str(script), str(paths.config_dir), str(paths.state_dir)]
    with subprocess.Popen(command, env=ENVIRONMENT) as process:
        end = time.monotonic() + 120
        while running_daemon(paths) is None and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        process.kill()


def is_alive(pid: int) -> bool:
    """Not so for a zombie: in a container nobody may reap what init inherits."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def get(port: int, path: str = "/pid") -> str:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=300) as response:
        return str(response.read().decode())


async def test_life(paths: Paths) -> None:
    """Up: all ports answer and daemon.json says so. Down: no process, no file, no lock is left."""
    pids: list[int] = []

    def use(daemon: Daemon) -> None:
        assert running_daemon(paths) == daemon
        assert paths.daemon_file.stat().st_mode & 0o777 == 0o600
        assert {int(get(port)) for port in (daemon.proxy_port, daemon.collector_port)} <= {
            child.pid for child in daemon.processes
        }
        pids.extend(child.pid for child in daemon.processes)

    await with_daemon(Supervisor(FREE, paths, stand_ins), use)

    assert len(pids) == 3
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert running_daemon(paths) is None
    assert not paths.daemon_file.exists()


async def test_proxy_restarts_without_refusing(paths: Paths) -> None:
    """While a killed proxy is started again its socket takes connections; the answer comes from the new process."""

    def use(daemon: Daemon) -> None:
        first = int(get(daemon.proxy_port))
        killed = psutil.Process(first)
        os.kill(first, signal.SIGKILL)
        psutil.wait_procs([killed], timeout=300)

        assert int(get(daemon.proxy_port)) != first

        now = last_daemon(paths)
        assert now is not None
        assert [child.restarts for child in now.processes if child.name == "proxy"] == [1]

    await with_daemon(Supervisor(FREE, paths, stand_ins), use)


async def test_the_token_is_put_back(paths: Paths) -> None:
    """Its file removed, or replaced by a command that found none: the processes that run know no other."""

    def use(daemon: Daemon) -> None:
        token = paths.token()
        for harm in (paths.token_file.unlink, lambda: paths.token_file.write_text("another")):
            harm()
            end = time.monotonic() + 60
            while not paths.token_file.exists() or paths.token_file.read_text() != token:
                assert time.monotonic() < end
                time.sleep(0.05)
        assert paths.token_file.stat().st_mode & 0o777 == 0o600

    await with_daemon(Supervisor(FREE, paths, stand_ins), use)


@pytest.mark.parametrize("made_anew", [False, True], ids=["gone", "made anew"])
async def test_a_state_directory_that_is_deleted_ends_the_daemon(
    paths: Paths, made_anew: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Within seconds, with a word in the log and all ports free; what somebody else has put there stays."""
    up: asyncio.Queue[Daemon] = asyncio.Queue()
    task = asyncio.create_task(Supervisor(FREE, paths, stand_ins).run(up.put_nowait))
    daemon = await asyncio.wait_for(up.get(), 60)
    shutil.rmtree(paths.state_dir)
    if made_anew:
        paths.ensure()
        paths.daemon_file.write_text("of another daemon")
        paths.token_file.write_text("another token")

    await asyncio.wait_for(task, 60)

    assert "was deleted" in caplog.text
    assert not any(is_alive(process.pid) for process in daemon.processes)
    assert not await answers(daemon.collector_port)
    if made_anew:
        assert paths.daemon_file.read_text() == "of another daemon"
        assert paths.token_file.read_text() == "another token"
    else:
        assert not paths.daemon_file.exists()


async def test_an_agent_at_work_keeps_its_proxy_without_a_state_directory(paths: Paths) -> None:
    """What would write there ends; the proxy goes on for who is connected or was started by `run`, and ends then."""
    up: asyncio.Queue[Daemon] = asyncio.Queue()
    task = asyncio.create_task(Supervisor(FREE, paths, stand_ins).run(up.put_nowait))
    daemon = await asyncio.wait_for(up.get(), 60)
    pids = {process.name: process.pid for process in daemon.processes}
    agent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    try:
        write_run(paths, new_run("an-agent", paths.config_dir, agent.pid, time.time_ns()))
        await asyncio.sleep(2 * KEEP_S + 0.5)
        shutil.rmtree(paths.state_dir)
        await until(lambda: not is_alive(pids["collector"]) and not is_alive(pids["extractor"]))
        await asyncio.sleep(2 * KEEP_S)

        assert is_alive(pids["proxy"]) and not task.done()
        assert await answers(daemon.proxy_port)
    finally:
        agent.kill()
        await agent.wait()
    await asyncio.wait_for(task, 60)
    assert not is_alive(pids["proxy"])


async def test_ports_of_a_daemon_whose_directory_was_deleted_are_waited_for(paths: Paths) -> None:
    """`up` just after the directory was deleted: the new daemon comes up on the same ports as soon as they are free."""
    up: asyncio.Queue[Daemon] = asyncio.Queue()
    first = asyncio.create_task(Supervisor(FREE, paths, with_state_dir).run(up.put_nowait))
    old = await asyncio.wait_for(up.get(), 60)
    shutil.rmtree(paths.state_dir)
    same = Settings.model_validate(
        {
            "proxy": {"port": old.proxy_port},
            "collector": {"port": old.collector_port, "clickhouse_port": old.clickhouse_port},
            "web": {"port": 0},
        }
    )

    def use(new: Daemon) -> None:
        assert (new.proxy_port, new.collector_port) == (old.proxy_port, old.collector_port)

    await with_daemon(Supervisor(same, paths, with_state_dir), use)
    await asyncio.wait_for(first, 60)


def with_state_dir(paths: Paths, ports: Ports) -> list[Program]:
    """The stand-ins, which know their state directory as the real processes do."""
    environment = {**ENVIRONMENT, "SPANLORE_STATE_DIR": str(paths.state_dir)}
    return [replace(program, environment=environment) for program in stand_ins(paths, ports)]


async def until(holds: Callable[[], bool], patience_s: float = 60) -> None:
    """Waits for it."""
    async with asyncio.timeout(patience_s):
        while not holds():  # noqa: ASYNC110 - of processes, which set no event
            await asyncio.sleep(0.05)


async def test_one_daemon_a_user(paths: Paths) -> None:
    """A second daemon in the same state directory gives way."""

    def use(daemon: Daemon) -> None:
        with pytest.raises(DaemonRunningError):
            asyncio.run(second())

    async def second() -> None:
        loop_only = Supervisor(FREE, paths, stand_ins)
        await loop_only.run()

    await with_daemon(Supervisor(FREE, paths, stand_ins), use)


async def test_process_that_cannot_start(paths: Paths) -> None:
    """A process that keeps dying ends the start, with the end of its log in the message."""

    def failing(paths: Paths, ports: Ports) -> list[Program]:
        good = stand_ins(paths, ports)
        return [Program("collector", "support.stand_in", ("--fail",), environment=ENVIRONMENT), *good[1:]]

    with pytest.raises(StartError, match=r"collector does not start:(\n.*)+told to fail"):
        await Supervisor(FREE, paths, failing).run()
    assert not paths.daemon_file.exists()


def opening_slowly(steps: int, pause_s: float) -> Callable[[Paths, Ports], list[Program]]:
    """The stand-ins, with a collector that opens a store in so many steps before it answers."""

    def made(paths: Paths, ports: Ports) -> list[Program]:
        collector, *others = stand_ins(paths, ports)
        told = ("--opening", str(paths.opening_file), "--steps", str(steps), "--pause", str(pause_s))
        arguments = (*collector.arguments, *told)
        return [Program("collector", "support.stand_in", arguments, environment=ENVIRONMENT), *others]

    return made


@pytest.mark.slow
async def test_an_upgrade_is_waited_for_as_long_as_it_gets_on(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that opens a large store may take many times the deadline; who waits is told how far it is."""
    monkeypatch.setattr("spanlore_proxy.launch.supervisor.START_DEADLINE_S", 8.0)
    told: list[str] = []
    up: list[Daemon] = []
    supervisor = Supervisor(FREE, paths, opening_slowly(steps=10, pause_s=2.0), tell=told.append)

    def note(daemon: Daemon) -> None:
        up.append(daemon)
        supervisor.stop()

    await supervisor.run(note)

    assert up
    assert told and all(line.startswith("the collector is opening the store, step ") for line in told)
    assert len(told) == len(set(told))


@pytest.mark.slow
async def test_an_upgrade_that_stands_still_is_given_up(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step for ever, without any work, is no progress."""
    monkeypatch.setattr("spanlore_proxy.launch.supervisor.START_DEADLINE_S", 6.0)

    with pytest.raises(StartError, match="no answer from collector"):
        await Supervisor(FREE, paths, opening_slowly(steps=1, pause_s=3600)).run()


async def test_agents_need_no_page(paths: Paths, caplog: pytest.LogCaptureFixture) -> None:
    """A web page that does not start is told, and the daemon is up all the same."""

    def with_page(paths: Paths, ports: Ports) -> list[Program]:
        return [*stand_ins(paths, ports), Program("web", "support.stand_in", ("--fail",), environment=ENVIRONMENT)]

    supervisor = Supervisor(FREE, paths, with_page)
    up: list[Daemon] = []

    def note(daemon: Daemon) -> None:
        up.append(daemon)
        supervisor.stop()

    await asyncio.wait_for(supervisor.run(note), 60)

    assert up[0].web_port
    assert "web.log" in caplog.text


async def test_taken_port_starts_nothing(paths: Paths) -> None:
    """A configured port that is taken is told before anything runs."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = Settings.model_validate({"proxy": {"port": other.getsockname()[1]}})

        with pytest.raises(PortTakenError, match="SPANLORE_PROXY_PORT"):
            await Supervisor(settings, paths, stand_ins).run()


async def test_killed_supervisor_takes_its_processes_along(paths: Paths, tmp_path: Path) -> None:
    """After kill -9 the processes end by themselves, daemon.json is known to be stale, and a new daemon comes up."""
    await asyncio.to_thread(start_and_kill, paths, tmp_path)
    stale = last_daemon(paths)
    assert stale is not None

    assert running_daemon(paths) is None

    def use(daemon: Daemon) -> None:
        assert daemon.pid == os.getpid()
        assert not any(is_alive(child.pid) for child in stale.processes)

    await with_daemon(Supervisor(FREE, paths, stand_ins), use)


async def test_answers() -> None:
    """A listening socket behind which nobody accepts is no answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not await answers(silent.getsockname()[1], patience_s=0.1)


def test_daemon_file_is_what_others_read(paths: Paths) -> None:
    """The keys other processes find the ports under."""
    paths.ensure()
    data = {"pid": 1, "version": "1", "started_at_ns": 2, "proxy_port": 3, "collector_port": 4, "clickhouse_port": 5}
    paths.daemon_file.write_text(json.dumps(data))

    assert last_daemon(paths) == Daemon(**data)  # type: ignore[arg-type]

"""Starting and ending the daemon from a command, with real daemon processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

import psutil
import pytest

from spanlore import opening
from spanlore.settings import Paths
from spanlore_proxy.launch.daemon import Daemon, DaemonLock, write_daemon
from spanlore_proxy.launch.start import DaemonStartError, ensure_daemon, stop_daemon
from spanlore_proxy.launch.status import status


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """Directories that a daemon started from here uses too."""
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    return Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")


def test_taken_port_is_told_by_the_daemon(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps the daemon from starting in the background is said where it was asked for."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("SPANLORE_PROXY_PORT", str(other.getsockname()[1]))

        with pytest.raises(DaemonStartError, match="SPANLORE_PROXY_PORT"):
            ensure_daemon(paths)


def test_wrong_settings_are_told_by_the_daemon(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a configuration error."""
    monkeypatch.setenv("SPANLORE_PROXY_PORT", "many")

    with pytest.raises(DaemonStartError, match="SPANLORE_PROXY_PORT"):
        ensure_daemon(paths)


def test_running_daemon_is_taken(paths: Paths) -> None:
    """Nothing is started beside one that is up."""
    daemon = Daemon(os.getpid(), "0", 1, 2, 3, 4)
    with DaemonLock(paths):
        write_daemon(paths, daemon)

        assert ensure_daemon(paths) == daemon


def test_starting_daemon_is_waited_for(paths: Paths) -> None:
    """One that holds the lock but isn't up yet will be."""
    daemon = Daemon(os.getpid(), "0", 1, 2, 3, 4)
    with DaemonLock(paths):
        timer = threading.Timer(0.2, write_daemon, (paths, daemon))
        timer.start()

        assert ensure_daemon(paths, patience_s=20) == daemon
        timer.join()


def test_patience_ends(paths: Paths) -> None:
    """A daemon that never comes up is an error after the patience."""
    with DaemonLock(paths), pytest.raises(DaemonStartError):
        ensure_daemon(paths, patience_s=0.1)


def test_stopping_waits_for_the_end(paths: Paths) -> None:
    """SIGTERM, then the lock must come free; one that doesn't end is told as such."""
    script = (
        "import signal, sys, time; from pathlib import Path; from spanlore.settings import Paths;"
        "from spanlore_proxy.launch.daemon import DaemonLock;"
        "lock = DaemonLock(Paths(Path(sys.argv[1]), Path(sys.argv[2])));"
        "signal.signal(signal.SIGTERM, lambda *_: sys.argv[3] == 'ends' and sys.exit(0));"
        "sys.stdout.write('x'); sys.stdout.flush(); end = time.monotonic() + 60\n"
        "while time.monotonic() < end: time.sleep(0.05)"
    )
    for how in ("stays", "ends"):
        command = [sys.executable, "-c", script, str(paths.config_dir), str(paths.state_dir), how]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.read(1)
            daemon = Daemon(process.pid, "0", time.time_ns(), 2, 3, 4)

            assert stop_daemon(daemon, paths, patience_s=10 if how == "ends" else 0.2) is (how == "ends")

            process.send_signal(signal.SIGKILL)


def test_the_real_daemon(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started in the background it is nobody's child but init's, all its processes are up, and it ends in order."""
    for name in ("PROXY_PORT", "COLLECTOR_PORT", "COLLECTOR_CLICKHOUSE_PORT", "WEB_PORT"):
        monkeypatch.setenv(f"SPANLORE_{name}", "0")

    daemon = ensure_daemon(paths)

    try:
        assert os.getpid() not in [parent.pid for parent in psutil.Process(daemon.pid).parents()]
        found = status(daemon, paths)
        assert found["healthy"]
        assert "web" in [process["name"] for process in found["processes"]]
        # What is printed logs a browser in and shows the page.
        browser = build_opener(HTTPCookieProcessor(), ProxyHandler({}))
        with browser.open(found["web"], timeout=300) as page:
            assert "No sessions yet" in page.read().decode()
    finally:
        assert stop_daemon(daemon, paths)
    assert not any(psutil.pid_exists(child.pid) for child in daemon.processes)


def test_a_start_is_waited_for_while_a_store_is_opened(paths: Paths) -> None:
    """However long it takes, and it is told how far that is; without such word the patience is what it was."""
    paths.ensure()
    told: list[str] = []
    daemon = Daemon(os.getpid(), "0", 1, 2, 3, 4)
    with DaemonLock(paths):
        opening.tell(paths.opening_file, "bringing the store to this version (0041_texts)", 2, 40)
        timer = threading.Timer(opening.QUIET_S + 1, write_daemon, (paths, daemon))
        timer.start()

        assert ensure_daemon(paths, patience_s=0.5, tell=told.append) == daemon
        paths.daemon_file.unlink()
        paths.opening_file.unlink()
        with pytest.raises(DaemonStartError):
            ensure_daemon(paths, patience_s=0.5)

    assert told == ["the collector is bringing the store to this version (0041_texts), step 3 of 40"]

"""Knowing whether a daemon runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from spanlore.settings import Paths, Settings
from spanlore_proxy.launch.daemon import (
    ChildState,
    Daemon,
    DaemonLock,
    DaemonRunningError,
    is_held,
    last_daemon,
    running_daemon,
    settings_digest,
    write_daemon,
)

DAEMON = Daemon(1, "0.1.0", 2, 3, 4, 5, "d", (ChildState("proxy", 6, 7, 8),))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")


def test_only_a_held_lock_is_a_running_daemon(paths: Paths) -> None:
    """daemon.json alone proves nothing: it stays behind after kill -9."""
    with DaemonLock(paths):
        write_daemon(paths, DAEMON)
        assert running_daemon(paths) == DAEMON

    assert running_daemon(paths) is None
    assert last_daemon(paths) == DAEMON


def test_taking_the_lock_removes_what_a_dead_daemon_left(paths: Paths) -> None:
    """Nobody reads the old ports while the new daemon starts; what was left is known to it."""
    paths.ensure()
    write_daemon(paths, DAEMON)

    with DaemonLock(paths) as lock:
        assert lock.before == DAEMON
        assert is_held(paths)
        assert running_daemon(paths) is None


def test_second_lock_is_refused(paths: Paths) -> None:
    """One daemon a user."""
    with DaemonLock(paths), pytest.raises(DaemonRunningError):
        DaemonLock(paths, patience_s=0.05)


def test_a_killed_holder_frees_the_lock(paths: Paths) -> None:
    """The kernel gives the lock back, however its holder died."""
    script = (
        "import sys, time; from pathlib import Path; from spanlore.settings import Paths;"
        "from spanlore_proxy.launch.daemon import DaemonLock;"
        "lock = DaemonLock(Paths(Path(sys.argv[1]), Path(sys.argv[2]))); sys.stdout.write('x'); sys.stdout.flush();"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(paths.config_dir), str(paths.state_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        assert is_held(paths)
        process.kill()

    assert not is_held(paths)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pid": "x"}', "\0"])
def test_broken_file_is_no_daemon(paths: Paths, text: str) -> None:
    """A file that is no daemon's, or only half of one, is as good as none."""
    paths.ensure()
    paths.daemon_file.write_text(text)

    with DaemonLock(paths) as lock:
        assert lock.before is None


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    """Asking in a home without spanlore leaves no trace."""
    assert not is_held(Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state"))
    assert list(tmp_path.iterdir()) == []


def test_digest_changes_with_a_setting() -> None:
    """So that a caller with other settings can be told that the daemon does not have them."""
    other = Settings.model_validate({"upstreams": {"a.example": "http://127.0.0.1:1"}})

    assert settings_digest(Settings()) == settings_digest(Settings()) != settings_digest(other)

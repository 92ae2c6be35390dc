"""What is known about the running daemon: `daemon.json`, and the lock that only a living one holds.

The lock decides. It is flock(2) on a file in the state directory, held from before the first port is taken until the
process is gone, so the kernel frees it on any death; a pid alone could belong to somebody else by now, and
`daemon.json` stays behind after a kill -9.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from spanlore import private_file
from spanlore.settings import Paths, Settings

LOCK_PATIENCE_S: Final = 1.0
"""A look at the lock holds it for microseconds; whoever takes it for good tries again for this long."""


def settings_digest(settings: Settings) -> str:
    """16 hex digits that change with any setting."""
    return hashlib.sha256(settings.model_dump_json().encode()).hexdigest()[:16]


class DaemonRunningError(RuntimeError):
    """Another daemon of this user holds the lock."""


@dataclass(frozen=True, slots=True)
class ChildState:
    """One of the daemon's processes."""

    name: str
    pid: int
    started_at_ns: int
    restarts: int


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that is up: all its ports listen and its collector answers."""

    pid: int
    version: str
    started_at_ns: int
    proxy_port: int
    collector_port: int
    clickhouse_port: int
    settings_digest: str = ""
    """Of the settings it was started with, so that a caller with others can be told."""
    processes: tuple[ChildState, ...] = ()
    web_port: int = 0
    """0: there is no web page."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises: KeyError, TypeError, ValueError: it is not a daemon's file."""
        numbers = {name: int(data[name]) for name in ("pid", "started_at_ns", "proxy_port", "collector_port")}
        return cls(
            version=str(data["version"]),
            clickhouse_port=int(data["clickhouse_port"]),
            web_port=int(data.get("web_port", 0)),
            settings_digest=str(data.get("settings_digest", "")),
            processes=tuple(ChildState(**child) for child in data.get("processes", ())),
            **numbers,
        )


def write_daemon(paths: Paths, daemon: Daemon) -> None:
    """Atomic, 0600."""
    private_file.replace(paths.daemon_file, json.dumps(asdict(daemon), indent=1).encode())


def last_daemon(paths: Paths) -> Daemon | None:
    """What `daemon.json` says, of a daemon that may be dead."""
    try:
        return Daemon.from_json(json.loads(paths.daemon_file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def running_daemon(paths: Paths) -> Daemon | None:
    """The daemon that is up now. None while one is still starting, or after one died, however it died."""
    daemon = last_daemon(paths)
    return daemon if daemon is not None and is_held(paths) else None


def is_held(paths: Paths) -> bool:
    """Whether a daemon lives, up or starting."""
    try:
        with _lock_file(paths).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class DaemonLock:
    """Held for the daemon's life."""

    def __init__(self, paths: Paths, patience_s: float = LOCK_PATIENCE_S) -> None:
        """Takes the lock; `daemon.json` of a dead daemon, now known to be one, is `self.before` and is removed.

        Raises:
            DaemonRunningError: another daemon holds it.
        """
        paths.ensure()
        self._path = _lock_file(paths)
        self._file = self._path.open("ab")
        end = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.before = last_daemon(paths)
                paths.daemon_file.unlink(missing_ok=True)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    self._file.close()
                    raise DaemonRunningError from None
                time.sleep(0.02)

    @property
    def is_in_place(self) -> bool:
        """Whether its file still is the one in the state directory. Not so once that was deleted, made anew or not:
        the daemon holds a lock that nobody sees then."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # it can't be told now

    def release(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock_file(paths: Paths) -> Path:
    return paths.state_dir / "daemon.lock"

"""Starting and ending the daemon from a command.

A detached daemon is handed to init at once (a shell puts it in the background and ends), so an agent that takes the
place of `spanlore run` has no child it doesn't know. The new daemon says over a pipe that it is up, or why not.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from spanlore import opening
from spanlore.settings import Paths, Settings
from spanlore_proxy.launch.daemon import Daemon, DaemonRunningError, is_held, running_daemon

START_PATIENCE_S: Final = 75.0
"""A little more than the supervisor itself waits for its processes. While a store is opened, as long as that waits."""
LOOK_S: Final = 0.5
"""How often it is looked how far that is."""
STOP_PATIENCE_S: Final = 30.0
"""Three processes, at most 8 s each."""
UP: Final = b"up\n"


class DaemonStartError(RuntimeError):
    """There is no daemon and none could be started. The message says why."""


def serve(settings: Settings, paths: Paths, ready_fd: int, listening: socket.socket | None = None) -> int:
    """The detached daemon's process: runs until it is told to stop. Returns its exit code. `listening` is the proxy's
    socket, where one is taken over."""
    # Imported here: a command that only looks for a running daemon needs none of it.
    from spanlore_proxy.launch.ports import PortTakenError
    from spanlore_proxy.launch.supervisor import StartError, Supervisor

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    os.set_inheritable(ready_fd, False)

    def say(text: bytes) -> None:
        with suppress(OSError):
            # The one who started us may have given up.
            os.write(ready_fd, text)
        with suppress(OSError):
            os.close(ready_fd)

    async def run() -> None:
        await Supervisor(settings, paths, listening=listening).run(lambda daemon: say(UP))

    try:
        asyncio.run(run())
    except DaemonRunningError:
        say(UP)
        return 0
    except (PortTakenError, StartError, OSError) as error:
        logging.getLogger(__name__).error("%s", error)
        say(str(error).encode())
        return 1
    return 0


def ensure_daemon(
    paths: Paths, patience_s: float = START_PATIENCE_S, tell: Callable[[str], None] = lambda text: None
) -> Daemon:
    """The running daemon, started in the background if there is none. `tell` hears how far a large store is opened.

    Raises:
        DaemonStartError: it doesn't come up.
    """
    paths.ensure()
    daemon = running_daemon(paths)
    if daemon is not None:
        return daemon
    patience = _Patience(paths, patience_s, tell)
    if not is_held(paths):
        _spawn(paths, patience)
    # Up by now, or another one is that started at the same time.
    while not patience.is_over():
        daemon = running_daemon(paths)
        if daemon is not None:
            return daemon
        if not is_held(paths):
            break
        time.sleep(0.05)
    raise DaemonStartError(f"the daemon did not come up; see {_log(paths)}")


class _Patience:
    """How long a start is waited for: so many seconds from when the collector was last seen opening its store."""

    def __init__(self, paths: Paths, patience_s: float, tell: Callable[[str], None]) -> None:
        self._paths, self._patience_s, self._tell = paths, patience_s, tell
        self._quiet_until = time.monotonic() + opening.QUIET_S
        self._end = time.monotonic() + patience_s
        self._told = ""

    def is_over(self) -> bool:
        """Whether to give up. Tells what is new."""
        now = time.monotonic()
        doing = opening.read(self._paths.opening_file)
        if doing is not None:
            self._end = now + self._patience_s
            if now > self._quiet_until and str(doing) != self._told:
                self._told, self._quiet_until = str(doing), now + opening.QUIET_S
                self._tell(f"the collector is {doing}")
        return now > self._end


def stop_daemon(daemon: Daemon, paths: Paths, patience_s: float = STOP_PATIENCE_S) -> bool:
    """Ends the daemon in order. False if it is still there after `patience_s`."""
    with suppress(ProcessLookupError):
        os.kill(daemon.pid, signal.SIGTERM)
    end = time.monotonic() + patience_s
    while is_held(paths):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _spawn(paths: Paths, patience: _Patience) -> None:
    reading, writing = os.pipe()
    try:
        _log(paths).touch(mode=0o600)
        with _log(paths).open("ab") as log:
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", sys.executable, "-P", "-m", "spanlore_proxy.launch", str(writing)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(writing,),
                start_new_session=True,
                check=True,
            )
        os.close(writing)
        writing = -1
        said = _read_until_closed(reading, patience)
    except (OSError, subprocess.SubprocessError) as error:
        raise DaemonStartError(f"can't start the daemon: {error}") from None
    finally:
        for descriptor in (reading, writing):
            if descriptor >= 0:
                os.close(descriptor)
    if said != UP:
        raise DaemonStartError(said.decode(errors="replace") or f"the daemon died while starting; see {_log(paths)}")


def _read_until_closed(descriptor: int, patience: _Patience) -> bytes:
    said = b""
    while not patience.is_over():
        if not select.select([descriptor], [], [], LOOK_S)[0]:
            continue
        part = os.read(descriptor, 65536)
        if not part:
            return said
        said += part
    return said or b"the daemon is still not up"


def _log(paths: Paths) -> Path:
    return paths.log_dir / "daemon.log"

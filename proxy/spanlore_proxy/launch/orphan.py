"""What a process does when its supervisor is gone, before it ends itself.

Only a kill -9 gets so far. Agents that are at work are pointed at the proxy's port, so the proxy does not leave without
a successor: it goes on until nothing is under way (or for as long as `PATIENCE_S`), then starts a new daemon and hands
it the listening socket. What connects meanwhile waits in the socket's queue. With no agent at work everything ends.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

from spanlore.settings import Paths, child_environment
from spanlore_proxy.launch.runs import live_runs

PATIENCE_S: Final = 30.0
"""A stream that goes on for longer is cut, as by any restart; its agent asks again."""
_POLL_S: Final = 0.05

_farewells: list[Callable[[], object]] = []
_log = logging.getLogger(__name__)


def before_end(work: Callable[[], object]) -> None:
    """Has `work` done when the supervisor is gone, in a thread of its own, before this process ends."""
    _farewells.append(work)


def farewell() -> None:
    """Does what was asked for."""
    for work in _farewells:
        try:
            work()
        except Exception:
            # The border of a process that ends anyway.
            _log.exception("the daemon was killed, and could not be started again")


def hand_over(
    paths: Paths,
    descriptor: int,
    is_busy: Callable[[], bool],
    connections: Callable[[], int],
    patience_s: float = PATIENCE_S,
) -> bool:
    """Starts a new daemon that goes on with the listening socket, if there is anybody to go on for.

    `is_busy`: whether an exchange is under way; `connections`: how many clients are connected.
    """
    if not connections() and not live_runs(paths):
        return False
    end = time.monotonic() + patience_s
    while is_busy() and time.monotonic() < end:
        time.sleep(_POLL_S)
    _log.warning("the daemon was killed; starting another one, since agents are at work")
    ready = os.open(os.devnull, os.O_WRONLY)
    try:
        with (paths.log_dir / "daemon.log").open("ab") as log:
            subprocess.Popen(
                [sys.executable, "-P", "-m", "spanlore_proxy.launch", str(ready), str(descriptor)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(ready, descriptor),
                # With this process's ports, which are the ones that everybody knows.
                env=child_environment({}),
                start_new_session=True,
            )
    finally:
        os.close(ready)
    return True

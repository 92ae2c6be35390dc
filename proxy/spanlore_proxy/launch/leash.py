"""Runs a module as a child that never outlives the supervisor: `python -m spanlore_proxy.launch.leash FD MODULE …`.

The supervisor holds the writing end of a pipe whose reading end is FD. When the supervisor dies, even by kill -9, the
kernel closes its end; a thread sees that, does what the module wants done then (`orphan`), and ends the process with
SIGTERM as `spanlore down` would, by force if it does not go. (prctl(PR_SET_PDEATHSIG) would do on Linux alone, and is
bound to the thread that forked.)
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from typing import Final

from spanlore_proxy.launch.orphan import farewell

PATIENCE_S: Final = 8.0
"""A process ends within 5 s of SIGTERM; one that doesn't is killed."""


def watch(descriptor: int, patience_s: float = PATIENCE_S) -> None:
    """Returns never: ends this process once the other end of the pipe is closed."""
    while os.read(descriptor, 1):
        pass
    farewell()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(patience_s)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Puts the process on its leash and becomes the module."""
    descriptor, module = int(sys.argv[1]), sys.argv[2]
    sys.argv[:] = [module, *sys.argv[3:]]
    threading.Thread(target=watch, args=(descriptor,), daemon=True, name="leash").start()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

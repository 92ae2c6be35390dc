"""The proxy process: `python -m spanlore_proxy [--listen-fd N] [--held-fds N,N,…]`.

With `--listen-fd` it serves a listening socket that its parent made and keeps (`spanlore up`); without, it listens on
`proxy.port` itself (containers). `--held-fds` are files in memory that outlive the process (`capture.held`). Logs to
stderr. SIGTERM and SIGINT end it in order, with exit code 0; a setting or a state directory that cannot be used ends it
with 2.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import resource
import signal
import sys
from collections.abc import Sequence
from typing import Final

from spanlore.heap import bound_heap, release_heap
from spanlore.settings import Paths, Settings, SettingsError, child_environment, load_settings
from spanlore_proxy.capture.quiet import quiet_loop

SWITCH_INTERVAL_S: Final = 0.0002
"""How long the recorder's thread may hold the interpreter while the event loop wants it (default 5 ms)."""

MAX_FILES: Final = 10_240


async def run(settings: Settings, paths: Paths, listen_fd: int | None, held_fds: Sequence[int] = ()) -> None:
    """Serves until SIGTERM or SIGINT."""
    # mitmproxy takes seconds to import; wrong settings are told before that.
    from spanlore_proxy.capture.master import adopt, listen
    from spanlore_proxy.capture.service import serving
    from spanlore_proxy.launch.orphan import before_end, hand_over

    listening = listen(settings.proxy.port) if listen_fd is None else adopt(listen_fd)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with serving(settings, paths, listening, held_fds=held_fds) as service:
        before_end(
            lambda: hand_over(paths, listening.fileno(), lambda: service.running > 0, lambda: service.connections)
        )
        # What is loaded by now stays: left out of every collection, which else would look at 120,000 objects each time
        # and hold up whoever is being served for 50 ms and more.
        gc.collect()
        gc.freeze()
        release_heap()
        await stop.wait()


def allow_many_files() -> None:
    """Two descriptors a connection: the usual soft limit of 1024 ends at 500 connections, so it is raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some values below its hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="spanlore_proxy")
    parser.add_argument("--listen-fd", type=int, help="descriptor of a listening socket")
    parser.add_argument("--held-fds", default="", help="descriptors of files in memory, with commas between")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    bound_heap()
    allow_many_files()
    try:
        paths = Paths.from_environ(child_environment({}))
        held_fds = [int(word) for word in options.held_fds.split(",") if word]
        asyncio.run(run(load_settings(paths=paths), paths, options.listen_fd, held_fds), loop_factory=quiet_loop)
    except (SettingsError, OSError) as error:
        print(f"spanlore proxy: {error}", file=sys.stderr)  # noqa: T201 - the process's last word
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

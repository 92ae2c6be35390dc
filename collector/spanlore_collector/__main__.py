"""`python -m spanlore_collector`: the collector's process. Ends in order on SIGTERM and SIGINT.

Exit codes: 0 ended in order, 1 the state or the store can't be opened or a port is taken, 2 the configuration is wrong.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spanlore import private_file
from spanlore.heap import bound_heap
from spanlore.settings import SettingsError, child_environment, load_settings
from spanlore.settings.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanlore_collector.service import Ports, Service

log = logging.getLogger("spanlore.collector")

GC_THRESHOLD = 50_000
"""Rows are made by the ten thousand and die young; at Python's 2,000 the collector would spend a fifth of decoding on
looking through them."""


def main() -> int:
    """Runs until told to stop; returns the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        paths = Paths.from_environ(child_environment({}))
        settings = load_settings(paths=paths)
    except SettingsError as error:
        log.error("%s", error)
        return 2
    # Only now: the store's libraries take seconds to import, and a wrong setting is told at once.
    from spanlore_collector.service import PortTakenError, Service
    from spanlore_collector.store.client import StoreLockedError, StoreUnavailableError

    gc.set_threshold(GC_THRESHOLD)
    bound_heap()
    try:
        asyncio.run(_serve(Service(settings, paths), lambda ports: _tell(paths.collector_file, ports)))
    except (StoreLockedError, StoreUnavailableError, PortTakenError) as error:
        log.error("%s", error)
        return 1
    except OSError as error:
        log.error("%s. Make it usable, or set SPANLORE_STATE_DIR to another directory.", error)
        return 1
    return 0


def _tell(file: Path, ports: Ports | None) -> None:
    """Leaves the ports for who shares the state directory, or takes them away."""
    if ports is None:
        file.unlink(missing_ok=True)
    else:
        told = {"collector_port": ports.collector, "clickhouse_port": ports.clickhouse}
        private_file.replace(file, json.dumps(told).encode())


async def _serve(service: Service, tell: Callable[[Ports | None], None]) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    ports = await service.start()
    try:
        tell(ports)
        log.info("listening: OTLP and API on http://127.0.0.1:%d", ports.collector)
        if ports.clickhouse:
            log.info("listening: ClickHouse interface, read-only, on http://127.0.0.1:%d", ports.clickhouse)
        await stopping.wait()
    finally:
        tell(None)
        await service.stop()
    log.info("stopped")


if __name__ == "__main__":
    sys.exit(main())

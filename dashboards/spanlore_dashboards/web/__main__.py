"""`python -m spanlore_dashboards.web`: the web page's process. Ends in order on SIGTERM and SIGINT.

Exit codes: 0 ended in order, 1 the port is taken, 2 the configuration is wrong.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from spanlore.settings import Paths, SettingsError, child_environment, load_settings

log = logging.getLogger("spanlore.web")


def main() -> int:
    """Runs until told to stop; returns the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        paths = Paths.from_environ(child_environment({}))
        settings = load_settings(paths=paths)
    except SettingsError as error:
        log.error("%s", error)
        return 2
    from spanlore_dashboards.web.service import application, listen
    from spanlore_dashboards.web.site import Site

    async def serve() -> None:
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        runner, port = await listen(application(Site(settings, paths)), settings.web.port)
        log.info("listening on http://127.0.0.1:%d", port)
        try:
            await stopping.wait()
        finally:
            await runner.cleanup()

    try:
        asyncio.run(serve())
    except OSError as error:
        log.error("port %d: %s. Set SPANLORE_WEB_PORT to another one, or to 0.", settings.web.port, error.strerror)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`spanlore up`, `down` and `status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from spanlore.ending import NOT_RUNNING, WRONG, say

if TYPE_CHECKING:
    from spanlore.settings import Paths
    from spanlore_proxy.launch.daemon import Daemon


def register(app: typer.Typer) -> None:
    """Adds `up`, `down` and `status`."""

    @app.command("up")
    def up(detach: bool = typer.Option(False, "--detach", "-d", help="Return as soon as it is up.")) -> None:
        """Start the daemon: proxy, collector, extractor and web page."""
        raise typer.Exit(_up_detached() if detach else _up())

    @app.command("down")
    def down(
        force: bool = typer.Option(False, "--force", help="Even while agents run through the proxy."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object."),
    ) -> None:
        """Stop the daemon."""
        raise typer.Exit(_down(force, as_json))

    @app.command("status")
    def status(as_json: bool = typer.Option(False, "--json", help="One JSON object.")) -> None:
        """Show what runs, what was captured and what was not."""
        raise typer.Exit(_status(as_json))


def _up() -> int:
    import asyncio
    import logging

    from spanlore.settings import load_settings
    from spanlore_proxy.launch.daemon import DaemonRunningError, running_daemon
    from spanlore_proxy.launch.ports import PortTakenError
    from spanlore_proxy.launch.supervisor import StartError, Supervisor

    paths = _paths()
    settings = load_settings(paths=paths)
    logging.basicConfig(level=logging.WARNING, format="spanlore: %(message)s")

    async def run() -> None:
        await Supervisor(settings, paths, tell=say).run(lambda daemon: typer.echo(told(daemon, paths)))

    try:
        asyncio.run(run())
    except DaemonRunningError:
        daemon = running_daemon(paths)
        typer.echo(told(daemon, paths) if daemon else "spanlore is being started already.")
    except (PortTakenError, StartError) as error:
        say(str(error))
        return WRONG
    return 0


def _up_detached() -> int:
    from spanlore.settings import load_settings
    from spanlore_proxy.launch.start import DaemonStartError, ensure_daemon

    paths = _paths()
    # A wrong setting is told here, not in the daemon's log.
    load_settings(paths=paths)
    try:
        typer.echo(told(ensure_daemon(paths, tell=say), paths))
    except DaemonStartError as error:
        say(str(error))
        return WRONG
    return 0


def _down(force: bool, as_json: bool) -> int:
    from spanlore_proxy.launch.daemon import running_daemon
    from spanlore_proxy.launch.runs import live_runs
    from spanlore_proxy.launch.start import stop_daemon

    paths = _paths()
    daemon = running_daemon(paths)
    if daemon is None:
        if as_json:
            typer.echo(json.dumps({"stopped": False, "state": "down"}))
        say("the daemon is not running.")
        return NOT_RUNNING
    runs = live_runs(paths)
    if runs and not force:
        names = "".join(f"\n  pid {run.pid}  {run.harness}  {run.cwd}" for run in runs)
        say(f"these agents run through the proxy and would lose their connection:{names}\nEnd them, or use --force.")
        return WRONG
    if not stop_daemon(daemon, paths):
        say(f"pid {daemon.pid} does not end; see {paths.log_dir}")
        return WRONG
    typer.echo(json.dumps({"stopped": True, "state": "down"}) if as_json else "spanlore is down.")
    return 0


def _status(as_json: bool) -> int:
    from spanlore import opening
    from spanlore_proxy.launch.daemon import is_held, running_daemon
    from spanlore_proxy.launch.status import status
    from spanlore_proxy.launch.status_text import render

    paths = _paths()
    daemon = running_daemon(paths)
    if daemon is None:
        starting = is_held(paths)
        doing = opening.read(paths.opening_file) if starting else None
        if as_json:
            state = {"healthy": False, "state": "starting" if starting else "down"}
            typer.echo(json.dumps(state | ({"doing": str(doing)} if doing else {})))
        at = f": the collector is {doing}" if doing else ""
        say(
            f"the daemon is starting{at}."
            if starting
            else "the daemon is not running; `spanlore up --detach` starts it."
        )
        return NOT_RUNNING
    found = status(daemon, paths)
    typer.echo(json.dumps(found, indent=1) if as_json else render(found))
    return 0 if found["healthy"] else WRONG


def told(daemon: Daemon, paths: Paths) -> str:
    """What listens and where to look."""
    from spanlore_proxy.launch.status import web_url

    page = web_url(daemon, paths)
    return "\n".join(
        [
            f"spanlore {daemon.version} is up (pid {daemon.pid}).",
            f"  proxy         http://127.0.0.1:{daemon.proxy_port}   lead agents here: spanlore run -- AGENT",
            f"  OTLP and API  http://127.0.0.1:{daemon.collector_port}   token in {paths.token_file}",
            f"  ClickHouse    http://127.0.0.1:{daemon.clickhouse_port}   read-only; any user, password: the token",
            *([f"  web page      {page}"] if page else []),
            f"  logs          {paths.log_dir}",
            "Look with `spanlore status`, `spanlore sessions`, `spanlore memories`;",
            "stop with `spanlore down`.",
        ]
    )


def _paths() -> Paths:
    from spanlore.settings import Paths, child_environment

    return Paths.from_environ(child_environment({}))

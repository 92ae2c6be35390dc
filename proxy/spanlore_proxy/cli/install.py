"""`spanlore install` and `spanlore uninstall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from spanlore.ending import USAGE, fail
from spanlore.figures import several
from spanlore_proxy.install.shell import Shell

if TYPE_CHECKING:
    from spanlore_proxy.install.installing import Place
    from spanlore_proxy.install.service import ServiceFile

COMMAND_PATIENCE_S = 60


def register(app: typer.Typer) -> None:
    """Adds `install` and `uninstall`."""

    @app.command("install")
    def install(
        agent: list[str] = typer.Option([], "--agent", help="Only these agents; without it all that are installed."),
        shell: list[Shell] = typer.Option([], "--shell", help="Which shells; without it the one of $SHELL."),
        service: bool = typer.Option(True, help="Keep the daemon running as a service of the user."),
        functions: bool = typer.Option(
            True, help="Have the shell run agents through the proxy by their own names, and complete `spanlore`."
        ),
        as_json: bool = typer.Option(False, "--json", help="One JSON object."),
    ) -> None:
        """Set up the user service and the shell. May be repeated; `spanlore uninstall` takes it all away."""
        lines = _install(agent, shell, service=service, with_functions=functions)
        _tell(lines, as_json)

    @app.command("uninstall")
    def uninstall(
        purge: bool = typer.Option(False, "--purge", help="Also all that was recorded and learned, settings and CA."),
        force: bool = typer.Option(False, "--force", help="Even while agents run through the proxy."),
        yes: bool = typer.Option(False, "--yes", "-y", help="Don't ask before --purge."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object."),
    ) -> None:
        """Stop the daemon and take away what `install` made. Recordings and memories stay, but for --purge."""
        _tell(_uninstall(purge=purge, force=force, yes=yes), as_json)


def _install(agents: Sequence[str], shells: Sequence[Shell], *, service: bool, with_functions: bool) -> list[str]:
    from spanlore.settings import child_environment, load_settings
    from spanlore_proxy.doctor.agents import installed
    from spanlore_proxy.install import installing

    environ = child_environment({})
    place = _place()
    load_settings(paths=place.paths)  # a wrong setting is told before anything is made
    lines = []
    if service:
        lines += installing.install_service(_service(place), _run, lambda: _make_way(place))
    if with_functions:
        wanted = list(agents) or [known.program for known in installed(environ)]
        for one in shells or installing.default_shells(environ):
            lines += installing.install_shell(one, wanted, _executable(), place)
        lines.append("a new shell has it; `command AGENT` runs an agent without the proxy")
    return lines


def _make_way(place: Place) -> list[str]:
    """Ends a daemon that runs by itself, unless agents would lose their connection."""
    from spanlore_proxy.launch.daemon import running_daemon
    from spanlore_proxy.launch.runs import live_runs
    from spanlore_proxy.launch.start import stop_daemon

    daemon = running_daemon(place.paths)
    if daemon is None:
        return []
    if live_runs(place.paths):
        return ["agents run through the daemon that is up; the service takes over at the next login"]
    return ["stopped the daemon that ran by itself"] if stop_daemon(daemon, place.paths) else []


def _uninstall(*, purge: bool, force: bool, yes: bool) -> list[str]:
    from spanlore_proxy.install import installing
    from spanlore_proxy.launch.daemon import running_daemon
    from spanlore_proxy.launch.runs import live_runs
    from spanlore_proxy.launch.start import stop_daemon

    place = _place()
    runs = live_runs(place.paths)
    if runs and not force:
        text = f"{several(len(runs), 'agent')} would lose the connection to the model. End them first, or use --force."
        fail(text)
    if purge and not yes:
        _confirm(place)
    lines = installing.remove_service(_service(place), place, _run)
    daemon = running_daemon(place.paths)
    if daemon is not None:
        if not stop_daemon(daemon, place.paths):
            fail(f"pid {daemon.pid} does not end; see {place.paths.log_dir}")
        lines.append("stopped the daemon")
    lines += installing.remove_shell(place)
    if purge:
        lines += installing.purge(place)
    elif place.paths.state_dir.exists():
        lines.append(f"kept {place.paths.state_dir} with what was recorded and learned; --purge removes it")
    return lines or ["nothing was installed"]


def _confirm(place: Place) -> None:
    import sys

    if not sys.stdin.isatty():
        fail("--purge deletes all recordings and memories for good; say --yes as well.", USAGE)
    typer.confirm(f"Delete {place.paths.state_dir} and {place.paths.config_dir} for good?", abort=True)


def _place() -> Place:
    from pathlib import Path

    from spanlore.settings import Paths, child_environment
    from spanlore_proxy.install.installing import Place

    environ = child_environment({})
    home = Path(environ.get("HOME") or Path.home())
    return Place(Paths.from_environ(environ), home, environ.get("ZDOTDIR", ""))


def _service(place: Place) -> ServiceFile:
    import sys

    from spanlore.settings import child_environment
    from spanlore_proxy.install.service import service_for

    command = (sys.executable, "-P", "-m", "spanlore", "up")
    return service_for(sys.platform, place.home, command, child_environment({}))


def _executable() -> str:
    """The `spanlore` beside the Python that runs this."""
    import sys
    from pathlib import Path

    return str(Path(sys.executable).with_name("spanlore"))


def _run(command: Sequence[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")


def _tell(lines: list[str], as_json: bool) -> None:
    import json

    typer.echo(json.dumps({"done": lines}, indent=1) if as_json else "\n".join(lines))

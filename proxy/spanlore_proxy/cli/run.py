"""`spanlore run` and `spanlore env`."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from typing import Final

import typer

from spanlore.ending import NOT_RUNNING, say
from spanlore_proxy.launch.agents import Via

VIA: Final = typer.Option(Via.PROXY, "--via", help="base-url: plain http on loopback, for what cannot trust a CA.")


class Shell(StrEnum):
    """Whose syntax the exports are in."""

    SH = "sh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Adds `run` and `env`."""

    @app.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
    def run(
        agent: list[str] = typer.Argument(help="The agent and its arguments, as you would type them."),
        require: bool = typer.Option(False, "--require", help="Don't start the agent without the proxy."),
        via: Via = VIA,
    ) -> None:
        """Run an agent through the proxy: `spanlore run -- claude`."""
        from spanlore.settings import Paths, SettingsError, child_environment, load_settings
        from spanlore_proxy.launch.run import run_agent, run_with_wrong_settings
        from spanlore_proxy.launch.start import DaemonStartError

        paths = Paths.from_environ(child_environment({}))
        try:
            code = run_agent(agent, load_settings(paths=paths), paths, say, require=require, via=via)
        except SettingsError as error:
            if require:
                raise
            code = run_with_wrong_settings(agent, error, paths, say, via)
        except DaemonStartError as error:
            say(str(error))
            code = NOT_RUNNING
        raise typer.Exit(code)

    @app.command("env")
    def env(
        via: Via = VIA,
        shell: Shell = typer.Option(Shell.SH, "--shell", help="Syntax of the exports."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object instead."),
    ) -> None:
        """Print what leads an agent through the proxy, for a shell: `eval "$(spanlore env)"`."""
        from spanlore.settings import Paths, child_environment, load_settings
        from spanlore_proxy.launch.run import shell_environment
        from spanlore_proxy.launch.start import DaemonStartError, ensure_daemon

        environ = child_environment({})
        paths = Paths.from_environ(environ)
        settings = load_settings(paths=paths)
        try:
            # A shell pointed at a proxy that isn't there could reach nothing any more.
            daemon = ensure_daemon(paths, tell=say)
        except DaemonStartError as error:
            say(str(error))
            raise typer.Exit(NOT_RUNNING) from None
        changes = shell_environment(daemon, settings, paths, environ, say, via)
        typer.echo(json.dumps(changes, indent=1) if as_json else exports(changes, shell))


def exports(changes: dict[str, str], shell: Shell) -> str:
    """The variables as commands of that shell."""
    if shell is Shell.FISH:
        # In fish's single quotes only \\ and \' are special.
        return "\n".join(
            "set -gx {} '{}';".format(name, value.replace("\\", "\\\\").replace("'", "\\'"))
            for name, value in changes.items()
        )
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in changes.items())

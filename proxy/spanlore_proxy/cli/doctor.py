"""`spanlore doctor`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from spanlore.terminal import write

if TYPE_CHECKING:
    from spanlore_proxy.doctor.finding import Finding


def register(app: typer.Typer) -> None:
    """Adds `doctor`."""

    @app.command("doctor")
    def doctor(
        fix: bool = typer.Option(False, "--fix", help="Mend what can be mended without losing anything of yours."),
        live: bool = typer.Option(False, "--live", help="Try the API keys in the environment at their providers."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object."),
    ) -> None:
        """Check the installation and say what to do. Exit code 0: well, 4: warnings, 1: something does not work."""
        from spanlore_proxy.doctor.finding import EXIT_CODES, mended, render, worst

        findings = _examined(live)
        lines = mended(findings) if fix else []
        if lines:
            findings = _examined(live)
        if as_json:
            found = [finding.to_json() for finding in findings]
            state = worst(findings).name.lower()
            typer.echo(json.dumps({"worst": state, "findings": found, "mended": lines}, indent=1))
        else:
            for line in lines:
                write(f"mended  {line}")
            write(render(findings))
        raise typer.Exit(EXIT_CODES[worst(findings)])


def _examined(live: bool) -> list[Finding]:
    import time

    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_proxy.doctor.examine import examine
    from spanlore_proxy.doctor.scene import look

    environ = child_environment({})
    paths = Paths.from_environ(environ)
    return examine(look(paths, load_settings(paths=paths), environ, time.time_ns()), live=live)

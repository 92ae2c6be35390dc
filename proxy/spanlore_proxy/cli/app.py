"""The proxy's commands. Each module imports what it needs inside its commands, so `spanlore --help` stays quick."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import typer

_MODULES = ("cli.run", "cli.daemon", "cli.evaluate", "cli.explain", "bench.command", "demo.command")


def commands(app: typer.Typer) -> None:
    """Adds the proxy's commands to the whole command line."""
    for name in _MODULES:
        if find_spec(f"spanlore_proxy.{name}"):
            import_module(f"spanlore_proxy.{name}").register(app)

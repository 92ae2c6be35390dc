"""The proxy's commands. Each module imports what it needs inside its commands, so `spanlore --help` stays quick."""

from __future__ import annotations

import typer

from spanlore_proxy.bench import cache, history, recall
from spanlore_proxy.bench import command as bench
from spanlore_proxy.cli import daemon, doctor, evaluate, explain, importing, insertions, install, run
from spanlore_proxy.closed_loop import command as closed_loop
from spanlore_proxy.demo import command as demo
from spanlore_proxy.uptake import command as uptake


def commands(app: typer.Typer) -> None:
    """Adds the proxy's commands to the whole command line."""
    for module in (run, daemon, doctor, install, explain, importing, demo):
        module.register(app)
    for measure in (evaluate, insertions, closed_loop, uptake, bench, cache, recall, history):
        measure.register(app)

"""`spanlore bench ingest`, as it is found on the command line. Its measurement is tested in test_ingest."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from spanlore_collector.bench.command import register


def test_ingest_stands_in_the_group_of_benchmarks() -> None:
    """Beside those of other components, with its options explained."""
    app = typer.Typer()
    register(app)
    shown = CliRunner().invoke(app, ["bench", "ingest", "--help"])

    assert shown.exit_code == 0
    assert "--senders" in shown.output and "--json" in shown.output

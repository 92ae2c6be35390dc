"""`spanlore bench ingest` and `store` on the command line. What they measure has tests of its own."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_sizes_that_are_no_numbers_are_told() -> None:
    """Several sizes are separated by commas, each large enough to be measured."""
    app = typer.Typer()
    register(app)
    for wrong in ("many", "10,2000"):
        done = CliRunner().invoke(app, ["bench", "ingest", "--spans", wrong])

        assert done.exit_code == 2


def test_the_store_is_measured_in_short(tmp_path: Path) -> None:
    """One session, from the command to its last line."""
    app = typer.Typer()
    register(app)
    done = CliRunner().invoke(app, ["bench", "store", "--sessions", "1", "--json"])

    assert json.loads(done.output.splitlines()[-1])["bench"] == "store"

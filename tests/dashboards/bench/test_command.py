"""`spanlore bench dashboards` as a command, small."""

import json

import typer
from typer.testing import CliRunner

from spanlore_dashboards.bench.command import register


def test_small() -> None:
    """A table for people, one object on the last line; the exit code is the budget's."""
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["bench", "dashboards", "--spans", "40", "--runs", "1", "--json"])
    result = json.loads(done.stdout.splitlines()[-1])

    assert done.exit_code == (0 if result["within_budget"] else 1), done.output
    assert (result["bench"], result["spans"]) == ("dashboards", 34)
    assert "Trace of the turn" in done.stdout


def test_pages_small() -> None:
    """The page over a store of its own: every page is answered, and what it cost is told."""
    app = typer.Typer()
    register(app)
    asked = ["bench", "pages", "--sessions", "3", "--spans", "61", "--runs", "1", "--no-browser", "--json"]
    done = CliRunner().invoke(app, asked)
    result = json.loads(done.stdout.splitlines()[-1])

    assert done.exit_code == (0 if result["within_budget"] else 1), done.output
    assert (result["bench"], result["sessions"], result["long_spans"]) == ("pages", 3, 61)
    assert all(row["answer_bytes"] > 1000 for row in result["rows"])
    assert "long session: timeline" in done.stdout

import json

import typer
from typer.testing import CliRunner, Result

from spanlore_extractor.cli.app import commands
from support.collecting import Collecting
from support.told import START_NS, failing_tests


def summary(collector: Collecting, *arguments: str) -> Result:
    app = typer.Typer()
    commands(app)
    return CliRunner().invoke(app, ["summary", *arguments], env=collector.environment)


def test_of_a_stored_session(collector: Collecting) -> None:
    """By the beginning of its id, for people and for scripts; another id is said plainly."""
    told = failing_tests("summary-cli-1", START_NS, repository="example.org/a/b")
    collector.send(told.spans())
    shown, data = summary(collector, "summary-cli"), summary(collector, "summary-cli-1", "--json")

    assert shown.exit_code == 0, shown.stderr
    assert "Errors resolved:" in shown.stdout and "unrecognized subcommand" in shown.stdout
    assert json.loads(data.stdout)["resolved"][0]["type"] == "usage"
    assert summary(collector, "no-such").exit_code == 1

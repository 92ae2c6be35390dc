import json
from dataclasses import replace
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from spanlore_extractor.cli.app import commands
from spanlore_extractor.summaries.keeping import keep
from support.collecting import Collecting
from support.summaries import many
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


def test_of_a_session_that_is_gone(collector: Collecting) -> None:
    """What was kept of it, and that it is that."""
    [one] = many(1)
    keep(collector.client, [replace(one, session_id="summary-gone-1", decisions=("never feed the ibex",))])
    shown, data = summary(collector, "summary-gone"), summary(collector, "summary-gone", "--json")

    assert shown.exit_code == 0, shown.stderr
    assert "as it was kept" in shown.stdout and "- never feed the ibex" in shown.stdout
    assert json.loads(data.stdout)["is_kept"] is True


def test_of_a_repository(collector: Collecting, tmp_path: Path) -> None:
    """All its sessions, as long as was asked for; a repository of which nothing is known is said plainly."""
    scope = "example.org/summary-cli/walrus"
    keep(collector.client, [replace(one, repository=scope, session_id=f"walrus-{one.session_id}") for one in many(40)])
    whole, short = (summary(collector, "--repo", "summary-cli/walrus", *more) for more in ((), ("--tokens", "900")))
    data = json.loads(summary(collector, "--repo", scope, "--tokens", "900", "--json").stdout)

    assert whole.exit_code == 0, whole.stderr
    assert f"# {scope}: 40 sessions" in whole.stdout and len(short.stdout) < len(whole.stdout) / 2
    assert (data["repository"], data["sessions"], data["is_over"]) == (scope, 40, False)
    assert data["tokens"] <= 900 and data["text"].strip() == short.stdout.strip()
    assert summary(collector, "--repo", "no/such/walrus").exit_code == 1
    assert summary(collector, "walrus-1", "--repo", scope).exit_code == 2

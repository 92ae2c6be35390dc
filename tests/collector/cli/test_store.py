"""`spanlore store …`, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from spanlore.settings import child_environment
from spanlore_collector.bench.sample import sample_spans
from support.collector_process import CollectorProcess


class Installation:
    """The command line over one state directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One command to its end."""
        names = {
            "SPANLORE_CONFIG_DIR": str(self.folder / "config"),
            "SPANLORE_STATE_DIR": str(self.folder),
            "COLUMNS": "80",
            **environment,
        }
        command = [sys.executable, "-m", "spanlore", "store", *arguments]
        return subprocess.run(
            command, env=child_environment(names), capture_output=True, text=True, timeout=300, check=False
        )

    def json(self, *arguments: str, **environment: str) -> Any:
        """What a command that succeeds prints: one document, and nothing beside it."""
        done = self.run(*arguments, "--json", **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A store with spans, and no daemon."""
    folder = tmp_path_factory.mktemp("filled")
    with CollectorProcess(folder) as process:
        assert process.post_spans(sample_spans(60, seed=71)).status == 200
    return Installation(folder)


def test_a_store_is_shown_and_copied_by_hand(filled: Installation, tmp_path: Path) -> None:
    """Status, export, import into another installation, and the same rows there."""
    status = filled.run("status")
    written = filled.json("export", str(tmp_path / "out"))
    other = Installation(tmp_path / "other")
    read = other.json("import", str(tmp_path / "out"))

    assert filled.json("status")["migrations_waiting"] == []
    assert all(len(line) <= 80 for line in status.stdout.splitlines()[1:])
    assert read["rows"] == written["rows"] > 60
    assert other.json("status")["tables"]["otel_traces"]["rows"] == 60


def test_retention_is_shown_and_set(filled: Installation) -> None:
    """By setting, with what is in force beside it."""
    shown = filled.json("retention", SPANLORE_RETENTION_RAW_DAYS="3000")
    done = filled.json("retention", "--apply", SPANLORE_RETENTION_RAW_DAYS="3000")
    raw = {row["table"]: row["days"] for row in done["tables"] if row["tier"] == "raw"}

    assert {row["days"] for row in shown["tables"]} == {0}
    assert set(raw.values()) == {3000}
    filled.json("retention", "--apply")


def test_migrations_are_shown_for_a_cluster_and_applied(filled: Installation) -> None:
    """`--show` prints SQL and touches nothing; on a store that is up to date there is nothing to do."""
    shown = filled.run("migrate", "--show", "--cluster", "team")

    assert "ON CLUSTER `team`" in shown.stdout and "ENGINE = Distributed" in shown.stdout
    assert filled.json("migrate") == {"applied": []}


def test_an_open_store_is_left_alone(filled: Installation, tmp_path: Path) -> None:
    """While the collector has it, a copy is refused with what to do; so is a store that is not there."""
    with CollectorProcess(filled.folder):
        refused = filled.run("export", str(tmp_path / "out"))
    missing = Installation(tmp_path / "nothing").run("export", str(tmp_path / "out"))

    assert refused.returncode == 1 and "spanlore down" in refused.stderr
    assert missing.returncode == 3 and "no store" in missing.stderr


def test_tables_that_are_too_large_are_told(app: typer.Typer, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, that it is no harm, in 80 columns; the rest counts as merged."""
    answer = {"tables": ["inferences", "session_facts", "turns"], "too_large": ["session_facts"], "content_deleted": 4}
    monkeypatch.setattr("spanlore_collector.cli.store._from_daemon", lambda *_, **__: dict(answer))
    shown = CliRunner().invoke(app, ["store", "compact"])
    told = CliRunner().invoke(app, ["store", "compact", "--json"])
    lines = shown.output.splitlines()

    assert (shown.exit_code, told.exit_code) == (0, 0)
    assert lines[0] == "2 tables merged, 4 rows of content deleted"
    assert "session_facts" in " ".join(lines[1:]) and "no harm" in " ".join(lines[1:])
    assert "inferences" not in " ".join(lines)
    assert all(len(line) <= 80 for line in lines)
    assert json.loads(told.output) == answer


def test_compacting_by_hand(filled: Installation) -> None:
    """Merges with no daemon, and says what."""
    assert "otel_traces" in filled.json("compact")["tables"]

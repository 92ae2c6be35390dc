import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from spanlore_extractor.cli.evaluate import register

DATA = Path(__file__).parents[4] / "shared" / "data"


def detectors(*arguments: str) -> Result:
    return evaluated("detectors", *arguments)


def evaluated(*arguments: str) -> Result:
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    return CliRunner().invoke(app, ["eval", *arguments])


def test_memories_of_a_folder(tmp_path: Path) -> None:
    """An empty folder gives nothing; one without sessions is a usage error."""
    assert evaluated("memories", str(tmp_path)).exit_code == 2
    (tmp_path / "sessions").mkdir()
    result = evaluated("memories", str(tmp_path), "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout.splitlines()[-1])["rows"] == []


def test_without_labels() -> None:
    """A usage error, said plainly."""
    result = detectors("nowhere")

    assert result.exit_code == 2
    assert "no labels.jsonl" in result.stderr


def test_broken_labels(tmp_path: Path) -> None:
    """An error, not a traceback."""
    (tmp_path / "labels.jsonl").write_text('{"file": "sessions/pi/a__b/c", "type": "delta", "failed": {}}\n')

    assert detectors(str(tmp_path)).exit_code == 1


@pytest.mark.skipif(not (DATA / "labels.jsonl").exists(), reason="the labelled sessions are not on this machine")
def test_the_labelled_sessions() -> None:
    """Within the budgets, and far above the baselines."""
    result = detectors(str(DATA), "--json")
    report = json.loads(result.stdout.splitlines()[-1])

    assert result.exit_code == 0
    assert report["within_budget"] is True
    rows = {row["what"]: row for row in report["rows"]}
    baseline = rows["baseline: next success of the same tool"]
    assert rows["failure → fix"]["precision"] > baseline["precision"]


def test_planted_effects() -> None:
    """The table for people, and one JSON object on the last line."""
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["eval", "effect", "--simulations", "20", "--json"])

    document = json.loads(result.stdout.splitlines()[-1])
    assert document["bench"] == "eval effect"
    assert result.exit_code == (0 if document["within_budget"] else 1)
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80

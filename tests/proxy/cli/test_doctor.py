"""`spanlore doctor` as a command."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from spanlore_proxy.cli.doctor import register


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A HOME in which nothing was installed, and ports that are free."""
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("PROXY_PORT", "COLLECTOR_PORT", "COLLECTOR_CLICKHOUSE_PORT", "WEB_PORT"):
        monkeypatch.setenv(f"SPANLORE_{name}", "0")


def doctor(*words: str) -> Result:
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    return CliRunner().invoke(app, ["doctor", *words])


def test_nothing_runs() -> None:
    """Exit code 1, what to do about it, and nothing wider than a terminal."""
    result = doctor()

    assert result.exit_code == 1
    assert "FAIL  daemon" in result.stdout
    assert "→ spanlore up --detach" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json() -> None:
    """One object, with the worst severity and every finding."""
    result = doctor("--json")
    told = json.loads(result.stdout)

    assert (result.exit_code, told["worst"], told["mended"]) == (1, "error", [])
    assert {"check", "severity", "says", "do", "fixable"} == set(told["findings"][0])


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    """Without --fix the doctor leaves no file behind."""
    doctor()

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore_proxy.demo import command, stage


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    command.register(app)
    app.command("other")(lambda: None)  # one command alone would lose its name
    return app


def test_missing_programs_are_named(app: typer.Typer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where bash, git or make is missing, the message says which, with the exit code of a usage error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(app, ["demo"])

    assert done.exit_code == 2
    assert all(name in done.stderr for name in stage.NEEDED_PROGRAMS)


def test_old_directory_is_refused(app: typer.Typer, tmp_path: Path) -> None:
    """A directory in which a project stands already is not played in."""
    (tmp_path / "tally").mkdir()
    done = CliRunner().invoke(app, ["demo", "--keep", str(tmp_path)])

    assert done.exit_code == 1
    assert "exists already" in done.stderr

"""`spanlore dashboards` as commands."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from spanlore_dashboards.cli.app import commands
from support.fake_grafana import TOKEN, FakeGrafana, fake_grafana

SERVER = "http://u:p@db.example.com:8123/team"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of the test's own."""
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture
def grafana() -> Iterator[FakeGrafana]:
    with fake_grafana() as running:
        yield running


def dashboards(*words: str) -> Result:
    app = typer.Typer()
    commands(app)
    app.command("other")(lambda: None)
    return CliRunner().invoke(app, ["dashboards", *words])


def test_install_and_uninstall(grafana: FakeGrafana) -> None:
    """All six, with a data source that leads to the store; and out again."""
    done = dashboards("install", "--grafana", grafana.url, "--token", TOKEN, "--clickhouse", SERVER)
    again = dashboards("install", "--grafana", grafana.url, "--token", TOKEN, "--clickhouse", SERVER, "--json")

    assert done.exit_code == 0, done.stderr
    assert "Grafana 12.3.0: data source added, 6 dashboards:" in done.stdout
    assert json.loads(again.stdout)["datasource"] == "updated"
    assert set(grafana.dashboards) == {
        f"spanlore-{n}" for n in ["session", "sessions", "cost", "tools", "memories", "health"]
    }
    assert grafana.datasources["spanlore"]["jsonData"]["host"] == "db.example.com"
    assert dashboards("uninstall", "--grafana", grafana.url, "--token", TOKEN).exit_code == 0
    assert grafana.dashboards == {}


def test_the_running_daemon_is_the_store(grafana: FakeGrafana, tmp_path: Path) -> None:
    """By its port and token, without being told; without a daemon it says what to do."""
    install = ("install", "--grafana", grafana.url, "--token", TOKEN)
    assert dashboards(*install).exit_code == 3
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "daemon.json").write_text(json.dumps({"clickhouse_port": 7719}))
    (tmp_path / "state" / "token").write_text("the token")
    assert dashboards(*install).exit_code == 0

    source = grafana.datasources["spanlore"]
    assert (source["jsonData"]["port"], source["secureJsonData"]["password"]) == (7719, "the token")


def test_a_missing_plugin_is_told(grafana: FakeGrafana) -> None:
    """With the command that installs it; nothing was put in."""
    grafana.has_plugin = False
    done = dashboards("install", "--grafana", grafana.url, "--token", TOKEN, "--clickhouse", SERVER)

    assert (done.exit_code, "grafana cli plugins install" in done.stderr) == (1, True)
    assert grafana.datasources == {}


def test_export(tmp_path: Path) -> None:
    """Dashboards and provisioning files; what holds the password is the user's alone."""
    done = dashboards("export", str(tmp_path / "out"), "--clickhouse", SERVER, "--path", "/var/lib/grafana/dashboards")
    source = tmp_path / "out" / "datasources" / "spanlore.yaml"
    provider = yaml.safe_load((tmp_path / "out" / "dashboards" / "spanlore.yaml").read_text())["providers"][0]

    assert done.exit_code == 0, done.stderr
    assert len(list((tmp_path / "out" / "json").glob("*.json"))) == 6
    assert source.stat().st_mode & 0o777 == 0o600
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Is told by its name."""
    (tmp_path / "file").write_text("")
    done = dashboards("export", str(tmp_path / "file"), "--clickhouse", SERVER)

    assert (done.exit_code, str(tmp_path / "file") in done.stderr) == (1, True)

"""`spanlore up`, `down` and `status`."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore.settings import Paths
from spanlore_proxy.cli.daemon import register, told
from spanlore_proxy.launch.daemon import Daemon, DaemonLock, write_daemon
from spanlore_proxy.launch.runs import new_run, write_run

DAEMON = Daemon(os.getpid(), "0.1.0", 1, 7717, 1, 7719)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """Empty directories that the commands use."""
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    return Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")


@pytest.fixture
def up(paths: Paths) -> Iterator[None]:
    """A daemon seems to run: its processes don't."""
    with DaemonLock(paths):
        write_daemon(paths, DAEMON)
        yield


def invoke(*words: str) -> tuple[int, str, str]:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("command", ["down", "status"])
def test_not_running(paths: Paths, command: str) -> None:
    """Exit code 3 and a message."""
    code, out, err = invoke(command)

    assert (code, out) == (3, "")
    assert "not running" in err


def test_not_running_as_json(paths: Paths) -> None:
    """A script gets an object all the same."""
    code, out, _ = invoke("status", "--json")

    assert (code, json.loads(out)) == (3, {"healthy": False, "state": "down"})
    code, out, _ = invoke("down", "--json")
    assert (code, json.loads(out)) == (3, {"stopped": False, "state": "down"})


@pytest.mark.usefixtures("up")
def test_status_of_an_unhealthy_daemon(paths: Paths) -> None:
    """The collector doesn't answer: exit code 1, shown both ways."""
    code, out, _ = invoke("status", "--json")
    assert (code, json.loads(out)["healthy"]) == (1, False)

    code, out, _ = invoke("status")
    assert (code, "not healthy" in out) == (1, True)


@pytest.mark.usefixtures("up")
def test_down_spares_running_agents(paths: Paths, tmp_path: Path) -> None:
    """While an agent runs through the proxy, `down` names it and does nothing."""
    write_run(paths, new_run("claude-code", tmp_path, os.getpid(), time.time_ns()))

    code, _, err = invoke("down")

    assert code == 1
    assert "claude-code" in err
    assert "--force" in err


@pytest.mark.usefixtures("up")
def test_up_again_says_where(paths: Paths) -> None:
    """A second `up` shows what runs and is no error, in the foreground and detached."""
    for words in (["up"], ["up", "--detach"]):
        code, out, _ = invoke(*words)

        assert (code, out) == (0, told(DAEMON, paths) + "\n")


def test_up_in_the_background_tells_why_not(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1 with the daemon's own words: here, a port that nobody may take."""
    monkeypatch.setenv("SPANLORE_COLLECTOR_PORT", "0")
    paths.ensure()
    (paths.log_dir / "daemon.log").mkdir()

    code, out, err = invoke("up", "--detach")

    assert (code, out) == (1, "")
    assert "can't start the daemon" in err


def test_told(paths: Paths) -> None:
    """Every port, the token's file and the logs."""
    text = told(DAEMON, paths)

    for part in ("127.0.0.1:7717", "127.0.0.1:1 ", "127.0.0.1:7719", str(paths.token_file), str(paths.log_dir)):
        assert part in text

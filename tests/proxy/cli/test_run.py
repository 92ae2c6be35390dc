"""`spanlore env`; `spanlore run` as a whole is tested with its module in launch."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import spanlore
from spanlore.settings import Paths, Settings, child_environment
from spanlore_proxy.cli.run import Shell, exports, register
from spanlore_proxy.launch.daemon import Daemon, DaemonLock, settings_digest, write_daemon

HARD = {"A": "it's $HOME `x` \"q\" \\ \\' ;", "B": ""}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paths]:
    """A state directory in which a daemon seems to run."""
    for name in [
        name for name in child_environment({}) if name.startswith("SPANLORE_") or name.lower().endswith("_proxy")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    with DaemonLock(paths):
        write_daemon(paths, Daemon(os.getpid(), spanlore.__version__, 1, 7717, 7718, 7719, settings_digest(Settings())))
        yield paths


def invoke(*words: str) -> tuple[int, str, str]:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stdout, result.stderr


def test_env_as_json(paths: Paths) -> None:
    """The same variables as for a run, without a run's credentials."""
    code, out, err = invoke("env", "--json")

    changes = json.loads(out)
    assert (code, err) == (0, "")
    assert changes["HTTPS_PROXY"] == "http://127.0.0.1:7717"
    assert Path(changes["SSL_CERT_FILE"]).parent == paths.ca_dir


def test_env_by_base_url(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Base URLs for a shell: nobody's run, the same each time, and how codex is told where there is a codex."""
    (paths.state_dir / "codex").write_text("#!/bin/sh\n")
    (paths.state_dir / "codex").chmod(0o700)
    monkeypatch.setenv("PATH", str(paths.state_dir), prepend=os.pathsep)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    code, out, err = invoke("env", "--via", "base-url", "--json")
    again = invoke("env", "--via", "base-url", "--json")[1]

    changes = json.loads(out)
    (file,) = paths.runs_dir.glob("shell-*.json")
    origin = f"http://127.0.0.1:7717/r/{file.stem}:{json.loads(file.read_bytes())['token']}"
    assert (code, out) == (0, again)
    assert changes["ANTHROPIC_BASE_URL"] == f"{origin}/anthropic"
    assert changes["OPENAI_BASE_URL"] == f"{origin}/openai/v1"
    assert "HTTPS_PROXY" not in changes
    assert f"codex -c 'openai_base_url=\"{origin}/" in err


def test_env_for_a_shell(paths: Paths) -> None:
    """`eval "$(spanlore env)"` sets them."""
    code, out, _ = invoke("env")

    shown = subprocess.run(
        ["sh", "-c", out + "\necho $HTTPS_PROXY $NO_PROXY"], capture_output=True, text=True, check=True, env={}
    )
    assert code == 0
    assert shown.stdout.startswith("http://127.0.0.1:7717 ")


def test_env_without_daemon_prints_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon to be had: no exports, for a shell pointed at nothing reaches nothing; exit code 3."""
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state" / "log").mkdir(parents=True)
    (tmp_path / "state" / "log" / "daemon.log").mkdir()

    code, out, err = invoke("env")

    assert (code, out) == (3, "")
    assert err.startswith("spanlore: ")


def test_any_value_survives_sh() -> None:
    """Quotes, dollars and backslashes arrive as they are."""
    script = exports(HARD, Shell.SH) + '\nprintf "%s|%s" "$A" "$B"'

    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == HARD["A"] + "|"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_any_value_survives_fish() -> None:
    """The same in fish."""
    script = exports(HARD, Shell.FISH) + '\nprintf "%s|%s" "$A" "$B"'

    assert subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True).stdout == HARD["A"] + "|"


def test_fish_syntax() -> None:
    """fish knows two escapes in single quotes: the quote and the backslash."""
    assert exports({"A": "it's \\"}, Shell.FISH) == "set -gx A 'it\\'s \\\\';"

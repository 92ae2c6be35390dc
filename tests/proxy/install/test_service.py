"""Service files: as systemd and launchd read them."""

import configparser
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spanlore_proxy.install.service import LABEL, service_for

COMMAND = ("/opt/my python/bin/python", "-P", "-m", "spanlore", "up")
HOME = Path("/home/x")


def test_systemd_unit() -> None:
    """It starts the daemon, again after a crash, with the directories of the shell that installed it."""
    service = service_for("linux", HOME, COMMAND, {"SPANLORE_STATE_DIR": "/s/100% mine", "OTHER": "x"})
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(service.text)

    assert service.path == HOME / ".config/systemd/user/spanlore.service"
    assert unit["Service"]["ExecStart"] == '"/opt/my python/bin/python" "-P" "-m" "spanlore" "up"'
    assert unit["Service"]["Environment"] == '"SPANLORE_STATE_DIR=/s/100%% mine"'
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Install"]["WantedBy"] == "default.target"
    assert service.start[-1] == ("systemctl", "--user", "enable", "--now", "spanlore.service")


def test_systemd_itself_takes_it(tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing against it."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    service = service_for("linux", HOME, (sys.executable, "-m", "spanlore", "up"), {})
    file = tmp_path / "spanlore.service"
    file.write_text(service.text)
    words = ["systemd-analyze", "--user", "verify", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)

    assert str(file) not in done.stderr


def test_launchd_job() -> None:
    """The same for macOS."""
    service = service_for("darwin", HOME, COMMAND, {"XDG_STATE_HOME": "/s"})
    job = plistlib.loads(service.text.encode())

    assert service.path == HOME / "Library/LaunchAgents" / f"{LABEL}.plist"
    assert (job["ProgramArguments"], job["EnvironmentVariables"]) == (list(COMMAND), {"XDG_STATE_HOME": "/s"})
    assert job["RunAtLoad"] is True
    assert service.stop == (("launchctl", "unload", "-w", str(service.path)),)


def test_xdg_directory_is_obeyed() -> None:
    """Units go where systemd looks for them."""
    assert service_for("linux", HOME, COMMAND, {"XDG_CONFIG_HOME": "/c"}).path == Path(
        "/c/systemd/user/spanlore.service"
    )

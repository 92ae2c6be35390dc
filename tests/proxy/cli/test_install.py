"""`spanlore install` and `uninstall` as commands, in a fresh HOME and with a real daemon."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from spanlore.settings import Paths, child_environment
from spanlore_proxy.launch.daemon import running_daemon
from spanlore_proxy.launch.runs import new_run, write_run


class Home:
    """A HOME in which nothing was ever done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".bashrc").write_text("export A=1\n")
        self.environment = child_environment(
            {"HOME": str(folder), "SHELL": "/bin/bash", "PATH": f"{folder}/bin:/usr/bin:/bin"}
            | {f"SPANLORE_{name}_PORT": "0" for name in ("PROXY", "COLLECTOR", "COLLECTOR_CLICKHOUSE", "WEB")},
            ("SPANLORE_", "XDG_"),
        )
        self.paths = Paths.from_environ(self.environment)

    def spanlore(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "spanlore", *words]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
        )

    def tree(self) -> dict[str, bytes | None]:
        return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(self.folder.rglob("*"))}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_from_a_fresh_home_and_back(home: Home) -> None:
    """Installed twice, the daemon started, uninstalled with --purge: nothing is left behind, and no process."""
    before = home.tree()
    first = home.spanlore("install", "--agent", "codex")
    again = home.spanlore("install", "--agent", "codex", "--json")
    up = home.spanlore("up", "--detach")
    daemon = running_daemon(home.paths)
    removed = home.spanlore("uninstall", "--purge", "--yes")

    assert (first.returncode, again.returncode, up.returncode) == (0, 0, 0), first.stderr + up.stderr
    assert not any(line.startswith("wrote") for line in json.loads(again.stdout)["done"])
    assert daemon is not None
    assert removed.returncode == 0, removed.stderr
    assert home.tree() == before
    # Where init reaps nobody, what has ended is still listed.
    assert not psutil.pid_exists(daemon.pid) or psutil.Process(daemon.pid).status() == psutil.STATUS_ZOMBIE


def test_without_purge_what_was_learned_stays(home: Home) -> None:
    """Only what `install` made goes; --purge asks, and is refused where nobody can answer."""
    home.spanlore("install", "--no-service")
    home.paths.ensure()
    home.paths.token()
    refused = home.spanlore("uninstall", "--purge")
    kept = home.spanlore("uninstall")

    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert kept.returncode == 0
    assert home.paths.token_file.exists()
    assert (home.folder / ".bashrc").read_text() == "export A=1\n"


def test_running_agents_are_not_cut_off(home: Home) -> None:
    """While one runs through the proxy nothing is removed, without --force."""
    home.spanlore("install", "--no-service", "--agent", "codex")
    home.paths.ensure()
    write_run(home.paths, new_run("codex", home.folder, os.getpid(), time.time_ns()))
    before = home.tree()

    assert home.spanlore("uninstall").returncode == 1
    assert home.tree() == before
    assert home.spanlore("uninstall", "--force").returncode == 0

import subprocess
from pathlib import Path

import pytest

from spanlore.settings import child_environment
from spanlore_proxy.demo.project import (
    HALF_COMMAND,
    LONG_COMMAND,
    OBVIOUS_COMMAND,
    REMOTE_URL,
    RIGHT_COMMAND,
    make_project,
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    make_project(folder, child_environment({"GIT_CONFIG_GLOBAL": "/dev/null"}))
    return folder


def run(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, text=True, check=False)


def test_the_obvious_ways_fail_for_two_reasons(project: Path) -> None:
    """First the import path is missing, then the variable."""
    assert "ModuleNotFoundError" in run(project, OBVIOUS_COMMAND).stderr
    assert "KeyError: 'TALLY_CURRENCY'" in run(project, HALF_COMMAND).stderr
    assert run(project, OBVIOUS_COMMAND).returncode == 1


@pytest.mark.parametrize("command", [LONG_COMMAND, RIGHT_COMMAND])
def test_the_projects_own_way_works(project: Path, command: str) -> None:
    """Both the Makefile's target and what stands in it pass."""
    done = run(project, command)

    assert done.returncode == 0
    assert "OK" in done.stderr.split()


def test_it_is_a_clean_repository_with_a_remote(project: Path) -> None:
    """The scope of what is learned comes from the remote, which is set and never contacted."""
    assert run(project, "git status --porcelain").stdout == ""
    assert run(project, "git remote get-url origin").stdout.strip() == REMOTE_URL

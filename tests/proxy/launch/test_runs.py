"""Run files."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_proxy.launch.runs import KEPT_NS, live_runs, new_run, prune_runs, shell_run, write_run


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    return paths


def test_file_says_whose_work_it_is(paths: Paths, tmp_path: Path) -> None:
    """Everything the proxy knows a run by, readable by the user alone."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo" / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:o/n.git\n')
    (tmp_path / "repo" / "src").mkdir()
    run = new_run("claude-code", tmp_path / "repo" / "src", 12, 34)

    path = write_run(paths, run)

    assert path == paths.runs_dir / f"{run.run_id}.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == {
        "run_id": run.run_id,
        "token": run.token,
        "created_at_ns": 34,
        "pid": 12,
        "harness": "claude-code",
        "harness_version": "",
        "cwd": str(tmp_path / "repo" / "src"),
        "repository": "example.org/o/n",
        "sub_path": "src",
        "branch": "main",
        "upstreams": {},
        "outer": {"proxy": "", "exempt": "", "roots": ""},
    }


def test_ids_and_tokens_are_each_runs_own(tmp_path: Path) -> None:
    """Two runs share neither; both are safe in a URL."""
    one, other = (new_run("x", tmp_path, 1, 1) for _ in range(2))

    assert one.run_id != other.run_id
    assert one.token != other.token
    assert re.fullmatch(r"run-[0-9a-f]{12}", one.run_id)
    assert re.fullmatch(r"[0-9a-f]{32}", one.token)


def test_a_shells_credentials_last(paths: Paths) -> None:
    """They may stand in a profile: the same each time; others only for other gateways of the user."""
    one, again = shell_run(paths, {}), shell_run(paths, {})
    other = shell_run(paths, {"OPENAI_BASE_URL": "https://gw.example"})
    write_run(paths, one)
    prune_runs(paths, 10**20)

    assert one == again
    assert re.fullmatch(r"shell-[0-9a-f]{12}", one.run_id)
    assert re.fullmatch(r"[0-9a-f]{32}", one.token)
    assert (one.run_id, one.token) != (other.run_id, other.token)
    assert live_runs(paths) == []
    assert len(list(paths.runs_dir.iterdir())) == 1


def test_live_runs_are_those_whose_agent_lives(paths: Paths, tmp_path: Path) -> None:
    """Not one that ended, and not a later process with the same pid."""
    now_ns = time.time_ns()
    ended = subprocess.Popen(["true"])
    ended.wait()
    mine = new_run("x", tmp_path, os.getpid(), now_ns)
    for run in (mine, new_run("x", tmp_path, ended.pid, now_ns), new_run("x", tmp_path, os.getpid(), 10**18)):
        write_run(paths, run)
    (paths.runs_dir / "run-000000000000.json").write_text("{}")

    assert live_runs(paths) == [mine]


def test_old_files_are_removed_unless_their_agent_lives(paths: Paths, tmp_path: Path) -> None:
    """A week after, the file of an agent that is gone goes too."""
    now_ns = time.time_ns()
    alive = new_run("x", tmp_path, os.getpid(), now_ns)
    dead = new_run("x", tmp_path, 2**22 + 1, now_ns)
    for run in (alive, dead):
        write_run(paths, run)
    prune_runs(paths, now_ns + KEPT_NS)
    assert len(list(paths.runs_dir.iterdir())) == 2

    prune_runs(paths, now_ns + KEPT_NS + 1)

    assert [file.stem for file in paths.runs_dir.iterdir()] == [alive.run_id]
